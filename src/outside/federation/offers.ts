import { type AppendDeps, appendOne } from '../../append/append-one.ts'
import { explainConstraint } from '../../db/connect/constraints.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { Signer } from '../../proof/crypto.ts'
import { formatId, parseId, type Uuid } from '../../proof/ids.ts'
import type { OfferedStep } from '../../proof/statement/kinds.ts'
import { COMPLETION_NONCE_BYTES, offeredCompletionId } from '../../proof/statement/offered-completions.ts'
import { saltDocument } from '../../records/documents.ts'
import { refuseWeakSalt } from '../../records/gated/share.ts'
import type { NamedDocument } from '../../records/gated/sign-step.ts'
import type { StepInput } from '../../records/gated/steps.ts'
import { refuseMove } from '../../records/lifecycle.ts'
import type { RecordJson } from '../../records/read/read.ts'
import { findFirstOutcome } from '../../records/write/first-outcome.ts'
import { partyOf } from '../../records/write/on-behalf-of.ts'
import type { Entropy } from '../../signing/entropy.ts'
import { nativeProviders } from '../../signing/native.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import {
  findRemoteRecord,
  isOwn,
  type RemoteReadDeps,
  type RemoteRecord,
  readRemoteSteps,
  remoteName,
  remoteStatusOf,
  renderRemote,
} from './remote-records.ts'
import { columnsOf, signOffer } from './sign-offer.ts'

/*
 * The functions below offer steps that an agent of this ledger takes on a record of another ledger
 * (docs/formats/federation.md). Each offer is one signed entry of this ledger. It has no effect until the home appends
 * the step.
 */

type OfferDeps = AppendDeps & RemoteReadDeps & { readonly entropy: Entropy; readonly now: () => number }

/**
 * The record as this ledger knows it, with its newest offer. `replayed`: true if an earlier request with the same
 * idempotency key made the offer.
 */
export type OfferResult = RecordJson & { readonly replayed: boolean }

/** Request for an offer. `peerId` has the same meaning as in RemoteRecordQuery. */
export type OfferRequest = StepInput & { readonly peerId?: Uuid | undefined }

/** Offers to activate a record. Returns null if the caller can see no record of another ledger with this id. */
export function offerActivation(
  deps: OfferDeps,
  caller: Caller,
  about: OfferRequest,
): Promise<OfferResult | null> {
  return offer(deps, caller, about, 'record-activated', () => null)
}

/**
 * Offers a completion. Returns null in the same case as offerActivation. Also throws `document_too_large` and
 * `weak_salt`. The home decides whether the evidence fits the type.
 */
export function offerCompletion(
  deps: OfferDeps,
  caller: Caller,
  about: OfferRequest & { readonly evidence: unknown; readonly salt?: string | undefined },
): Promise<OfferResult | null> {
  return offer(deps, caller, about, 'completion-submitted', ({ row }) => {
    if (row.documents === 'digests') refuseWeakSalt(about.salt)
    const salted = saltDocument(deps.entropy, about.evidence, about.salt)
    const record = formatId('rec', about.recordId)
    const place = { ledger: caller.ledger, record, version: row.version + 1, digest: toHex(salted.digest) }
    const nonce = deps.entropy.bytes16().subarray(0, COMPLETION_NONCE_BYTES)
    const subject = offeredCompletionId(nativeProviders.sha256, place, nonce)
    return { ...salted, name: 'evidence', subject, subjectId: parseId('cmp', subject) }
  })
}

/**
 * Throws `not_home`, because only the home can take this step. Returns null if the caller can see no record of another
 * ledger with this id.
 */
export async function refuseAtGuest(
  deps: RemoteReadDeps,
  caller: Caller,
  about: OfferRequest,
): Promise<null> {
  const record = await findForStep(deps, caller, about)
  if (!record) return null
  throw new ApiError(
    'not_home',
    `the home of the record is ${record.home}: only that ledger takes this step`,
    {
      members: { ledger: record.home },
    },
  )
}

