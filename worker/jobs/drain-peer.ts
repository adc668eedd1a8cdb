import type { Payload } from '../../src/db/jobs/queues.ts'
import type { PeerDrains } from '../../src/outside/federation/drain.ts'
import { parseId } from '../../src/proof/ids.ts'

/** The job's id is what the peering's turn was given to. */
export function drainPeerJob(drains: PeerDrains) {
  return ({ ledger, peer }: Payload<'drain-peer'>, jobId: string): Promise<void> =>
    drains.take({ ledgerId: parseId('led', ledger), peerId: parseId('peer', peer), jobId })
}
