import { z } from 'zod'
import { pageOf, pageQuery } from '../answers/page.ts'
import { base64, hash, instant, seq } from './common.ts'

const alg = z.enum(['EdDSA', 'ES256'])
const spki = base64.max(124).describe('DER SubjectPublicKeyInfo')
const signature = z
  .string()
  .regex(/^[A-Za-z0-9+/]{85}[AQgw]==$/)
  .describe('64 bytes, over the text in docs/formats/statements.md, "Keys of agents"')
const required = z
  .boolean()
  .describe('from this entry on, for good, only what the agent has signed is accepted in its name')

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
    seq: seq.describe('of the entry that registers it'),
    revokedSeq: seq.nullable().describe('of the entry that revokes it; null: it is valid'),
  })
  .meta({ id: 'SigningKey' })

export const signingKeyPage = pageOf(signingKeyAnswer)