async function findForStep(
  deps: RemoteReadDeps,
  caller: Caller,
  { recordId, peerId, onBehalfOf }: OfferRequest,
): Promise<RemoteRecord | null> {
  const party = partyOf(caller, onBehalfOf)
  const record = await findRemoteRecord(deps, { ...caller, recordId, peerId, agentId: party })
  if (!record || caller.scopes.has('records:read') || caller.scopes.has('verdicts:overturn')) return record
  const isOpen = record.gated.performer === null
  return isOpen || isOwn(record, party) || isOwn(record, caller.agentId) ? record : null
}

async function offer(
  deps: OfferDeps,
  caller: Caller,
  about: OfferRequest,
  step: OfferedStep,
  documentOf: (record: RemoteRecord) => NamedDocument | null,
): Promise<OfferResult | null> {
  const record = await findForStep(deps, caller, about)
  if (!record) return null
  if (about.occurredAt !== undefined)
    throw new ApiError('invalid_request', 'leave out occurredAt: an offer has none', {
      members: { path: '/occurredAt' },
    })
  const offered = { ...about, step, document: documentOf(record), record }
  const build = (signer: Signer) => {
    refuseOffer(record, caller, about, step)
    return { entry: signOffer(signer, caller, offered, deps.now()) }
  }
  try {
    const steps = await readRemoteSteps(deps, caller.ledgerId, record)
    const { replayed, seq, built } = await appendOne(deps, caller, build)
    if (replayed) return await showNow(deps, caller, about)
    const row = { ...record.row, ...columnsOf(caller, offered, seq, built.entry) }
    return { record: renderRemote(deps, { ...record, row }, steps), version: row.version, replayed: false }
  } catch (error) {
    return await explainRefusal(deps, caller, about, explainConstraint(error))
  }
}

/**
 * Returns the result of an earlier offer with the same idempotency key, in whatever state the record is now. Throws
 * `error` if there was no such offer.
 */
async function explainRefusal(
  deps: OfferDeps,
  caller: Caller,
  about: OfferRequest,
  error: unknown,
): Promise<OfferResult> {
  if (!(error instanceof ApiError && REFUSED.has(error.code))) throw error
  const first = await findFirstOutcome(deps, caller, about.idempotency)
  if (first) return showNow(deps, caller, about)
  throw error
}

const REFUSED: ReadonlySet<string> = new Set([
  'not_entitled',
  'version_mismatch',
  'state_conflict',
  'peer_not_active',
  'offer_pending',
])

async function showNow(
  deps: OfferDeps,
  caller: Caller,
  { recordId, peerId }: OfferRequest,
): Promise<OfferResult> {
  const record = await findRemoteRecord(deps, { ...caller, recordId, peerId })
  if (!record) throw new Error(`an offer of ${formatId('rec', recordId)}, which does not exist`)
  const steps = await readRemoteSteps(deps, caller.ledgerId, record)
  return { record: renderRemote(deps, record, steps), version: record.row.version, replayed: true }
}

/**
 * Throws ApiError if the record's known state rules out the offer, so that the home gets no useless offers. The home
 * checks deadlines by its own clock.
 *
 * The codes are, in the order of the checks: `not_entitled`, `version_mismatch`, `state_conflict`, `peer_not_active`,
 * `offer_pending`.
 */
function refuseOffer(
  record: RemoteRecord,
  caller: Caller,
  { ifVersions, onBehalfOf }: StepInput,
  step: OfferedStep,
): void {
  const { row, ledger, gated, home } = record
  const isOpen = step === 'record-activated' && gated.performer === null
  if (!isOpen && gated.performer !== remoteName(ledger, partyOf(caller, onBehalfOf))) {
    throw new ApiError('not_entitled', `only the performer can take the step ${step}`, {
      members: { role: 'performer' },
    })
  }
  refuseMove(row, remoteStatusOf(record), { kind: step, ifVersions })
  if (row.peerState !== 'active') {
    throw new ApiError('peer_not_active', `the peering with ${home} is ${row.peerState}`)
  }
  if (row.offerState === 'pending') throw offerPending(row.offerSeq)
}

function offerPending(seq: number): ApiError {
  return new ApiError('offer_pending', 'another step was offered, and its home has not decided yet', {
    retryable: true,
    retryAfterMs: 1_000,
    members: { seq },
  })
}
