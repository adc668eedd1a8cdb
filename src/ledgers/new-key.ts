import { toHex } from '../proof/bytes.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import { type Administration, digestOf } from './administration.ts'
import { hashKey, type KeyMac, makeApiKey } from './api-keys.ts'
import type { Scope } from './scopes.ts'

export type NewKey = {
  readonly id: string
  /** The API key with its secret. It is shown only once. */
  readonly key: string
  readonly name: string
  readonly agent: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: string | null
}

/** Makes an API key with its first secret, and the entry that records the key. */
export function makeKey(
  keyMac: KeyMac,
  of: {
    readonly ledger: string
    readonly ledgerId: Uuid
    readonly keyId: Uuid
    readonly agent: string
    readonly agentId: Uuid
    readonly name: string
    readonly scopes: readonly Scope[]
    readonly expiresAtMs: number | null
  },
): { readonly made: NewKey; readonly claims: Administration } {
  const key = formatId('key', of.keyId)
  const scopes = [...new Set(of.scopes)].sort()
  const expiresAt = of.expiresAtMs === null ? null : new Date(of.expiresAtMs).toISOString()
  const secret = makeApiKey(of.ledgerId)
  const secretHash = hashKey(secret)
  const mac = keyMac.of({
    ledger: of.ledger,
    key,
    agent: of.agent,
    scopes,
    expiresAtMs: of.expiresAtMs,
    secretHash,
  })
  return {
    made: { id: key, key: secret, name: of.name, agent: of.agent, scopes, expiresAt },
    claims: {
      ...aboutKey('key-created', of.keyId, { agent: of.agent, scopes, expiresAt }),
      detail: {
        agentId: of.agentId,
        name: of.name,
        scopes,
        secretHash: toHex(secretHash),
        mac: toHex(mac),
        expiresAt,
      },
    },
  }
}

/**
 * Returns the part that the entries `key-created` and `key-revoked` have in common. Both entries contain the same
 * digest, because verifiers compare the two digests.
 */
export function aboutKey<Kind extends 'key-created' | 'key-revoked'>(
  kind: Kind,
  keyId: Uuid,
  granted: {
    readonly agent: string
    readonly scopes: readonly string[]
    readonly expiresAt: string | null
  },
) {
  const key = formatId('key', keyId)
  return {
    kind,
    subject: { id: keyId, name: key, digest: digestOf({ key, ...granted }) },
    predicate: granted,
  }
}
