import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type AppendAnswer, appendEntries, type EntryRow } from '../db/chain/append-entries.ts'
import { classifyFailure, type Failure, mayBeOfRows } from '../db/connect/failures.ts'
import {
  APPEND_DEADLOCK_RETRIES_MAX,
  APPEND_UNAVAILABLE_PAUSE_MS,
  APPEND_UNAVAILABLE_RETRY_MS_MAX,
} from './limits.ts'

/**
 * Outcome of an append.
 *
 * - `appended`, `replayed`: the entry is in the chain.
 * - `conflict`, `stale`, `again`, `refused`, `unavailable`, `failed`: nothing was written.
 * - `unknown`: the connection was lost between sending and the answer. The entry may or may not be in the chain.
 */
export type AppendOutcome =
  | { readonly status: 'appended'; readonly seq: number; readonly chain: string }
  | { readonly status: 'replayed'; readonly seq: number }
  | { readonly status: 'conflict' | 'stale' | 'again' }
  | { readonly status: 'refused'; readonly reason: RefusalReason }
  | { readonly status: 'unavailable'; readonly error: Error }
  | { readonly status: 'failed'; readonly error: Error }
  | { readonly status: 'unknown'; readonly error: Error }

export type RefusalReason =
  | 'state'
  | 'clock'
  | 'ledger'
  | 'kind'
  | 'frozen'
  | 'closed'
  | 'moving'
  | 'moved'
  | 'deadline'
  | 'party'
  | 'signature'
  | 'taken'

/**
 * Reason why a call is repeated.
 *
 * - `deadlock`: Postgres ended a deadlock.
 * - `data`: Postgres refused, or may have refused, the data of one entry. The call is repeated in halves.
 * - `unavailable`: there was no usable connection, usually because of a failover. Nothing was written.
 */
export type RetryCause = 'deadlock' | 'data' | 'unavailable'

type RetryObserver = { retried(cause: RetryCause): void } | null

/**
 * Commits one batch with one connection, one round trip and one transaction. Returns one outcome per entry, in order.
 * Never throws.
 *
 * If Postgres refuses the data, the call is repeated in halves until only the entry at fault fails. If Postgres fails
 * for a reason that the data may cause, such as a row that is too large, the call is repeated in halves too. In this
 * case the search stops when both halves fail.
 */
export async function commitBatch(
  pool: pg.Pool,
  entries: readonly EntryRow[],
  observer: RetryObserver = null,
): Promise<AppendOutcome[]> {
  return settle(pool, entries, await tryCommit(pool, entries, observer), observer)
}

async function settle(
  pool: pg.Pool,
  entries: readonly EntryRow[],
  result: AppendOutcome[] | Failure,
  observer: RetryObserver,
): Promise<AppendOutcome[]> {
  if (Array.isArray(result)) return result
  const isOfData = result.kind === 'data'
  if (entries.length === 1 || !(isOfData || mayBeOfRows(result))) return toFailedOutcomes(entries, result)
  observer?.retried('data')
  const middle = entries.length >> 1
  const [first, second] = [entries.slice(0, middle), entries.slice(middle)]
  const left = await tryCommit(pool, first, observer)
  const isState = (half: typeof left): half is Failure => !Array.isArray(half) && half.kind !== 'data'
  if (isOfData || !isState(left)) {
    const outcomes = await settle(pool, first, left, observer)
    return [...outcomes, ...(await commitBatch(pool, second, observer))]
  }
  const right = await tryCommit(pool, second, observer)
  // Both halves failed, so the state of the database is the cause, not an entry. More calls would only add load.
  if (isState(right)) return [...toFailedOutcomes(first, left), ...toFailedOutcomes(second, right)]
  return [...(await settle(pool, first, left, observer)), ...(await settle(pool, second, right, observer))]
}

function toFailedOutcomes(entries: readonly EntryRow[], failure: Failure): AppendOutcome[] {
  const outcome = toFailedOutcome(failure)
  return entries.map(() => outcome)
}

