import type { PeerBudgetRow } from '../../db/peers/peer-budgets.ts'
import { ApiError } from '../../errors.ts'
import { PEER_BYTES_PER_DAY, PEER_ENTRIES_PER_DAY, PEER_FULL_RETRY_MS } from './limits.ts'

type PeerBudget = {
  readonly entriesUsed: number
  readonly entriesPerDay: number
  readonly bytesUsed: number
  readonly bytesPerDay: number
  readonly resetsAt: Date | null
}

export function budgetOf({ entries, bytes, entriesMax, bytesMax, resetsAt }: PeerBudgetRow): PeerBudget {
  return {
    entriesUsed: entries,
    entriesPerDay: entriesMax ?? PEER_ENTRIES_PER_DAY,
    bytesUsed: bytes,
    bytesPerDay: bytesMax ?? PEER_BYTES_PER_DAY,
    resetsAt,
  }
}

/**
 * Throws `peer_full` if the day's budget is used up.
 *
 * A request that starts below the budget is accepted whole, even if the request exceeds the budget. Only one request
 * can exceed the budget, because requests of a peering are handled one after another. So no request has to be split,
 * and no request is too large to be ever accepted.
 */
export function refuseFull({ budget }: { readonly budget: PeerBudgetRow }): void {
  const { entriesUsed, entriesPerDay, bytesUsed, bytesPerDay, resetsAt } = budgetOf(budget)
  if (entriesUsed < entriesPerDay && bytesUsed < bytesPerDay) return
  const used = `${entriesUsed} of ${entriesPerDay} entries and ${bytesUsed} of ${bytesPerDay} bytes`
  throw new ApiError('peer_full', `today's budget of the peering is used up: ${used}`, {
    retryable: true,
    // This delay is shorter than the rest of the day, because the budget can be raised before the day is over.
    retryAfterMs: PEER_FULL_RETRY_MS,
    members: { resetsAt: resetsAt!.toISOString() },
  })
}
