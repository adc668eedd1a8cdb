import { z } from 'zod'
import { pageOf, pageQuery } from '../answers/page.ts'
import { base64, hash, instant, seq } from './common.ts'

const alg = z.enum(['EdDSA', 'ES256'])
const spki = base64.max(124).describe('DER SubjectPublicKeyInfo')
const signature = z
  .string()
  .regex(/^[A-Za-z0-9+/]{85}[AQgw]==$/)
  .describe('signature of 64 bytes over the text in docs/formats/statements.md, "Keys of agents"')
const required = z
  .boolean()
  .describe(
    'true: from this entry on the ledger accepts only entries that the agent has signed. Cannot be undone',
  )

export const signingKeyBody = z
  .strictObject({
    alg,
    spki,
    proof: signature.describe('signature by the new key'),
    endorsement: z
      .strictObject({ kid: hash, signature })
      .describe('signature by a current key of the agent; absent for its first key')
      .optional(),
    required: required.optional(),
  })
  .meta({
    examples: [
      {
        alg: 'EdDSA',
        spki: 'MCowBQYDK2VwAyEAA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=',
        proof: `${'A'.repeat(86)}==`,
        required: true,
      },
    ],
  })

export const signingKeyParams = z.strictObject({ id: z.string(), kid: z.string() })
export const signingKeysQuery = z.strictObject(pageQuery)
export const signingKeysCursor = z.tuple([seq])

export const signingKeyAnswer = z
  .strictObject({
    kid: hash.describe('RFC 9679 thumbprint'),
    alg,
    spki,
    required,
    registeredAt: instant,
    revokedAt: instant.nullable(),
    seq: seq.describe('seq of the entry that registers the key'),
    revokedSeq: seq.nullable().describe('seq of the entry that revokes the key; null: the key is valid'),
  })
  .meta({ id: 'SigningKey' })

export const signingKeyPage = pageOf(signingKeyAnswer)
