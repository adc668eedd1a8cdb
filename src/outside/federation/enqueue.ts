import type { LeaseJobs } from '../../db/jobs/lease-jobs.ts'
import { PEER_LEASES, type PeerLease } from '../../db/peers/peer-leases.ts'
import { formatId } from '../../proof/ids.ts'
import { PEER_JOBS_QUEUED_MAX, PEER_LEASE_MS } from './limits.ts'

export const PEER_JOBS: LeaseJobs<'drain-peer', PeerLease> = {
  table: PEER_LEASES,
  queue: 'drain-peer',
  queuedMax: PEER_JOBS_QUEUED_MAX,
  leaseMs: PEER_LEASE_MS,
  payloadOf: ({ ledgerId, peerId }) => ({
    ledger: formatId('led', ledgerId),
    peer: formatId('peer', peerId),
  }),
}
