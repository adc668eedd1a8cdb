import type pg from 'pg'
import { Histogram } from 'prom-client'
import { countWebhookDeliveries, readWebhookFigures } from '../../db/events/webhook-work.ts'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { queryGauges } from '../../observe/metrics/query-gauges.ts'
import { readCounter, readGauge, readingsOf, Tally } from '../../observe/metrics/readings.ts'
import { OUTBOUND_ERROR_CODES, type OutboundErrorCode } from '../connector/error.ts'
import type { AttemptOutcome, DeliveryObserver } from './attempt.ts'
import type { EndpointSenders } from './endpoint-senders.ts'
import type { Stop } from './health.ts'
import { WEBHOOK_DELIVERIES_COUNTED_MAX, WEBHOOK_ENDPOINTS_MAX, WEBHOOK_REQUESTS_MAX } from './limits.ts'
import { isDownStatus } from './statuses.ts'
import type { StopDeps } from './stop-endpoint.ts'

const REASONS = [
  // `aborted` is left out, because an aborted delivery is sent again and is not a failure.
  ...OUTBOUND_ERROR_CODES.filter((code) => code !== 'aborted'),
  'integrity_fault',
  'event_missing',
  '3xx',
  '4xx',
  '410',
  '429',
  'unavailable',
  '5xx',
] as const
type Reason = OutboundErrorCode | (typeof REASONS)[number]

export function makeDeliveryObserver(metrics: Metrics): DeliveryObserver {
  const attempts = new Tally(['delivered', 'failed', 'dead'])
  readCounter(
    metrics,
    {
      name: 'tallystick_webhook_attempts_total',
      help: 'Attempts to deliver an event to an endpoint; dead: the last attempt failed',
    },
    () => attempts.readings('outcome'),
  )
  const failures = new Tally<Reason>(REASONS)
  readCounter(
    metrics,
    {
      name: 'tallystick_webhook_attempt_failures_total',
      help: 'Failed attempts by reason: status of the answer, receiver away or overloaded, or why there was no answer',
    },
    () => failures.readings('reason'),
  )
  const observeTimes = makeTimesObserver(metrics)
  return (attempt) => {
    attempts.add(attempt.outcome)
    if (attempt.outcome !== 'delivered') failures.add(reasonOf(attempt))
    observeTimes(attempt)
  }
}

export function makeStopObserver(metrics: Metrics): StopDeps['observeStop'] {
  const stops = new Tally<Stop['reason']>(['failing', 'gone'])
  readCounter(
    metrics,
    {
      name: 'tallystick_webhook_endpoint_stops_total',
      help: 'Endpoints that were paused (failing for days) or disabled (answered 410)',
    },
    () => stops.readings('reason'),
  )
  return ({ reason }) => stops.add(reason)
}

function makeTimesObserver({ registry }: Metrics): DeliveryObserver {
  const registers = [registry]
  const lag = new Histogram({
    name: 'tallystick_webhook_lag_seconds',
    help: 'From an event to its delivery, with all attempts',
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300, 3_600, 86_400],
    registers,
  })
  const took = new Histogram({
    name: 'tallystick_webhook_attempt_duration_seconds',
    help: 'From the start of a request to an endpoint to its answer or failure',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers,
  })
  return ({ lagMs, durationMs }) => {
    if (lagMs !== null) lag.observe(lagMs / 1_000)
    if (durationMs !== null) took.observe(durationMs / 1_000)
  }
}

function reasonOf({ status, error }: AttemptOutcome): Reason {
  if (status === null) return error as Reason
  if (status === 410 || status === 429) return `${status}`
  if (isDownStatus(status)) return 'unavailable'
  return status < 400 ? '3xx' : status < 500 ? '4xx' : '5xx'
}

export function watchSenders(metrics: Metrics, lanes: EndpointSenders): void {
  const gauge = (name: string, help: string, read: () => number) =>
    readGauge(metrics, { name: `tallystick_webhook_${name}`, help }, read)
  gauge('requests', 'Requests to endpoints under way', () => lanes.requestsUnderWay)
  gauge('requests_max', 'Most requests under way at a time', () => WEBHOOK_REQUESTS_MAX)
  gauge('lanes', 'Endpoints that this worker delivers to at the moment', () => lanes.size)
  gauge('lanes_max', 'Most endpoints that this worker delivers to at a time', () => WEBHOOK_ENDPOINTS_MAX)
  gauge('events_queued', 'Events in memory that wait to be sent', () => lanes.queued)
}

export function watchWebhooks(metrics: Metrics, pool: pg.Pool): void {
  queryGauges(metrics, () => readWebhookFigures(pool), [
    {
      name: 'tallystick_webhook_endpoints',
      help: 'Endpoints by state: active, paused, or disabled (answered 410)',
      read: ({ active, paused, disabled }) => readingsOf('state', { active, paused, disabled }),
    },
    {
      name: 'tallystick_webhook_endpoints_failing',
      help: 'Active endpoints whose last answer was not 2xx',
      read: ({ failing }) => failing,
    },
    {
      name: 'tallystick_webhook_endpoints_failing_seconds',
      help: 'How long the active endpoint that has failed longest has been failing; 0: none',
      read: ({ failingSeconds }) => failingSeconds,
    },
    {
      name: 'tallystick_webhook_endpoints_behind',
      help: 'Active endpoints that have not examined all entries yet',
      read: ({ behind }) => behind,
    },
    {
      name: 'tallystick_webhook_endpoints_waiting',
      help: 'Endpoints that are behind and not in a pause after a failure: they should get events now',
      read: ({ waiting }) => waiting,
    },
    {
      name: 'tallystick_webhook_waiting_seconds',
      help: 'Age of the oldest entry that such an endpoint has not examined; 0: none',
      read: ({ waitingSeconds }) => waitingSeconds,
    },
    {
      name: 'tallystick_webhook_cursor_lag_entries',
      help: 'Entries that active endpoints have not examined yet, of all endpoints',
      read: ({ lagEntries }) => lagEntries,
    },
    {
      name: 'tallystick_webhook_cursor_lag_seconds',
      help: 'Age of the oldest entry that an active endpoint has not examined; 0: none',
      read: ({ lagSeconds }) => lagSeconds,
    },
  ])
  queryGauges(metrics, () => countWebhookDeliveries(pool, WEBHOOK_DELIVERIES_COUNTED_MAX), [
    {
      name: 'tallystick_webhook_deliveries',
      help: `Deliveries by state: to be tried (again), waiting for an earlier one of their record, given up; each counted up to ${WEBHOOK_DELIVERIES_COUNTED_MAX}`,
      read: (counts) => readingsOf('state', counts),
    },
  ])
}

type Connections = { readonly connections: { readonly idle: number; readonly used: number } }

/**
 * Adds gauges for the connections to addresses that tenants and peers have named. `pool`: the purpose of the
 * connections.
 */
export function watchOutbound(metrics: Metrics, pool: 'webhooks' | 'peers', connector: Connections): void {
  metrics.addPart<Connections>('outbound', pool, connector, (all) =>
    readGauge(
      metrics,
      {
        name: 'tallystick_outbound_connections',
        help: 'Open connections to endpoints and peers',
      },
      () =>
        [...all].flatMap(([pool, { connections }]) =>
          readingsOf('state', connections).map(({ labels, value }) => ({
            labels: { pool, ...labels },
            value,
          })),
        ),
    ),
  )
}
