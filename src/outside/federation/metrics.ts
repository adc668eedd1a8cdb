import type pg from 'pg'
import { Histogram } from 'prom-client'
import { readPeerBudgets } from '../../db/peers/peer-budgets.ts'
import { countPeerOpenWork, readPeerFigures } from '../../db/peers/peer-figures.ts'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { queryGauges } from '../../observe/metrics/query-gauges.ts'
import { readCounter, readGauge, readingsOf, Tally } from '../../observe/metrics/readings.ts'
import { OUTBOUND_ERROR_CODES } from '../connector/error.ts'
import { countAllForks, type ForkDeps } from './forks.ts'
import type { Inbox } from './inbox.ts'
import {
  PEER_BYTES_PER_DAY,
  PEER_DRAINS_MAX,
  PEER_ENTRIES_PER_DAY,
  PEER_FORKS_COUNTED_MAX,
  PEER_MATTERS_COUNTED_MAX,
  PEER_REQUESTS_WAITING_MAX,
} from './limits.ts'
import type { PeerSenderObserver, PeerSenders } from './peer-sender.ts'
import type { ReceiveDeps } from './receive.ts'

/**
 * Reasons why a request to a peer failed: the code of the peer's problem document, or a code for the missing answer.
 */
const FAILURES = [
  // `aborted` is left out, because an aborted request is sent again.
  ...OUTBOUND_ERROR_CODES.filter((code) => code !== 'aborted'),
  'peer_unknown',
  'peer_suspended',
  'peer_full',
  'peer_revoked',
  'key_unknown',
  'key_not_current',
  'request_expired',
  'request_replayed',
  'signature_malformed',
  'signature_invalid',
  'content_digest_mismatch',
  'token_invalid',
  'token_used',
  'handshake_mismatch',
  'receipt_invalid',
  'ledger_closed',
  'rate_limited',
  'overloaded',
  'unavailable',
  'request_too_large',
  'request_refused',
  'unexpected_answer',
  'other',
] as const

export function makeSendingObserver(metrics: Metrics): PeerSenderObserver {
  const took = new Histogram({
    name: 'tallystick_peer_request_duration_seconds',
    help: 'From the start of a request to a peer to its answer or failure',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers: [metrics.registry],
  })
  const failures = new Tally(FAILURES)
  readCounter(
    metrics,
    {
      name: 'tallystick_peer_request_failures_total',
      help: 'Failed requests to peers, by code of the answer, or by why there was none',
    },
    () => failures.readings('reason'),
  )
  const entries = new Tally(['received', 'refused'])
  readCounter(
    metrics,
    {
      name: 'tallystick_peer_entries_sent_total',
      help: 'Entries that peers have received, and entries that they have refused for good',
    },
    () => entries.readings('outcome'),
  )
  return {
    request: (ms) => took.observe(ms / 1_000),
    failure: (code) => failures.add(knownOf(FAILURES, code)),
    entries: ({ received, refused }) => {
      entries.add('received', received)
      entries.add('refused', refused)
    },
  }
}

/** Maps an unknown code to `other`, because a peer can send any code. */
function knownOf<Code extends string>(known: readonly Code[], code: string): Code | 'other' {
  return known.find((one) => one === code) ?? 'other'
}

export function watchPeerSenders(metrics: Metrics, senders: Pick<PeerSenders, 'size'>): void {
  readGauge(
    metrics,
    { name: 'tallystick_peer_drains', help: 'Peers that this worker sends to at the moment' },
    () => senders.size,
  )
  readGauge(
    metrics,
    { name: 'tallystick_peer_drains_max', help: 'Most peers that this worker sends to at a time' },
    () => PEER_DRAINS_MAX,
  )
}

