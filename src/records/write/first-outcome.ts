import { noteSize, toApiError } from '../../append/append-one.ts'
import type { IdempotencyRow } from '../../db/chain/append-entries.ts'
import { findReplay } from '../../db/chain/find-replay.ts'
import type { Db } from '../../db/connect/client.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'

/** Seq of the entry that an earlier request with the same Idempotency-Key wrote. */
export type FirstOutcome = { readonly replayedSeq: number }

/**
 * Returns the first outcome of this very request, when the current state would refuse it; null: there is none. The
 * state may have moved because of the first request, or a time may have passed. Throws `idempotency_key_reused`.
 */
export async function findFirstOutcome(
  deps: { readonly readPool: Db },
  caller: Caller,
  idempotency: IdempotencyRow | null,
): Promise<FirstOutcome | null> {
  if (idempotency === null) return null
  const found = await findReplay(deps.readPool, caller.ledgerId, caller.agentId, idempotency)
  if (found === 'conflict') throw toApiError({ status: 'conflict' }, { idempotency })
  if (found) noteSize(caller, found.seq + 1)
  return found && { replayedSeq: found.seq }
}

/**
 * Throws `invalid_request` if the time at `path` has passed. A retry after a lost answer may come later than that
 * time: it gets the first outcome.
 */
export async function refusePast(
  deps: { readonly readPool: Db; readonly now: () => number },
  caller: Caller,
  idempotency: IdempotencyRow | null,
  time: { readonly ms: number | null; readonly path: string },
): Promise<FirstOutcome | null> {
  if (time.ms === null || time.ms > deps.now()) return null
  const first = await findFirstOutcome(deps, caller, idempotency)
  if (first) return first
  throw new ApiError('invalid_request', `${time.path} has passed`, { members: { path: time.path } })
}
