import { setTimeout as sleep } from 'node:timers/promises'
import { type Ledger, OPERATOR_KEY } from '../faults/deployment.ts'
import type { JournalLine } from '../faults/journal.ts'
import type { StoredRecord } from '../faults/reckoning.ts'
import { acknowledge } from '../restore/operator.ts'

/** Closing of a ledger whose database has less than what was published of it. `known`, `found`: sizes. */
export type Loss = { readonly ledger: string; readonly known: number; readonly found: number }

const LOOK_EVERY_MS = 250

export type RunningOperator = {
  /** Each closing that was seen, and acknowledged. Two workers may each have kept another checkpoint, and each close a ledger. */
  readonly losses: readonly Loss[]
  stop(): Promise<void>
}

/** An operator who looks at what each closed ledger has lost, and reopens it. */
export function startOperator(url: string, ledgers: readonly Ledger[]): RunningOperator {
  const losses: Loss[] = []
  const stopping = new AbortController()
  const run = async () => {
    for (; !stopping.signal.aborted; await sleep(LOOK_EVERY_MS)) {
      for (const { ledger } of ledgers) {
        const reopened = await reopen(url, ledger).catch(() => null) // the database may be away
        if (reopened) losses.push(reopened)
      }
    }
  }
  const running = run()
  return {
    losses,
    async stop() {
      stopping.abort()
      await running
    },
  }
}

async function reopen(url: string, ledger: string): Promise<Loss | null> {
  const loss = await findLoss(url, ledger)
  if (loss) await acknowledge(url, ledger, loss.known)
  return loss
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
