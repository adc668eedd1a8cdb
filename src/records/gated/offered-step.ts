import type { EntryRow } from '../../db/chain/append-entries.ts'
import type { ReceivedDetail } from '../../db/chain/entry-details.ts'
import type { RecordRowRead } from '../../db/records/read-records.ts'
import { ApiError } from '../../errors.ts'
import { fromHex } from '../../proof/bytes.ts'
import type { Signer } from '../../proof/crypto.ts'
import { formatId, parseId, type Uuid } from '../../proof/ids.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { DOCUMENT_BYTES_MAX } from '../../proof/request-limits.ts'
import { isObject } from '../../proof/statement/fields.ts'
import type { OfferedStep, RecordState } from '../../proof/statement/kinds.ts'
import { isOfferedCompletionId } from '../../proof/statement/offered-completions.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { SignedLedger } from '../../signing/signers.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import { deadlineError, overtakenError, refuseStep } from '../lifecycle.ts'
import { agentIdOf } from '../read/agent-ids.ts'
import { getType, type TypeDeps, verifyEvidence } from '../write/typed-payload.ts'
import { isDigestsOnly, isWeakSalt } from './share.ts'
import { type NamedDocument, signEvent } from './sign-step.ts'

export type OfferedStepDeps = TypeDeps & { readonly now: () => number }
type Clock = Pick<OfferedStepDeps, 'now'>

/**
 * Facts that the home ledger needs from a peer's verified `step-offered` entry. Ids are TypeIDs, hashes are in
 * lower-case hex.
 */
export type Offer = {
  readonly peer: string
  /** Id of the offering ledger. `seq` and `leaf` identify the offer in that ledger. */
  readonly ledger: string
  readonly seq: number
  readonly leaf: string
  /** Party of the step: an agent of the offering ledger, `led_…/agt_…`. */
  readonly agent: string
  readonly step: OfferedStep
  /** Version that the record would have after the step. */
  readonly version: number
  /** Leaf of the record's last entry at the time of the offer. */
  readonly previous: string
  readonly payload: string
  /** The offered completion. null if the step is not a completion. */
  readonly completion: OfferedCompletion | null
  /**
   * Throws if the earlier check of the evidence failed. The check itself may take long, so it is made before the
   * transaction in which this function is called.
   */
  readonly requireEvidence: () => void
  /** Member `received` of the entry's detail (migrations/functions/append-received.sql). */
  readonly receivedRow: ReceivedDetail
}

/** Completion in an offer. `id`: id that the peer chose. `evidence`: canonical JSON that matches the signed digest. */
type OfferedCompletion = {
  readonly id: string
  readonly evidence: {
    readonly value: JsonValue
    readonly canonical: string
    readonly salt: Uint8Array
    readonly digest: string
  }
}

type Home = SignedLedger & { readonly ledger: string; readonly issuer: string }

/**
 * Builds and signs the step that accepts an offer, in the form that append_entries accepts. The entry belongs to the
 * home ledger. Its actor is the remote agent, which has no key here. Throws the ApiError that an agent of the home
 * would get for this step.
 *
 * If the record gets another entry after `row` was read, append_entries answers `stale` or `again`. If the deadline has
 * passed by the database's clock, it answers `refused_deadline`. In both cases the offer must be decided again.
 */
export async function buildOfferedStep(
  deps: Clock,
  signer: Signer,
  home: Home,
  row: RecordRowRead,
  offer: Offer,
): Promise<EntryRow> {
  const { step, agent } = offer
  const agentId = agentIdOf(agent)
  const recordedAtMs = deps.now()
  refuseOffer(row, offer, { agentId, recordedAtMs })
  const document = step === 'completion-submitted' ? verifyCompletion(row, offer) : null
  const { recordId } = row
  const { ledger, ledgerId, issuer, envelopeKid } = home
  const author = { ledger, ledgerId, issuer, envelopeKid, agent, agentId, offer: takenOf(offer) }
  const { entry } = signEvent(signer, author, {
    kind: step,
    record: formatId('rec', recordId),
    recordId,
    digest: toHex(row.digest),
    version: row.version + 1,
    from: row.state as RecordState,
    to: step === 'record-activated' ? 'ACTIVE' : 'SUBMITTED',
    previous: toHex(row.leaf),
    recordedAtMs,
    onBehalfOf: null,
    subjects: [],
    document,
    predicate: document ? { completion: document.subject } : {},
    idempotency: null,
    detail: {
      received: offer.receivedRow,
      // If the terms name no performer, the agent that activates the record becomes its performer.
      ...(step === 'record-activated' && row.performerId === null && { performer: agent }),
    },
  })
  return entry
}

