import type { IdempotencyRow } from '../db/chain/append-entries.ts'
import { type KeyRow, listKeyMakers } from '../db/ledgers/api-keys.ts'
import { ApiError } from '../errors.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import { administer } from './administration.ts'
import type { Caller } from './caller.ts'
import { getKey, type KeyDeps } from './keys.ts'
import { KEY_MAKERS_PER_QUERY, KEYS_REVOKED_PER_REQUEST_MAX } from './limits.ts'
import { aboutKey } from './new-key.ts'

type KeysRevoked = {
  readonly key: KeyRow
  /** True if an earlier request with the same Idempotency-Key revoked the key. */
  readonly replayed: boolean
  readonly alsoRevoked: readonly Uuid[]
  /** True if further keys that were created with this key are still valid. */
  readonly hasMore: boolean
}

/**
 * Revokes a key. With `alsoMade`, also revokes all keys that were created with it, directly or indirectly. This server
 * refuses the revoked keys at once, other servers within seconds.
 *
 * An attacker who has the key may use these seconds to create another key. A second call with `alsoMade` then revokes
 * that key. So with `alsoMade`, the key itself may already be revoked.
 */
export async function revokeKey(
  deps: KeyDeps,
  caller: Caller,
  keyId: Uuid,
  { alsoMade, idempotency }: { readonly alsoMade: boolean; readonly idempotency: IdempotencyRow | null },
): Promise<KeysRevoked> {
  const row = await getKey(deps, caller, keyId)
  const isRevoked = row.revokedAt !== null
  // A request with an Idempotency-Key skips this check, because an earlier attempt of the same request may have revoked
  // the key. The database then finds the earlier attempt.
  if (isRevoked && !alsoMade && idempotency === null)
    throw new ApiError('already_ended', `${formatId('key', keyId)} was already revoked`)
  const replayed = isRevoked && alsoMade ? false : await append(deps, caller, row, idempotency)
  deps.callers.forget(caller.ledgerId)
  // This search runs after the key itself was revoked. So it also finds a key that was created just before.
  const made = alsoMade ? await findMade(deps, caller.ledgerId, keyId) : { keys: [], hasMore: false }
  const done = await Promise.all(made.keys.map((id) => revokeUnlessEnded(deps, caller, id)))
  deps.callers.forget(caller.ledgerId)
  return {
    key: await getKey(deps, caller, keyId),
    replayed,
    alsoRevoked: made.keys.filter((_, index) => done[index]),
    hasMore: made.hasMore,
  }
}

/**
 * Returns the valid keys that were created with the key `keyId`, directly or indirectly, in the order of their
 * creation.
 */
async function findMade(
  { readPool }: KeyDeps,
  ledgerId: Uuid,
  keyId: Uuid,
): Promise<{ readonly keys: readonly Uuid[]; readonly hasMore: boolean }> {
  // Keys are read in the order of their creation. A key is always newer than the key with which it was created. So one
  // pass finds all keys, however many levels there are.
  const makers = new Set([keyId])
  const keys: Uuid[] = []
  let afterSeq = -1
  for (;;) {
    const rows = await listKeyMakers(readPool, ledgerId, { afterSeq, limit: KEY_MAKERS_PER_QUERY })
    for (const { keyId, madeBy, isRevoked } of rows) {
      if (madeBy === null || !makers.has(madeBy)) continue
      makers.add(keyId)
      if (isRevoked) continue
      if (keys.length === KEYS_REVOKED_PER_REQUEST_MAX) return { keys, hasMore: true }
      keys.push(keyId)
    }
    if (rows.length < KEY_MAKERS_PER_QUERY) return { keys, hasMore: false }
    afterSeq = rows.at(-1)!.createdSeq
  }
}

/** Revokes a key. Returns false if the key was already revoked. */
async function revokeUnlessEnded(deps: KeyDeps, caller: Caller, keyId: Uuid): Promise<boolean> {
  try {
    await append(deps, caller, await getKey(deps, caller, keyId), null)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.code === 'already_ended') return false
    throw error
  }
}

/** Appends the revocation of a key. Returns true if an earlier request has already appended it. */
async function append(
  deps: KeyDeps,
  caller: Caller,
  row: KeyRow,
  idempotency: IdempotencyRow | null,
): Promise<boolean> {
  const granted = {
    agent: formatId('agt', row.agentId),
    scopes: row.scopes,
    expiresAt: row.expiresAt?.toISOString() ?? null,
  }
  const claims = aboutKey('key-revoked', row.keyId, granted)
  const { replayed } = await administer(deps, caller, { ...claims, detail: {}, idempotency })
  return replayed
}
