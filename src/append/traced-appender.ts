import type { Attributes, Span } from '@opentelemetry/api'
import type pg from 'pg'
import type { EntryRow } from '../db/chain/append-entries.ts'
import { failSpan } from '../observe/tracing/fail-span.ts'
import type { Tracing } from '../observe/tracing/tracing.ts'
import { formatId } from '../proof/ids.ts'
import { Appender, type AppendObserver, countRecords, type Overloaded } from './appender.ts'
import type { AppendOutcome } from './commit.ts'

/** Span of an entry that waits for its commit. `queuedAt` is the time by performance.now(). */
type QueuedSpan = { readonly span: Span; readonly queuedAt: number }

/**
 * Appender that makes trace spans. The request's trace gets one span for the wait until the batch is committed. Each
 * batch with traced entries gets a span in a trace of its own, because a batch serves many requests. The two spans link
 * to each other.
 */
export class TracedAppender extends Appender {
  readonly #tracing: Tracing
  readonly #waiting: Map<EntryRow, QueuedSpan>

  constructor(pool: pg.Pool, observer: AppendObserver, countComing: () => number, tracing: Tracing) {
    const waiting = new Map<EntryRow, QueuedSpan>()
    const traced: AppendObserver = {
      ...observer,
      committed(batch) {
        observer.committed(batch)
        traceCommit(tracing, waiting, batch)
      },
    }
    super(pool, traced, countComing)
    this.#tracing = tracing
    this.#waiting = waiting
  }

  override async append(entry: EntryRow, sinceMs: number | null = null): Promise<AppendOutcome | Overloaded> {
    const request = this.#tracing.current
    if (request === null) return super.append(entry, sinceMs)
    const queuedAt = performance.now()
    const span = this.#tracing.start('append', {
      kind: 'internal',
      parent: request.spanContext(),
      attributes: { 'tallystick.entry.kind': entry.kind, 'tallystick.records': countRecords(entry) },
      startedAt: queuedAt,
    })
    if (span === null) return super.append(entry, sinceMs)
    this.#waiting.set(entry, { span, queuedAt })
    const outcome = await super.append(entry, sinceMs)
    this.#waiting.delete(entry)
    // After any other outcome, the record was not made by this request.
    if (outcome.status === 'appended') request.setAttributes(madeBy(entry))
    endAppend(span, outcome)
    return outcome
  }
}

function traceCommit(
  tracing: Tracing,
  waiting: ReadonlyMap<EntryRow, QueuedSpan>,
  { entries, outcomes, records, ms }: Parameters<AppendObserver['committed']>[0],
): void {
  const traced = entries.flatMap((entry) => waiting.get(entry) ?? [])
  if (traced.length === 0) return
  const endedAt = performance.now()
  const startedAt = endedAt - ms
  const requests = traced.map(({ span }) => span.spanContext())
  const commit = tracing.startFor(requests, 'append_entries', {
    kind: 'client',
    parent: null,
    attributes: {
      'db.system.name': 'postgresql',
      'db.operation.name': 'append_entries',
      'tallystick.batch.entries': entries.length,
      'tallystick.batch.records': records,
      ...countsOf(outcomes),
    },
    startedAt,
  })
  for (const { span, queuedAt } of traced) {
    // If the entry was answered `again` before, this replaces the value of the earlier commit. The wait always counts
    // from the first time that the entry was queued.
    span.setAttribute('tallystick.append.wait_ms', Math.round((startedAt - queuedAt) * 1_000) / 1_000)
    span.addLink({ context: commit.spanContext() })
  }
  const failed = outcomes.find(({ status }) => FAILED.has(status))
  if (failed) failSpan(commit, failed.status)
  commit.end(endedAt)
}

const FAILED: ReadonlySet<string> = new Set(['unavailable', 'unknown', 'failed'])

function countsOf(outcomes: readonly AppendOutcome[]): Attributes {
  const counts: Record<string, number> = {}
  for (const { status } of outcomes) {
    const name = `tallystick.batch.${status}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

function endAppend(span: Span, outcome: AppendOutcome | Overloaded): void {
  span.setAttribute('tallystick.append.outcome', outcome.status)
  if ('seq' in outcome) span.setAttribute('tallystick.entry.seq', outcome.seq)
  if ('reason' in outcome) span.setAttribute('tallystick.append.reason', outcome.reason)
  if (FAILED.has(outcome.status)) failSpan(span, outcome.status)
  span.end(performance.now())
}

/**
 * Returns attributes with the id of the batch or record that the entry makes. By these ids, people find the requests of
 * a record.
 */
function madeBy({ kind, subjectId, records }: EntryRow): Attributes {
  if (kind === 'batch-notarized') return { 'tallystick.batch.id': formatId('bat', subjectId!) }
  return records.length === 1 ? { 'tallystick.record.id': formatId('rec', records[0]!.recordId) } : {}
}
