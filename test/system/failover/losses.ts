import { setTimeout as sleep } from 'node:timers/promises'
import { type Ledger, OPERATOR_KEY } from '../deployment/deployment.ts'
import type { JournalLine } from '../faults/journal.ts'
import type { StoredRecord } from '../faults/reckoning.ts'
import { acknowledge } from '../restore/operator.ts'
import type { FailoverFaultName, Suffered } from './faults.ts'
import { OPERATOR_LOOK_MS_MAX } from './limits.ts'

/**
 * A ledger that was closed because its database has fewer entries than were published. `known` is the published size,
 * and `found` is the size in the database.
 */
export type Loss = {
  readonly ledger: string
  readonly known: number
  readonly found: number
  /** Time of the acknowledgement, in Unix ms. */
  readonly atMs: number
}

const LOOK_EVERY_MS = 250

export type RunningOperator = {
  readonly losses: readonly Loss[]
  /** Error of the last poll; null if the poll succeeded. */
  readonly error: unknown
  stop(): Promise<void>
}

/** Starts an operator who checks what each closed ledger has lost, and reopens it. */
export function startOperator(url: string, ledgers: readonly Ledger[]): RunningOperator {
  const losses: Loss[] = []
  const stopping = new AbortController()
  let failure: unknown = null
  const run = async () => {
    for (; !stopping.signal.aborted; await sleep(LOOK_EVERY_MS)) {
      for (const { ledger } of ledgers) {
        const reopened = await reopen(url, ledger).catch((error: unknown) => {
          failure = error // The database may be unavailable, so the error is only stored.
          return null
        })
        if (reopened) losses.push(reopened)
      }
    }
  }
  const running = run()
  return {
    losses,
    get error() {
      return failure
    },
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
    signal: AbortSignal.timeout(OPERATOR_LOOK_MS_MAX),
  })
  const body = (await response.json()) as {
    readonly known: { readonly size: number }
    readonly found: { readonly size: number }
    readonly entry: object | null
  }
  if (!response.ok || body.entry !== null) return null
  return { ledger, known: body.known.size, found: body.found.size, atMs: Date.now() }
}

export type FaultLosses = {
  readonly fault: FailoverFaultName
  readonly lost: number
  /**
   * Number of lost records below the checkpoint that closed their ledger. No stored checkpoint covered the other lost
   * records.
   */
  readonly named: number
  readonly closed: number
}

/** Attributes losses to faults. A record was lost in the first fault that ended after the record's acknowledgement. */
export function countLosses(
  faults: readonly Pick<Suffered, 'fault' | 'endedAtMs'>[],
  journal: readonly JournalLine[],
  stored: readonly StoredRecord[],
  losses: readonly Loss[],
): FaultLosses[] {
  const there = new Set(stored.map(({ id }) => id))
  const counts = faults.map(({ fault }) => ({ fault, lost: 0, named: 0, closed: 0 }))
  const countOf = (atMs: number) => counts[faults.findIndex(({ endedAtMs }) => atMs <= endedAtMs)]
  for (const { atMs } of losses) {
    const count = countOf(atMs)
    if (count) count.closed++
  }
  for (const { ledger, ids, seq, atMs } of journal) {
    const count = countOf(atMs)
    const lost = ids.filter((id) => !there.has(id)).length
    if (!count || lost === 0) continue
    count.lost += lost
    const isNamed = losses.some(
      (loss) =>
        countOf(loss.atMs) === count && loss.ledger === ledger && seq >= loss.found && seq < loss.known,
    )
    if (isNamed) count.named += lost
  }
  return counts
}