/** Outcome of entries that belong together. Either all were appended, or none, or it is unknown whether they were. */
type TogetherOutcome =
  | { readonly status: 'appended' }
  | Extract<AppendOutcome, { status: 'unavailable' | 'unknown' | 'failed' }>

/**
 * Commits entries that belong together, such as a ledger's first entries. They are never split into halves. Throws if
 * the entries have different outcomes. This should be impossible, because no other request uses their ledger, records
 * or keys.
 */
export async function commitTogether(pool: pg.Pool, entries: readonly EntryRow[]): Promise<TogetherOutcome> {
  const result = await tryCommit(pool, entries, null)
  if (!Array.isArray(result)) return toFailedOutcome(result)
  const other = result.find((outcome) => outcome.status !== 'appended')
  if (other) throw new Error(`append_entries answered ${JSON.stringify(other)}`)
  return { status: 'appended' }
}

function toFailedOutcome({ kind, error }: Failure): Exclude<TogetherOutcome, { status: 'appended' }> {
  if (kind === 'data') return { status: 'failed', error }
  return { status: kind === 'unknown' ? 'unknown' : 'unavailable', error }
}

async function tryCommit(
  pool: pg.Pool,
  entries: readonly EntryRow[],
  observer: RetryObserver,
): Promise<AppendOutcome[] | Failure> {
  const startedAt = performance.now()
  for (let attempt = 0; ; attempt++) {
    const result = await callOnce(pool, entries)
    if (Array.isArray(result)) return result
    if (result.kind === 'deadlock' && attempt < APPEND_DEADLOCK_RETRIES_MAX) {
      observer?.retried('deadlock')
      continue
    }
    // Nothing was committed, so the call may be repeated. After a failover, the next connection reaches the new
    // primary. A call that took long is not repeated, because its clients have already waited too long.
    const tookMs = performance.now() - startedAt
    if (result.kind !== 'unavailable' || attempt > 0 || tookMs > APPEND_UNAVAILABLE_RETRY_MS_MAX)
      return result
    observer?.retried('unavailable')
    await sleep(APPEND_UNAVAILABLE_PAUSE_MS)
  }
}

async function callOnce(pool: pg.Pool, entries: readonly EntryRow[]): Promise<AppendOutcome[] | Failure> {
  let client: pg.PoolClient
  try {
    client = await pool.connect()
  } catch (error) {
    return { kind: 'unavailable', error: error as Error } // Nothing was sent.
  }
  try {
    const answers = await appendEntries(client, entries)
    client.release()
    return answers.map(toOutcome)
  } catch (error) {
    const failure = classifyFailure(error as Error)
    // After an error about the data, the connection is still usable. After any other error the pool closes it.
    client.release(failure.kind === 'data' || failure.kind === 'deadlock' ? false : failure.error)
    return failure
  }
}

function toOutcome(answer: AppendAnswer): AppendOutcome {
  switch (answer.outcome) {
    case 'appended':
      return { status: 'appended', seq: answer.seq, chain: answer.chain }
    case 'replayed':
      return { status: 'replayed', seq: answer.seq }
    case 'conflict':
    case 'stale':
    case 'again':
      return { status: answer.outcome }
    case 'refused_state':
      return { status: 'refused', reason: 'state' }
    case 'refused_clock':
      return { status: 'refused', reason: 'clock' }
    case 'refused_ledger':
      return { status: 'refused', reason: 'ledger' }
    case 'refused_kind':
      return { status: 'refused', reason: 'kind' }
    case 'refused_frozen':
      return { status: 'refused', reason: 'frozen' }
    case 'refused_closed':
      return { status: 'refused', reason: 'closed' }
    case 'refused_moving':
      return { status: 'refused', reason: 'moving' }
    case 'refused_moved':
      return { status: 'refused', reason: 'moved' }
    case 'refused_deadline':
      return { status: 'refused', reason: 'deadline' }
    case 'refused_party':
      return { status: 'refused', reason: 'party' }
    case 'refused_signature':
      return { status: 'refused', reason: 'signature' }
    case 'refused_taken':
      return { status: 'refused', reason: 'taken' }
  }
}
