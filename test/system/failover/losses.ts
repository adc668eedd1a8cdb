import { setTimeout as sleep } from 'node:timers/promises'
import { type Ledger, OPERATOR_KEY } from '../faults/deployment.ts'
import type { JournalLine } from '../faults/journal.ts'
import type { StoredRecord } from '../faults/reckoning.ts'

/** Closing of a ledger whose database has less than what was published of it. `known`, `found`: sizes. */
export type Loss = { readonly ledger: string; readonly known: number; readonly found: number }

/** The worker compares once a second what it has kept, and reconnects for as long. */
const CLOSED_MS_MAX = 6_000
const LOOK_EVERY_MS = 250

/** Ledgers that were closed since the failover, by what the operator is told. Returns when no other one is to be expected. */
export async function findLosses(url: string, ledgers: readonly Ledger[]): Promise<Loss[]> {
  const losses = new Map<string, Loss>()
  for (const giveUpAt = Date.now() + CLOSED_MS_MAX; Date.now() < giveUpAt; await sleep(LOOK_EVERY_MS)) {
    for (const { ledger } of ledgers) {
      const loss = await findLoss(url, ledger).catch(() => null) // the database may be away
      if (loss) losses.set(ledger, loss)
    }
    if (losses.size === ledgers.length) break
  }
  return [...losses.values()]
}

async function findLoss(url: string, ledger: string): Promise<Loss | null> {
  const response = await fetch(`${url}/v1/ledgers/${ledger}/restore`, {
    headers: { authorization: `Bearer ${OPERATOR_KEY}` },
  })
  const body = (await response.json()) as {
    readonly known: { readonly size: number }
    readonly found: { readonly size: number }
    readonly entry: object | null
  }
  if (!response.ok || body.entry !== null) return null
  return { ledger, known: body.known.size, found: body.found.size }
}

/** Lost records that lie below a checkpoint which closed their ledger, and those that no checkpoint had reached yet. */
export function countLost(
  journal: readonly JournalLine[],
  stored: readonly StoredRecord[],
  losses: readonly Loss[],
): { readonly named: number; readonly beyond: number } {
  const there = new Set(stored.map(({ id }) => id))
  const counts = { named: 0, beyond: 0 }
  for (const { ledger, ids, seq } of journal) {
    const lost = ids.filter((id) => !there.has(id)).length
    const isNamed = losses.some((loss) => loss.ledger === ledger && seq >= loss.found && seq < loss.known)
    counts[isNamed ? 'named' : 'beyond'] += lost
  }
  return counts
}
