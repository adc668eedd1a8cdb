import { toHex } from '../../proof/bytes.ts'
import type { Sha256 } from '../../proof/crypto.ts'
import type { VerifiedEntry } from '../../proof/entry/verify-entry.ts'
import { parseId, type Uuid } from '../../proof/ids.ts'
import { compareRows } from './compare.ts'
import { partyUuid } from './signed.ts'
import type { Evidence } from './table.ts'

export type OfferColumns = {
  readonly peerId: Uuid
  readonly recordId: Uuid
  readonly version: number
  readonly step: string
  readonly agentId: Uuid
  readonly leaf: string
  readonly state: string
  readonly code: string | null
  readonly decidedSeq: number | null
}

/**
 * Evidence of the table `offers`. Compares all columns except the outcome. The outcome needs later entries
 * (src/verify/peer-states.ts).
 */
export const OFFERS: Evidence<OfferColumns & { seq: number }, OfferColumns> = {
  table: 'offers',
  sql: `select seq, peer_id, record_id, version, step, agent_id, encode(leaf, 'hex') as leaf, state, code, decided_seq
    from tallystick.offers where ledger_id = $1 order by seq`,
  columns: ({ seq: _, ...offer }) => offer,
  verify: (entry, rows, sha256) =>
    compareRows<Partial<OfferColumns>>('offers', rows, signedOffers(entry, sha256)),
}

function signedOffers({ statement, step }: VerifiedEntry, sha256: Sha256): Partial<OfferColumns>[] {
  const { kind, predicate } = statement
  if (kind !== 'step-offered') return []
  const offered = predicate as { peer: string; record: string; version: number; step: string }
  return [
    {
      peerId: parseId('peer', offered.peer),
      recordId: parseId('rec', offered.record),
      version: offered.version,
      step: offered.step,
      agentId: partyUuid(statement, sha256)!,
      leaf: toHex(step.leaf),
    },
  ]
}
