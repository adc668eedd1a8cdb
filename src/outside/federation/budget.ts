import type { PeerBudgetRow } from '../../db/peers/peer-budgets.ts'
import { ApiError } from '../../errors.ts'
import { PEER_BYTES_PER_DAY, PEER_ENTRIES_PER_DAY, PEER_FULL_RETRY_MS } from './limits.ts'

/** Entries and bytes that a peer may have this side store in a day, and how many it has had stored. */
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
 * Throws `peer_full` where a day's budget is used up. A request that begins below it is taken whole, so one goes beyond: requests of
 * a peering are taken one after another, and none has to be cut in two, or is too large for any day.
 */
export function refuseFull({ budget }: { readonly budget: PeerBudgetRow }): void {
  const { entriesUsed, entriesPerDay, bytesUsed, bytesPerDay, resetsAt } = budgetOf(budget)
  if (entriesUsed < entriesPerDay && bytesUsed < bytesPerDay) return
  const used = `${entriesUsed} of ${entriesPerDay} entries and ${bytesUsed} of ${bytesPerDay} bytes`
  throw new ApiError('peer_full', `this day's budget of the peering is used up: ${used}`, {
    retryable: true,
    // The budget can be raised before the day is over.
    retryAfterMs: PEER_FULL_RETRY_MS,
    members: { resetsAt: resetsAt!.toISOString() },
  })
}
