import type pg from 'pg'
import { bytesOf } from '../../append/appender.ts'
import { type AppendOutcome, commitBatch } from '../../append/commit.ts'
import { APPEND_BATCH_BYTES_MAX, APPEND_BATCH_ENTRIES_MAX } from '../../append/limits.ts'
import type { EntryRow } from '../../db/chain/append-entries.ts'

type Steps = readonly EntryRow[]

/**
 * Commits the steps of many records in as few calls as possible. Steps of one record stay in the same call. Returns the
 * outcomes of each record's entries, in order. Never throws.
 */
export async function commitSteps(pool: pg.Pool, steps: readonly Steps[]): Promise<AppendOutcome[][]> {
  const outcomes: AppendOutcome[][] = []
  for (const call of inCalls(steps)) {
    const answered = (await commitBatch(pool, call.flat())).values()
    for (const entries of call) outcomes.push(entries.map(() => answered.next().value!))
  }
  return outcomes
}

function inCalls(steps: readonly Steps[]): Steps[][] {
  const calls: Steps[][] = []
  let entries = 0
  let bytes = 0
  for (const one of steps) {
    const size = one.reduce((sum, entry) => sum + bytesOf(entry), 0)
    const isFull = entries + one.length > APPEND_BATCH_ENTRIES_MAX || bytes + size > APPEND_BATCH_BYTES_MAX
    if (calls.length === 0 || isFull) {
      calls.push([])
      entries = 0
      bytes = 0
    }
    calls.at(-1)!.push(one)
    entries += one.length
    bytes += size
  }
  return calls
}

/**
 * Returns true if the record or its ledger has changed since the step was signed. The step can then be signed again. If
 * one step of a pair was refused, the other step has the outcome `again`.
 */
export function hasMoved(outcome: AppendOutcome): boolean {
  if (outcome.status === 'stale' || outcome.status === 'again') return true
  return (
    outcome.status === 'refused' && ['state', 'frozen', 'closed', 'moving', 'moved'].includes(outcome.reason)
  )
}

export function errorOf(outcome: AppendOutcome): Error {
  if ('error' in outcome) return outcome.error
  const reason = 'reason' in outcome ? ` (${outcome.reason})` : ''
  return new Error(`append_entries answered ${outcome.status}${reason}`)
}
