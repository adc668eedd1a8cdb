import { Durations, WAIT_BOUNDS_MS } from '../observe/metrics/durations.ts'
import type { Metrics } from '../observe/metrics/metrics.ts'
import { readCounter, readGauge, readHistogram, readingsOf } from '../observe/metrics/readings.ts'
import type { Admission, AdmissionObserver } from './admission.ts'
import type { ByteBudgets } from './budgets.ts'
import { READS_UNDER_WAY_MAX, REQUESTS_UNDER_WAY_MAX } from './limits.ts'

type Admitting = {
  readonly admission: Admission
  readonly budgets: ByteBudgets
  readonly writeDeadlines: { readonly cutOff: number }
}

/** Kinds of work that use the event loop in slices. `read`: reads and parses requests that have arrived on sockets. */
const LOOP_WORK = ['read', 'begin', 'answer'] as const
type LoopWork = (typeof LOOP_WORK)[number]

const SLICE_BOUNDS_MS = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]

/** Returns a function that must be called with the duration in ms of each slice of the event loop. */
export function makeSliceObserver(metrics: Metrics): (work: LoopWork, ms: number) => void {
  const slices = new Map(LOOP_WORK.map((work) => [work, new Durations(SLICE_BOUNDS_MS)]))
  const slice = {
    name: 'tallystick_event_loop_slice_duration_seconds',
    help: 'Time for which one kind of work held the event loop before other work ran',
  }
  readHistogram(metrics, slice, () =>
    [...slices].flatMap(([work, durations]) => durations.readings(slice.name, { kind: work })),
  )
  return (work, ms) => slices.get(work)!.observe(ms)
}

export function makeAdmissionObserver(
  metrics: Metrics,
  slice: AdmissionObserver['slice'],
): AdmissionObserver {
  const waits = new Durations(WAIT_BOUNDS_MS)
  const wait = {
    name: 'tallystick_http_begin_wait_duration_seconds',
    help: 'From the headers of an accepted request to the start of its work',
  }
  readHistogram(metrics, wait, () => waits.readings(wait.name, {}))
  return { begun: (ms) => waits.observe(ms), slice }
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
