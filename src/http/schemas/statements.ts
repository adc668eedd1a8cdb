import { z } from 'zod'
import { CONTENT_TYPES_MAX, ISSUER_KEYS_MAX, ISSUERS_MAX, TEXT_BYTES_MAX } from '../../proof/limits.ts'
import { pageOf, pageQuery } from '../answers/page.ts'
import { RECEIPT_WAIT_SECONDS_MAX, STATEMENT_WAIT_SECONDS_DEFAULT } from '../limits.ts'
import { base64, hash, idOf, instant, seq } from './common.ts'
import { WITHOUT_CONTROLS } from './names.ts'
import { coseBytes } from './receipts.ts'

/** A name that another issuer chose. It is a `text` of docs/formats/statements.md, with the pattern of names.ts. */
const text = z.string().min(1).max(TEXT_BYTES_MAX).regex(WITHOUT_CONTROLS).meta({ format: 'text' })
const kid = z
  .string()
  .regex(/^(?:[0-9a-f]{2}){1,64}$/)
  .describe('the issuer’s name for its key: label 4 of its statements, 1 to 64 bytes in hex')
const alg = z.enum(['EdDSA', 'ES256'])
const spki = base64.describe('DER SubjectPublicKeyInfo')
const contentTypes = z
  .array(text)
  .max(CONTENT_TYPES_MAX)
  .describe('accepted media types of payloads, or CoAP content formats in digits; absent: all')

const EXAMPLE = {
  issuers: [
    {
      issuer: 'https://build.example',
      keys: [{ alg: 'EdDSA', spki: 'MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=' }],
    },
  ],
  contentTypes: ['application/spdx+json'],
} as const

function issuers<Key extends z.ZodType>(key: Key) {
  return z
    .array(
      z.strictObject({
        issuer: text.describe('the issuer: claim 1 of its statements'),
        keys: z.array(key).max(ISSUER_KEYS_MAX),
      }),
    )
    .max(ISSUERS_MAX)
}

export const policyBody = z
  .strictObject({
    issuers: issuers(
      z.strictObject({
        kid: kid
          .describe(
            'the issuer’s name for the key: label 4 of its statements, in hex; absent: the RFC 9679 thumbprint',
          )
          .optional(),
        alg,
        spki,
      }),
    ),
    contentTypes: contentTypes.optional(),
  })
  .meta({ examples: [EXAMPLE] })

export const policyView = z
  .strictObject({
    issuers: issuers(z.strictObject({ kid, alg, spki })),
    contentTypes: contentTypes.optional(),
    seq: seq.describe('seq of the entry that set the policy'),
    leaf: hash.describe(
      'leaf of the entry that set the policy; statements registered under the policy name this leaf',
    ),
    setAt: instant,
    actor: idOf('agt'),
  })
  .meta({ id: 'RegistrationPolicy' })

export const statementView = z
  .strictObject({
    id: idOf('stm'),
    seq: seq.describe('seq of the statement’s own entry; the next entry registers the statement'),
    leaf: hash,
    issuer: text,
    subject: text,
    contentType: text,
    kid,
    actor: idOf('agt').describe('the agent that registered the statement'),
    registeredAt: instant,
  })
  .meta({ id: 'Statement' })

/** The answer is the receipt. Clients that ask for JSON get the statement instead. */
export const registeredAnswer = {
  content: { ...coseBytes.content, 'application/json': { schema: statementView } },
}

export const statementPage = pageOf(statementView)

export const statementsQuery = z.strictObject({
  ...pageQuery,
  issuer: text.describe('only statements of this issuer (claim 1)').optional(),
  subject: text.describe('only statements about this subject (claim 2)').optional(),
})

export const statementsCursor = z.tuple([seq])

const wait = (otherwise: number) =>
  z
    .string()
    .regex(/^(10|[0-9])$/)
    .describe(
      `seconds to wait for a checkpoint that covers the statement, at most ${RECEIPT_WAIT_SECONDS_MAX}; absent: ${otherwise}`,
    )
    .optional()

export const registerQuery = z.strictObject({ wait: wait(STATEMENT_WAIT_SECONDS_DEFAULT) })
export const registeredQuery = z.strictObject({
  wait: wait(0),
  statement: z
    .enum(['true', 'false'])
    .describe('`true`: the Transparent Statement, with the receipt in its header; absent: only the receipt')
    .optional(),
})

export const coseStatement = z.string().describe('a Signed Statement: COSE_Sign1, tagged')
export const scittKeyParams = z.strictObject({ kid: z.string() })
/** COSE_Key (RFC 9052 §7). */
export const cborBytes = { content: { 'application/cbor': { schema: z.string().describe('CBOR') } } }
