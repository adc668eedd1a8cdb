import type { IdempotencyRow } from '../../db/chain/append-entries.ts'
import { listChosenSalts } from '../../db/peers/shares.ts'
import type { RecordRowRead, ShareColumn } from '../../db/records/read-records.ts'
import { ApiError, type ErrorCode } from '../../errors.ts'
import { administer } from '../../ledgers/administration.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { isOfBatch } from '../../proof/statement/batch-ids.ts'
import { parseRemoteAgent } from '../../proof/statement/remote-agents.ts'
import { partyOf as signedPartyOf } from '../../proof/statement/statement.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import { SHARE_PEERS_MAX } from '../limits.ts'
import { findVisibleRecord, type RecordJson } from '../read/read.ts'
import { findFirstOutcome } from '../write/first-outcome.ts'
import { type OnBehalfOf, partyOf } from '../write/on-behalf-of.ts'
import { type Current, getForStep } from './current.ts'
import {
  isDigestsOnly,
  isWeakSalt,
  resolveShare,
  type SharedWith,
  type ShareRequest,
  shareDetail,
  sharePredicate,
} from './share.ts'
import type { StepDeps } from './take-step.ts'
import { integrityFault, requireOf, verifySigned } from './verify-state.ts'

type ShareRecordRequest = {
  readonly recordId: Uuid
  readonly onBehalfOf: OnBehalfOf | null
  readonly share: ShareRequest
  readonly idempotency: IdempotencyRow | null
}

/**
 * The record as it is now. Sharing is not a step and makes no version, so a replay cannot return an earlier version.
 */
export type SharedRecord = RecordJson & { readonly replayed: boolean }

/** Error codes that a retry may get although an earlier try of the same request succeeded. */
const REFUSED: ReadonlySet<ErrorCode> = new Set(['already_shared', 'peer_not_active'])

/**
 * Shares a record with more peers, from the record's first entry on. The record may have ended. Sharing is final.
 * Returns when the signed entry is committed. Throws ApiError.
 */
export async function shareRecord(
  deps: StepDeps,
  caller: Caller,
  request: ShareRecordRequest,
): Promise<SharedRecord> {
  const replayed = await appendShared(deps, caller, request).catch(async (error) => {
    const isRefused = error instanceof ApiError && REFUSED.has(error.code)
    if (isRefused && (await findFirstOutcome(deps, caller, request.idempotency))) return true
    throw error
  })
  const found = await findVisibleRecord(deps, caller.ledgerId, request.recordId, null)
  if (!found) throw new Error('a record that was shared is gone')
  return { record: await found.render(), version: found.version, replayed }
}

/** Appends the entry. Returns true if an earlier request with the same Idempotency-Key had appended it. */
async function appendShared(deps: StepDeps, caller: Caller, request: ShareRecordRequest): Promise<boolean> {
  const { recordId, onBehalfOf } = request
  const current = await getForStep(deps, caller, request)
  const { row, record } = current
  refuseUnshareable(row, record)
  if (partyOf(caller, onBehalfOf) !== row.principalId)
    throw new ApiError('not_entitled', 'only the principal of a record can share it', {
      members: { role: 'principal' },
    })
  refuseShared(row.share ?? [], request.share)
  const share = (await resolveShare(deps, caller, request.share, request.idempotency))!
  refuseNewPeeringAfterSteps(row, share)
  if (isDigestsOnly(share)) await refuseWeakSalts(deps, caller, recordId)
  await verifyCreation(deps, caller, current)
  const { replayed } = await administer(deps, caller, administrationOf(current, request, share))
  return replayed
}

function refuseUnshareable({ gate, recordId }: RecordRowRead, record: string): void {
  if (gate !== null) return
  const what = isOfBatch(recordId) ? 'is an item of a batch' : 'was notarized'
  throw new ApiError('not_shareable', `${record} ${what}: show the peer the record's proof instead`)
}

function refuseShared(shared: readonly ShareColumn[], request: ShareRequest): void {
  const peers = new Set(shared.map(({ peerId }) => formatId('peer', peerId)))
  for (const [i, { peer }] of request.entries()) {
    if (!peers.has(peer)) continue
    throw new ApiError('already_shared', `the record is already shared with ${peer}`, {
      members: { path: `/share/${i}/peer` },
    })
  }
  if (peers.size + request.length <= SHARE_PEERS_MAX) return
  const detail = `/share: the record is already shared with ${peers.size} peers; at most ${SHARE_PEERS_MAX} are allowed in all`
  throw new ApiError('invalid_request', detail, { members: { path: '/share' } })
}

/**
 * Throws if the record would be shared with the performer's ledger through a new peering, although the performer has
 * already taken steps. The performer's ledger accepts the answer to an offered step only through the peering of the
 * offer. So in that ledger the record would stay in its first state forever.
 */
function refuseNewPeeringAfterSteps(
  { version, state, performerRemote }: RecordRowRead,
  share: readonly SharedWith[],
): void {
  const performer = performerRemote === null ? null : parseRemoteAgent(performerRemote)
  const anew = share.find(({ ledger }) => ledger === performer?.ledger)
  const isBegun = state === 'ACTIVE' || version > 2
  if (!anew || !isBegun) return
  throw new ApiError(
    'state_conflict',
    `the performer ${performerRemote} took steps through a peering that has ended, and ${anew.peer} cannot continue that peering: cancel the record, and create another one`,
  )
}

/**
 * Throws if a document has a weak salt. Salts of erased documents were deleted with the documents and cannot be
 * checked.
 */
async function refuseWeakSalts({ readPool }: StepDeps, { ledgerId }: Caller, recordId: Uuid): Promise<void> {
  const salts = await listChosenSalts(readPool, ledgerId, recordId)
  if (!salts.some(isWeakSalt)) return
  throw new ApiError(
    'weak_salt',
    'a salt that was sent with the record can be guessed: share the record with its documents (`whole`)',
  )
}

/**
 * Verifies the entry that created the record. Without this check, an attacker who can write columns could have another
 * record shared.
 */
async function verifyCreation(
  { lookups, envelopeKeys }: StepDeps,
  { ledger, ledgerId }: Caller,
  { row, record }: Current,
): Promise<void> {
  try {
    const line = await lookups.findCreation(ledgerId, row)
    if (!line) throw new ProofError('columns_contradict_entries', `no entry has created ${record}`)
    const created = await verifySigned(envelopeKeys, line)
    requireOf(created, 'record-created', { ledger, record })
    const signed = [created.subjects[0].sha256, signedPartyOf(created)].join(' ')
    const found = [toHex(row.digest), formatId('agt', row.principalId!)].join(' ')
    if (signed !== found)
      throw new ProofError(
        'columns_contradict_entries',
        `the record was created with the payload and principal ${signed}, but the database has ${found}`,
      )
  } catch (error) {
    integrityFault(error)
  }
}

function administrationOf(
  { row, record }: Current,
  { recordId, onBehalfOf, idempotency }: ShareRecordRequest,
  share: readonly SharedWith[],
) {
  return {
    kind: 'record-shared',
    subject: { id: recordId, name: record, digest: toHex(row.digest) },
    predicate: {
      ...(onBehalfOf && { onBehalfOf: onBehalfOf.agent }),
      record,
      share: sharePredicate(share),
    },
    detail: { share: shareDetail(share) },
    idempotency,
  } as const
}
