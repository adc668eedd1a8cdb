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
  /** By an earlier request with the same Idempotency-Key. */
  readonly replayed: boolean
  readonly alsoRevoked: readonly Uuid[]
  /** Others that it has made are still valid. */
  readonly hasMore: boolean
}

/**
 * Revokes the key, and with `alsoMade` those that it has made, those that they have, and so on. This server refuses them at once, the
 * others within seconds: a thief who makes another key in these is found by asking again, so then the key may be revoked before.
 */
export async function revokeKey(
  deps: KeyDeps,
  caller: Caller,
  keyId: Uuid,
  { alsoMade, idempotency }: { readonly alsoMade: boolean; readonly idempotency: IdempotencyRow | null },
): Promise<KeysRevoked> {
  const row = await getKey(deps, caller, keyId)
  const isRevoked = row.revokedAt !== null
  // With an Idempotency-Key the ledger decides: it may have been this very request.
  if (isRevoked && !alsoMade && idempotency === null)
    throw new ApiError('already_ended', `${formatId('key', keyId)} was revoked before`)
  const replayed = isRevoked && alsoMade ? false : await append(deps, caller, row, idempotency)
  deps.callers.forget(caller.ledgerId)
  // First the key itself, then the keys that it has made, so that those made in between are among them.
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

/** Valid keys that the key has made, or keys that it has made have, in the order in which they were made. */
async function findMade(
  { readPool }: KeyDeps,
  ledgerId: Uuid,
  keyId: Uuid,
): Promise<{ readonly keys: readonly Uuid[]; readonly hasMore: boolean }> {
  // A key is made after its maker, so one pass in that order sees makers first, however long their line is.
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

/** Whether this request did. */
async function revokeUnlessEnded(deps: KeyDeps, caller: Caller, keyId: Uuid): Promise<boolean> {
  try {
    await append(deps, caller, await getKey(deps, caller, keyId), null)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.code === 'already_ended') return false
    throw error
  }
}

/** Whether it was replayed. */
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
  const about = aboutKey('key-revoked', row.keyId, granted)
  const { replayed } = await administer(deps, caller, { ...about, detail: {}, idempotency })
  return replayed
}
