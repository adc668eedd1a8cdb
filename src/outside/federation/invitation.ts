import { z } from 'zod'
import { isId } from '../../proof/ids.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import { parseJsonText } from '../../proof/json/json-text.ts'
import { isIdentity } from '../../proof/statement/federation-fields.ts'
import type { Identity } from './identity.ts'

/**
 * Invitation that one administrator sends to another. It contains a secret and the identity of the ledger that issued
 * it (docs/formats/federation.md, "Peering").
 */
export type Invitation = {
  readonly peer: string
  /** Secret token: 32 bytes in base64url. */
  readonly token: string
  readonly inviter: Identity
}

const PREFIX = 'tlp_'
const CHARS_MAX = 8_192
const hex = z.string().regex(/^[0-9a-f]{64}$/)
const text = z.string().min(1).max(512)

/** Schema of an identity. It has exactly the members that the handshake signs. */
export const identity = z
  .strictObject({
    ledger: z.string().refine((id) => isId('led', id)),
    url: z.string().min(1).max(2_048),
    origin: text,
    genesis: hex,
    envelopeKey: z.strictObject({
      kid: hex,
      alg: z.enum(['EdDSA', 'ES256']),
      spki: z
        .string()
        .max(256)
        .regex(/^[A-Za-z0-9+/]+={0,2}$/),
    }),
  })
  .meta({ id: 'PeerIdentity' })

export const token = z.string().regex(/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/)

const invitation = z.strictObject({
  peer: z.string().refine((id) => isId('peer', id)),
  token,
  inviter: identity,
})

export function formatInvitation(made: Invitation): string {
  return PREFIX + Buffer.from(canonicalize(made)).toString('base64url')
}

/** Parses an invitation. Returns null if the text is invalid. */
export function parseInvitation(given: string): Invitation | null {
  if (!given.startsWith(PREFIX) || given.length > CHARS_MAX) return null
  try {
    const json = parseJsonText(Buffer.from(given.slice(PREFIX.length), 'base64url').toString('utf8'))
    const parsed = invitation.parse(json)
    return isIdentity(parsed.inviter) ? parsed : null
  } catch {
    return null
  }
}
