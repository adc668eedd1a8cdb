import { Durations, WAIT_BOUNDS_MS } from '../observe/metrics/durations.ts'
import type { Metrics } from '../observe/metrics/metrics.ts'
import { readCounter, readGauge, readHistogram, readingsOf } from '../observe/metrics/readings.ts'
import type { Admission } from './admission.ts'
import type { ByteBudgets } from './budgets.ts'
import { READS_UNDER_WAY_MAX, REQUESTS_UNDER_WAY_MAX } from './limits.ts'

type Admitting = {
  readonly admission: Admission
  readonly budgets: ByteBudgets
  readonly writeDeadlines: { readonly cutOff: number }
}

export function makeBeginObserver(metrics: Metrics): (ms: number) => void {
  const waits = new Durations(WAIT_BOUNDS_MS)
  const wait = {
    name: 'tallystick_http_begin_wait_duration_seconds',
    help: 'From the headers of an accepted request to the start of its work',
  }
  readHistogram(metrics, wait, () => waits.readings(wait.name, {}))
  return (ms) => waits.observe(ms)
}

export function watchAdmission(metrics: Metrics, { admission, budgets, writeDeadlines }: Admitting): void {
  readGauge(
    metrics,
    {
      name: 'tallystick_http_requests_under_way',
      help: `Requests that are in work or start soon. Beyond ${REQUESTS_UNDER_WAY_MAX} writes, or as many reads (up to ${READS_UNDER_WAY_MAX} while they are answered within a second), all but short bursts are refused`,
    },
    () => admission.underWay,
  )
  readCounter(
    metrics,
    {
      name: 'tallystick_http_requests_refused_total',
      help: 'Requests that were refused at once (503) because too many were under way; unproven: without a known key',
    },
    () => {
      const { refused, refusedUnproven } = admission
      return readingsOf('owner', { proven: refused - refusedUnproven, unproven: refusedUnproven })
    },
  )
  const ofEach = (figure: 'taken' | 'refused') => () =>
    readingsOf(
      'kind',
      Object.fromEntries(Object.entries(budgets).map(([kind, budget]) => [kind, budget[figure]])),
    )
  readGauge(
    metrics,
    {
      name: 'tallystick_http_held_bytes',
      help: 'Bytes in memory for clients that read or send slowly',
    },
    ofEach('taken'),
  )
  readCounter(
    metrics,
    {
      name: 'tallystick_http_held_refused_total',
      help: 'Requests that were refused (503) because too many bytes were in memory',
    },
    ofEach('refused'),
  )
  readCounter(
    metrics,
    {
      name: 'tallystick_http_cut_off_total',
      help: 'Connections that were closed because their clients did not read the answers',
    },
    () => writeDeadlines.cutOff,
  )
}