export function watchPeers(metrics: Metrics, pool: pg.Pool, deps: ForkDeps): void {
  queryGauges(metrics, () => readPeerFigures(pool), [
    {
      name: 'tallystick_peers',
      help: 'Peerings by state, without expired invitations',
      read: ({ states }) => readingsOf('state', states),
    },
    {
      name: 'tallystick_peers_failing',
      help: 'Peers that did not accept the last request',
      read: ({ failing }) => failing,
    },
    {
      name: 'tallystick_peers_failing_seconds',
      help: 'How long the peer that has failed longest has been failing; 0: none',
      read: ({ failingSeconds }) => failingSeconds,
    },
    {
      name: 'tallystick_peers_behind',
      help: 'Active peers that do not have all entries of their ledger yet',
      read: ({ behind }) => behind,
    },
    {
      name: 'tallystick_peers_waiting',
      help: 'Peers that are behind and not in a pause after a failure: they should get entries now',
      read: ({ waiting }) => waiting,
    },
    {
      name: 'tallystick_peer_waiting_seconds',
      help: 'Age of the oldest entry that such a peer lacks; 0: none',
      read: ({ waitingSeconds }) => waitingSeconds,
    },
    {
      name: 'tallystick_peer_lag_entries',
      help: 'Entries that peers do not have yet, of all peers',
      read: ({ lag: { active, suspended } }) =>
        readingsOf('state', { active: active.entries, suspended: suspended.entries }),
    },
    {
      name: 'tallystick_peer_lag_furthest_entries',
      help: 'Entries that the peer furthest behind does not have yet',
      read: ({ lag: { active, suspended } }) =>
        readingsOf('state', { active: active.most, suspended: suspended.most }),
    },
    {
      name: 'tallystick_peer_lag_seconds',
      help: 'Age of the oldest entry that a peer does not have yet; 0: none',
      read: ({ lag: { active, suspended } }) =>
        readingsOf('state', { active: active.seconds, suspended: suspended.seconds }),
    },
  ])
  const budget = { entriesMax: PEER_ENTRIES_PER_DAY, bytesMax: PEER_BYTES_PER_DAY }
  queryGauges(metrics, () => readPeerBudgets(pool, budget), [
    {
      name: 'tallystick_peers_full',
      help: 'Active peers that have used up their daily storage budget here',
      read: ({ full }) => full,
    },
    {
      name: 'tallystick_peer_budget_used_ratio',
      help: 'Largest used share of a peer’s daily storage budget; 1: all of it',
      read: ({ most }) => most,
    },
  ])
  const most = PEER_MATTERS_COUNTED_MAX
  queryGauges(metrics, () => countPeerOpenWork(pool, most), [
    {
      name: 'tallystick_peer_dead_letters',
      help: `Entries that peers refused for good and that were not replayed; counted up to ${most}`,
      read: ({ deadLetters }) => deadLetters,
    },
    {
      name: 'tallystick_peer_offers_pending',
      help: `Steps offered to other ledgers and not decided yet; counted up to ${most}`,
      read: ({ offersPending }) => offersPending,
    },
  ])
  queryGauges(metrics, () => countAllForks(deps, pool), [
    {
      name: 'tallystick_peer_forks',
      help: `Entries of peers that contradict a stored one; counted up to ${PEER_FORKS_COUNTED_MAX}`,
      read: (forks) => forks,
    },
  ])
}

/**
 * Reasons why an entry of a peer was refused. These are the most useful of the codes in docs/formats/federation.md. All
 * other codes count as `other`.
 */
const REFUSALS = [
  'fork',
  'ledger_foreign',
  'key_unknown',
  'key_not_current',
  'signature_invalid',
  'not_shared',
  'not_home',
  'type_missing',
  'document_presence',
  'document_digest',
  'previous_mismatch',
  'transition_refused',
  'actor_not_entitled',
  'offer_unknown',
  'other',
] as const

export function makeReceptionObserver(metrics: Metrics): ReceiveDeps['observeReception'] {
  const entries = new Tally(['received', 'missing', 'refused'])
  readCounter(
    metrics,
    {
      name: 'tallystick_peer_entries_received_total',
      help: 'Entries that peers sent, by answer; repeated ones count as received',
    },
    () => entries.readings('outcome'),
  )
  const refusals = new Tally(REFUSALS)
  readCounter(
    metrics,
    {
      name: 'tallystick_peer_entries_refused_total',
      help: 'Refused entries of peers, by reason',
    },
    () => refusals.readings('code'),
  )
  return (outcomes) => {
    for (const outcome of outcomes) {
      entries.add(outcome.outcome)
      if (outcome.outcome === 'refused') refusals.add(knownOf(REFUSALS, outcome.code))
    }
  }
}

export function watchInbox(metrics: Metrics, inbox: Pick<Inbox, 'waiting'>): void {
  readGauge(
    metrics,
    { name: 'tallystick_peer_inbox_waiting', help: 'Requests of peers that wait to be processed' },
    () => inbox.waiting,
  )
  readGauge(
    metrics,
    {
      name: 'tallystick_peer_inbox_waiting_max',
      help: 'With so many waiting requests the next one is refused',
    },
    () => PEER_REQUESTS_WAITING_MAX,
  )
}
