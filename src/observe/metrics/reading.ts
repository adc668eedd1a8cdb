import type { Metrics } from './metrics.ts'
import { readCounter, readGauge, readingsOf } from './readings.ts'

/**
 * Numbers of look-ups in a cache. `hits`: look-ups that needed no database query. `misses`: look-ups that needed one.
 */
type CacheFigures = { readonly hits: number; readonly misses: number }

export function watchKeyCache(
  metrics: Metrics,
  callers: { readonly size: number; readonly figures: CacheFigures },
): void {
  readGauge(
    metrics,
    {
      name: 'tallystick_key_cache_keys',
      help: 'Valid API keys in the cache',
    },
    () => callers.size,
  )
  readCounter(
    metrics,
    {
      name: 'tallystick_key_cache_lookups_total',
      help: 'Lookups of API keys; miss: read from the database',
    },
    () => {
      const { hits, misses } = callers.figures
      return readingsOf('result', { hit: hits, miss: misses })
    },
  )
}

type Slots = { readonly open: number; readonly refused: number }

/**
 * Adds metrics of long answers. Each kind of long answer has a limited number of slots. `waits`: requests that wait for
 * the next step of a record.
 */
export function watchStreams(
  metrics: Metrics,
  kind: 'bundles' | 'entries' | 'events' | 'mcp' | 'receipts' | 'waits',
  slots: Slots,
): void {
  metrics.addPart<Slots>('streams', kind, slots, (all) => {
    const ofEach = (figure: keyof Slots) => () =>
      readingsOf('stream', Object.fromEntries([...all].map(([name, part]) => [name, part[figure]])))
    readGauge(
      metrics,
      { name: 'tallystick_streams', help: 'Streamed answers that are open, and requests that wait' },
      ofEach('open'),
    )
    readCounter(
      metrics,
      {
        name: 'tallystick_streams_refused_total',
        help: 'Streams that were refused because the ledger or the server had too many open',
      },
      ofEach('refused'),
    )
  })
}

export function watchEventReads(
  metrics: Metrics,
  reads: { readonly counts: { readonly waiting: number; readonly made: number; readonly shared: number } },
): void {
  readGauge(
    metrics,
    { name: 'tallystick_event_reads_waiting', help: 'Pages of events that wait to be read' },
    () => reads.counts.waiting,
  )
  readCounter(
    metrics,
    {
      name: 'tallystick_event_reads_total',
      help: 'Pages of events that streams requested; shared: the page was already being read for another stream',
    },
    () => {
      const { made, shared } = reads.counts
      return readingsOf('result', { read: made, shared })
    },
  )
}
