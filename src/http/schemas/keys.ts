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
    .describe(
      "the agent that owns the key; absent: the agent with the key's name, which is registered if it does not exist",
    )
    .optional(),
  scopes: z.array(z.enum(SCOPES)).max(SCOPES.length).describe('only scopes that your own key has'),
  expiresAt: time
    .describe(
      'when the key expires: not after the secret that you send; absent: at the same time as that secret',
    )
    .optional(),
})

export const rotateKeyBody = z.strictObject({
  overlapSeconds: z
    .int()
    .min(0)
    .max(KEY_OVERLAP_SECONDS_MAX)
    .describe(`seconds for which the older secrets stay valid; absent: ${KEY_OVERLAP_SECONDS_DEFAULT}`)
    .optional(),
})

export const revokeKeyBody = z.strictObject({
  alsoMade: z
    .boolean()
    .describe(
      `also revoke the keys that were made with this key, directly or through other keys: up to ${KEYS_REVOKED_PER_REQUEST_MAX} in a request. This key may be revoked already`,
    )
    .optional(),
})

export const keysQuery = z.strictObject({
  ...pageQuery,
  agent: idOf('agt').describe('only keys of this agent').optional(),
})

export const keysCursor = z.tuple([idOf('key')])

const key = {
  id: idOf('key'),
  name: z.string(),
  agent: idOf('agt'),
  scopes: z.array(z.enum(SCOPES)),
  createdAt: instant,
  madeBy: idOf('key')
    .nullable()
    .describe('the key with which this key was made; null: the operator made this key'),
  expiresAt: instant.nullable(),
  revokedAt: instant.nullable(),
  rateLimit: rateLimit.nullable(),
  otlp: otlpSettings
    .nullable()
    .describe('settings for OTLP; null: the defaults of docs/integrations/otlp.md'),
  secrets: z
    .array(z.strictObject({ expiresAt: instant.nullable() }))
    .describe('valid secrets: one, or more during a rotation; none after the key was revoked'),
}

export const keyAnswer = z.strictObject(key).meta({ id: 'Key' })
export const keyRevoked = z.strictObject({
  ...key,
  alsoRevoked: z.array(idOf('key')).describe('other keys that this request revoked, because of `alsoMade`'),
  hasMore: z
    .boolean()
    .describe('true: some keys that were made with this key are still valid; send the request again'),
})
export const keyPage = pageOf(keyAnswer)

export const keyWithSecret = z.strictObject({
  ...key,
  key: z
    .string()
    .nullable()
    .describe('the secret, shown only once; null in the answer to a repeated request'),
})
