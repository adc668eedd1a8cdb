import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { columnContradiction, compare } from './compare.ts'
import { contradiction } from './contradiction.ts'
import { actorUuid } from './signed.ts'
import type { Evidence } from './table.ts'

export type IdempotencyColumns = {
  readonly actorId: string
  /** True if the request's fingerprint was removed. */
  readonly isForgotten: boolean
  /** True if the fingerprint must be absent. It is removed when the first document of the entry is erased. */
  readonly isOfErased: boolean
}

/**
 * Evidence of the table `idempotency_keys`. Verifies that a request has at most one key, that the key belongs to the
 * entry's actor, and that its fingerprint is removed exactly if a document of the entry was erased.
 */
export const IDEMPOTENCY_KEYS: Evidence<
  { seq: number; actorId: Uuid; isForgotten: boolean },
  IdempotencyColumns
> = {
  table: 'idempotency_keys',
  sql: 'select seq, actor_id, fingerprint is null as is_forgotten from tallystick.idempotency_keys where ledger_id = $1 order by seq',
  columns: ({ actorId, isForgotten }, { isErased }) => ({ actorId, isForgotten, isOfErased: isErased }),
  verify({ statement }, rows, sha256) {
    if (rows.length > 1) throw columnContradiction('idempotency_keys', 'seq', rows.length, 1)
    for (const { actorId, isForgotten, isOfErased } of rows) {
      compare('idempotency_keys', 'actor_id', actorId, actorUuid(statement, sha256))
      if (isForgotten !== isOfErased)
        throw contradiction(
          `idempotency_keys: a fingerprint ${isForgotten ? 'is missing' : 'outlives what was erased'}`,
        )
    }
  },
}

/** Returns whether this login may read the idempotency keys. The login of servers may not. */
export async function canReadIdempotencyKeys(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean }>(
    "select has_table_privilege('tallystick.idempotency_keys', 'select') as may",
  )
  return rows[0]!.may
}
