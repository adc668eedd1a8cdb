import { noteSize, toApiError } from '../../append/append-one.ts'
import type { IdempotencyRow } from '../../db/chain/append-entries.ts'
import { findReplay } from '../../db/chain/find-replay.ts'
import type { Db } from '../../db/connect/client.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'

/**
 * Outcome of an earlier request. `replayedSeq`: seq of the entry that the earlier request with the same Idempotency-Key
 * wrote.
 */
export type FirstOutcome = { readonly replayedSeq: number }

/**
 * Returns the outcome of the first request if this request is a retry; null if it is not a retry. Throws
 * `idempotency_key_reused`.
 *
 * The function is called if the ledger's current state would refuse the request. The first request may itself have
 * changed the state, or a time that the request names may have passed since.
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
 * Returns null if the time at `path` has not passed. If it has passed and the request is a retry, returns the outcome
 * of the first request, because the time may have passed between the two requests. Otherwise throws `invalid_request`.
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
  throw new ApiError('invalid_request', `${time.path} has already passed: send a time in the future`, {
    members: { path: time.path },
  })
}
