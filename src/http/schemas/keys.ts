import { z } from 'zod'
import { KEYS_REVOKED_PER_REQUEST_MAX } from '../../ledgers/limits.ts'
import { SCOPES } from '../../ledgers/scopes.ts'
import { pageOf, pageQuery } from '../answers/page.ts'
import { KEY_OVERLAP_SECONDS_DEFAULT, KEY_OVERLAP_SECONDS_MAX } from '../limits.ts'
import { idOf, instant } from './common.ts'
import { name } from './names.ts'
import { otlpSettings } from './otlp.ts'
import { rateLimit } from './rate-limits.ts'
import { time } from './times.ts'

export const createKeyBody = z.strictObject({
  name,
  agent: idOf('agt')
    .describe("absent: the agent that has the key's name, registered if there is none")
    .optional(),
  scopes: z.array(z.enum(SCOPES)).max(SCOPES.length).describe('only such as your own key holds'),
  expiresAt: time
    .describe('not after the end of the secret that you send; absent: that end, or none if it has none')
    .optional(),
})

export const rotateKeyBody = z.strictObject({
  overlapSeconds: z
    .int()
    .min(0)
    .max(KEY_OVERLAP_SECONDS_MAX)
    .describe(`for how long the secrets before stay valid; absent: ${KEY_OVERLAP_SECONDS_DEFAULT}`)
    .optional(),
})

export const revokeKeyBody = z.strictObject({
  alsoMade: z
    .boolean()
    .describe(
      `also revoke the keys that it has made, and those that they have, up to ${KEYS_REVOKED_PER_REQUEST_MAX} a request; then it may be revoked already`,
    )
    .optional(),
})

export const keysQuery = z.strictObject({
  ...pageQuery,
  agent: idOf('agt').describe('those of just this agent').optional(),
})

export const keysCursor = z.tuple([idOf('key')])

const key = {
  id: idOf('key'),
  name: z.string(),
  agent: idOf('agt'),
  scopes: z.array(z.enum(SCOPES)),
  createdAt: instant,
  madeBy: idOf('key').nullable().describe('the key that made it; null: the operator did'),
  expiresAt: instant.nullable(),
  revokedAt: instant.nullable(),
  rateLimit: rateLimit.nullable(),
  otlp: otlpSettings.nullable().describe('null: as by default (docs/integrations/otlp.md)'),
  secrets: z
    .array(z.strictObject({ expiresAt: instant.nullable() }))
    .describe('one, or more while the key is rotated; none once it is revoked'),
}

export const keyAnswer = z.strictObject(key).meta({ id: 'Key' })
export const keyRevoked = z.strictObject({
  ...key,
  alsoRevoked: z.array(idOf('key')).describe('keys that this request revoked besides, with `alsoMade`'),
  hasMore: z.boolean().describe('some that it has made are still valid: send the request again'),
})
export const keyPage = pageOf(keyAnswer)

export const keyWithSecret = z.strictObject({
  ...key,
  key: z
    .string()
    .nullable()
    .describe('the secret: shown once, and never again; null in the answer to a repeated request'),
})