function takenOf({ peer, ledger, seq, leaf }: Offer) {
  return { peer, ledger, seq, leaf }
}

/** Throws if the step is not allowed. The checks have the same order as for a step of a local agent. */
function refuseOffer(
  row: RecordRowRead,
  { step: kind, version, previous, payload, peer }: Offer,
  { agentId, recordedAtMs }: { readonly agentId: Uuid; readonly recordedAtMs: number },
): void {
  if (!row.share?.some(({ peerId }) => formatId('peer', peerId) === peer))
    throw new ApiError('not_entitled', `the record is not shared with ${peer}`, {
      members: { role: 'performer' },
    })
  refuseStep(row, { kind, partyId: agentId, actorId: agentId, ifVersions: null })
  // The offer follows an entry that is not the record's last entry. Either the record has a newer entry, or the peer
  // received a different entry.
  if (version !== row.version + 1 || previous !== toHex(row.leaf)) throw overtakenError(row)
  if (row.deadline !== null && row.deadline.getTime() <= recordedAtMs) throw deadlineError(row)
  // The offer must repeat the digest of the record's payload, because verifiers compare the two digests.
  if (payload !== toHex(row.digest))
    throw new ApiError(
      'invalid_request',
      `the offer names the payload digest ${payload}, but the record has another payload`,
    )
}

/**
 * Throws `evidence_invalid` if the record's type refuses the evidence. May wait until the ledger may use CPU time for
 * its types again.
 */
export async function verifyOfferedEvidence(
  deps: OfferedStepDeps,
  home: Pick<Home, 'ledger' | 'ledgerId'>,
  row: RecordRowRead,
  { value, canonical }: Pick<OfferedCompletion['evidence'], 'value' | 'canonical'>,
): Promise<void> {
  if (!isObject(value)) throw new ApiError('evidence_invalid', 'evidence must be a JSON object')
  const type = await getType(deps, home, row.type)
  await verifyEvidence(deps, home, type, { value, canonical })
}

function verifyCompletion(row: RecordRowRead, offer: Offer): NamedDocument {
  const { completion } = offer
  if (completion === null) throw new Error('a completion must be offered with its evidence')
  const { canonical, salt, digest } = completion.evidence
  const bytes = Buffer.byteLength(canonical)
  if (bytes > DOCUMENT_BYTES_MAX)
    throw new ApiError(
      'document_too_large',
      `the evidence has ${bytes} bytes; at most ${DOCUMENT_BYTES_MAX} are allowed`,
    )
  if (isDigestsOnly(row.share) && isWeakSalt(salt))
    throw new ApiError(
      'weak_salt',
      'the salt of the evidence can be guessed, and peers see the digest of the evidence',
    )
  offer.requireEvidence()
  const subjectId = parseId('cmp', completion.id)
  // The peer chose the completion's id, so it must be checked that the id was made from `facts`. If two completions had
  // the same id, the ledger's export could not be verified.
  const facts = {
    ledger: offer.ledger,
    record: formatId('rec', row.recordId),
    version: offer.version,
    digest,
  }
  if (!isOfferedCompletionId(nativeProviders.sha256, facts, completion.id))
    throw new ApiError(
      'invalid_request',
      `${completion.id} is not the id that docs/formats/federation.md gives this completion`,
    )
  return {
    name: 'evidence',
    subject: completion.id,
    subjectId,
    canonical,
    salt,
    digest: fromHex(digest),
  }
}
