import { type Author, sealEntry } from '../../append/entry.ts'
import type { EntryRow } from '../../db/chain/append-entries.ts'
import type { ReceivedDetail } from '../../db/chain/entry-details.ts'
import type { RecordRowRead } from '../../db/records/read-records.ts'
import { ApiError } from '../../errors.ts'
import type { Signer } from '../../proof/crypto.ts'
import { partyOf } from '../../proof/statement/statement.ts'
import { buildOfferedStep, type OfferedStepDeps } from '../../records/gated/offered-step.ts'
import { type JudgedEvidence, requireJudged } from './judge-evidence.ts'
import { type ProposedEntry, receivedOf } from './proposed.ts'

type ReceivedOffer = {
  readonly signer: Signer
  readonly author: Author
  readonly proposed: ProposedEntry
  /** The record as the transaction reads it. null if the record does not exist. */
  readonly row: RecordRowRead | null
  readonly evidence: JudgedEvidence
  readonly receivedRow: ReceivedDetail
}

/**
 * Makes the entry that answers a peer's offer: the step itself, or a refusal. The refusal has the code that an agent
 * of this ledger would get for the same step.
 */
export async function answerOffer(
  deps: Pick<OfferedStepDeps, 'now'>,
  offer: ReceivedOffer,
): Promise<EntryRow> {
  try {
    return await takeOffer(deps, offer)
  } catch (error) {
    // An error on our side (status 500 and above) does not refuse the offer.
    if (error instanceof ApiError && error.status < 500) return refuseOffer(deps, offer, error.code)
    throw error
  }
}

async function takeOffer(
  deps: Pick<OfferedStepDeps, 'now'>,
  { signer, author, proposed, row, evidence, receivedRow }: ReceivedOffer,
): Promise<EntryRow> {
  const { seq, leaf, statement, document } = proposed
  const record = proposed.record!
  const { peer, step, version, previous, completion } = statement.predicate as {
    peer: string
    step: 'record-activated' | 'completion-submitted'
    version: number
    previous: string
    completion?: string
  }
  if (!row) throw new ApiError('not_found', `the ledger has no record ${record.name}`)
  if (step === 'completion-submitted' && document === null)
    throw new ApiError('evidence_invalid', 'the evidence was erased before it arrived')
  return buildOfferedStep(deps, signer, author, row, {
    peer,
    ledger: statement.ledger,
    seq,
    leaf,
    agent: `${statement.ledger}/${partyOf(statement)}`,
    step,
    version,
    previous,
    payload: statement.subjects[0].sha256,
    completion: completion === undefined ? null : { id: completion, evidence: document! },
    requireEvidence: () => requireJudged(evidence, proposed),
    receivedRow,
  })
}

function refuseOffer(
  deps: Pick<OfferedStepDeps, 'now'>,
  { signer, author, proposed, receivedRow }: ReceivedOffer,
  code: string,
): EntryRow {
  const received = receivedOf(proposed)
  const { peer } = proposed.statement.predicate
  const { entry } = sealEntry(
    signer,
    author,
    {
      kind: 'offer-refused',
      subject: { id: null, name: `${received.ledger}/${received.seq}`, digest: received.leaf },
      predicate: { peer, record: received.record, code, received },
      detail: { received: receivedRow },
    },
    deps.now(),
  )
  return entry
}
