import { type AlertCase, once, page, ticket } from './alert-case.ts'
import { flat, growing, MINUTES, SERVER, WORKER } from './healthy-series.ts'

export const OUTSIDE_CASES: readonly AlertCase[] = [
  // One endpoint waits for events. Two other endpoints refused their last event days ago, and have no further events.
  {
    ...page,
    alert: 'TallystickWebhooksNotDelivered',
    series: {
      [`tallystick_webhook_endpoints_failing{${WORKER}}`]: flat(2),
      [`tallystick_webhook_waiting_seconds{${WORKER}}`]: growing(60),
      [`tallystick_webhook_attempts_total{outcome="delivered", ${WORKER}}`]: flat(9),
      [`tallystick_webhook_attempts_total{outcome="failed", ${WORKER}}`]: flat(9),
    },
    ripens: 10,
    description: '1 endpoints wait for events, and none receives any.',
  },
  // The pause of the endpoint lasts longer than any pause may last.
  {
    ...page,
    alert: 'TallystickWebhooksNotDelivered',
    series: {
      [`tallystick_webhook_endpoints_waiting{${WORKER}}`]: flat(0),
      [`tallystick_webhook_cursor_lag_seconds{${WORKER}}`]: growing(60),
      [`tallystick_webhook_attempts_total{outcome="delivered", ${WORKER}}`]: flat(9),
      [`tallystick_webhook_attempts_total{outcome="failed", ${WORKER}}`]: flat(9),
    },
    ripens: 75,
    description: '1 endpoints wait for events, and none receives any.',
  },
  {
    ...page,
    alert: 'TallystickWebhooksNotDelivered',
    series: {
      [`tallystick_webhook_endpoints{state="active", ${WORKER}}`]: flat(2),
      [`tallystick_webhook_endpoints_behind{${WORKER}}`]: flat(2),
      [`tallystick_webhook_endpoints_failing{${WORKER}}`]: flat(2),
      [`tallystick_webhook_attempts_total{outcome="delivered", ${WORKER}}`]: flat(9),
    },
    ripens: 10,
    description: '2 endpoints wait for events, and none receives any.',
  },
  {
    ...page,
    alert: 'TallystickWebhooksNotDelivered',
    series: {
      [`tallystick_webhook_endpoints{state="active", ${WORKER}}`]: flat(1),
      [`tallystick_webhook_endpoints_failing{${WORKER}}`]: flat(1),
      [`tallystick_webhook_attempts_total{outcome="delivered", ${WORKER}}`]: flat(9),
    },
    ripens: 10,
    labels: { endpoints: 'one' },
    description: 'There is only 1 endpoint, and it has received no event for an hour.',
  },
  {
    ...ticket,
    alert: 'TallystickWebhookEndpointFails',
    series: { [`tallystick_webhook_endpoints_failing_seconds{${WORKER}}`]: growing(60) },
    ripens: 61,
    description: 'An endpoint has answered no delivery with 2xx for 1h 40m 0s.',
  },
  {
    ...ticket,
    alert: 'TallystickWebhookDeliveriesDead',
    series: { [`tallystick_webhook_attempts_total{outcome="dead", ${WORKER}}`]: once },
    description: '1 deliveries of the last hour failed for the last time: a receiver has failed for a day.',
  },
  {
    ...ticket,
    alert: 'TallystickWebhookEndpointStopped',
    series: { [`tallystick_webhook_endpoints{state="disabled", ${WORKER}}`]: once },
    labels: { state: 'disabled' },
    description: '1 endpoints became disabled within an hour.',
  },
  // The number of paused endpoints stays the same, because another endpoint was resumed at the same time.
  {
    ...ticket,
    alert: 'TallystickWebhookEndpointStopped',
    series: { [`tallystick_webhook_endpoint_stops_total{reason="failing", ${WORKER}}`]: once },
    labels: { state: 'paused' },
    description: '1 endpoints became paused within an hour.',
  },
  {
    ...page,
    alert: 'TallystickPeersNotDrained',
    series: {
      [`tallystick_peers_failing{${WORKER}}`]: flat(2),
      [`tallystick_peer_waiting_seconds{${WORKER}}`]: growing(60),
      [`tallystick_peer_request_duration_seconds_count{${WORKER}}`]: flat(9),
      [`tallystick_peer_entries_sent_total{outcome="received", ${WORKER}}`]: flat(9),
    },
    ripens: 10,
    description:
      '1 peers wait for entries, and none receives any: nothing more is shared with other organisations.',
  },
  {
    ...page,
    alert: 'TallystickPeersNotDrained',
    series: {
      [`tallystick_peers_waiting{${WORKER}}`]: flat(0),
      [`tallystick_peer_lag_seconds{state="active", ${WORKER}}`]: growing(60),
      [`tallystick_peer_request_duration_seconds_count{${WORKER}}`]: flat(9),
      [`tallystick_peer_entries_sent_total{outcome="received", ${WORKER}}`]: flat(9),
    },
    ripens: 75,
    description:
      '2 peers wait for entries, and none receives any: nothing more is shared with other organisations.',
  },
  {
    ...page,
    alert: 'TallystickPeersNotDrained',
    series: {
      [`tallystick_peers{state="active", ${WORKER}}`]: flat(2),
      [`tallystick_peers_failing{${WORKER}}`]: flat(2),
      [`tallystick_peer_entries_sent_total{outcome="received", ${WORKER}}`]: flat(9),
    },
    ripens: 10,
    description:
      '2 peers wait for entries, and none receives any: nothing more is shared with other organisations.',
  },
  {
    ...ticket,
    alert: 'TallystickPeerFails',
    series: { [`tallystick_peers_failing_seconds{${WORKER}}`]: flat(5_400) },
    description: 'A peer has accepted nothing for 1h 30m 0s.',
  },
  {
    ...ticket,
    alert: 'TallystickPeerFull',
    series: { [`tallystick_peers_full{${WORKER}}`]: flat(1) },
    description: '1 peers have used their daily storage budget: their further entries wait at their side.',
  },
  {
    ...ticket,
    alert: 'TallystickPeerDeadLetters',
    series: { [`tallystick_peer_dead_letters{${WORKER}}`]: flat(2) },
    description: '2 entries were refused by peers for good. Later entries of the same records wait.',
  },
  {
    ...ticket,
    alert: 'TallystickPeerFork',
    series: { [`tallystick_peer_entries_refused_total{code="fork", ${SERVER}}`]: once },
    description: '1 entries of peers contradict a stored entry at the same position.',
  },
  // Each waiting pod may have its own reason. The container is not created without the Secret of a password, because
  // the Secret is mounted.
  ...(
    [
      ['CreateContainerConfigError', { CreateContainerConfigError: flat(1) }],
      ['ContainerCreating', { ContainerCreating: flat(1) }],
      // One process runs for a minute before it fails. The other process waits for the schema until it gives up.
      ['CrashLoopBackOff', { CrashLoopBackOff: comesAndGoes(5, 1) }],
      ['CrashLoopBackOff', { CrashLoopBackOff: comesAndGoes(5, 5) }],
      ['ImagePullBackOff', { ErrImagePull: comesAndGoes(1, 5), ImagePullBackOff: `_ ${comesAndGoes(5, 1)}` }],
    ] as const
  ).map(([reason, waits]) => ({
    ...ticket,
    alert: 'TallystickPodsFail',
    series: Object.fromEntries(
      Object.entries(waits).map(([waitsFor, values]) => [
        `kube_pod_container_status_waiting_reason{namespace="ledger", pod="tallystick-api-7d9-x", container="api", reason="${waitsFor}"}`,
        values,
      ]),
    ),
    labels: { pod: 'tallystick-api-7d9-x', reason },
    description: `1 containers of tallystick-api-7d9-x have been waiting for more than ten minutes: ${reason}.`,
  })),
]

/**
 * Returns a series that kube-state-metrics shows for `waits` minutes and then hides for `gone` minutes, again and
 * again.
 */
function comesAndGoes(waits: number, gone: number): string {
  return Array.from(
    { length: Math.ceil(MINUTES / (waits + gone)) },
    () => `1x${waits - 1} stale${gone > 1 ? ` _x${gone - 1}` : ''}`,
  ).join(' ')
}
