import type pg from 'pg'
import type { IdempotencyRow } from '../../db/chain/append-entries.ts'
import {
  type ErasableRow,
  type ErasureRow,
  findErasable,
  getErasure,
  listErasable,
} from '../../db/records/erasures.ts'
import { listHoldsOn } from '../../db/records/retention-rules.ts'
import { ApiError } from '../../errors.ts'
import { type AdministerDeps, administer } from '../../ledgers/administration.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { ERASABLE_LISTED_MAX } from '../limits.ts'
import { erasureEntry } from './erasure-entry.ts'

export type EraseDeps = AdministerDeps & { readonly readPool: pg.Pool }

/**
 * Document of a record that is to be erased. A record may have many reasons, so `seq` names the entry with the reason.
 */
export type ErasureTarget =
  | { readonly document: 'payload' }
  | { readonly document: 'evidence' | 'values'; readonly completionId: Uuid }
  | { readonly document: 'reason'; readonly seq: number }

type EraseRequest = {
  readonly recordId: Uuid
  readonly target: ErasureTarget
  readonly code: string
  /**
   * Free text that says why the document is erased. It is unsigned, because it could name the person whom the erasure
   * protects.
   */
  readonly reason: string | null
  readonly idempotency: IdempotencyRow | null
}

/** A document that can be erased, in the form of an answer. `address`: path to which a DELETE must be sent. */
export type ErasableView = {
  readonly document: ErasureTarget['document']
  readonly seq: number
  readonly completion: string | null
  readonly address: string
}

type Erased = {
  readonly seq: number
  readonly erasure: ErasureRow
  /** True if an earlier request with the same Idempotency-Key erased the document. */
  readonly replayed: boolean
  /** Other documents of the record that were still stored when the entry was appended. */
  readonly remaining: readonly ErasableView[]
}

/**
 * Erases a document of a record together with its salt. With a payload, its metadata and references are erased too.
 * Returns when the signed entry is committed. From then on nobody can read the document. The worker deletes it later
 * (src/followers/erasure). An erasure is final.
 */
export async function eraseDocument(deps: EraseDeps, caller: Caller, request: EraseRequest): Promise<Erased> {
  const { recordId, code, reason, idempotency } = request
  const erasable = await getErasable(deps, caller, request)
  const { erasedSeq } = erasable
  // If the request has an Idempotency-Key, only the database can decide whether the request is refused: an earlier try
  // of the same request may have erased the document.
  if (erasedSeq !== null && idempotency === null) throw await alreadyErased(deps, caller, request)
  if (erasedSeq === null) {
    refuseNeeded(erasable)
    // The database makes the final decision. But if the database refuses an entry, the server must commit the rest of
    // the commit batch again, in halves. This earlier check of the holds avoids that in most cases.
    const held = await holdErrorOf(deps, caller, recordId, erasable)
    if (held) throw held
  }
  const done = await administer(deps, caller, {
    ...erasureEntry(recordId, erasable, { code, reason, rule: null }),
    idempotency,
  }).catch(async (error) => {
    const code = error instanceof ApiError && error.code
    if (code === 'held') throw (await holdErrorOf(deps, caller, recordId, erasable)) ?? holdLiftedError()
    throw code === 'already_ended' ? await alreadyErased(deps, caller, request) : error
  })
  const at = done.replayed ? done.seq : done.entry.seq
  const [erasure, remaining] = await Promise.all([
    getErasure(deps.readPool, caller.ledgerId, at),
    listRemaining(deps, caller, recordId, at),
  ])
  return { seq: at, erasure, replayed: done.replayed, remaining }
}

/** Returns the error that names the legal holds on the record. Returns null if there are none. */
async function holdErrorOf(
  { readPool }: EraseDeps,
  { ledgerId }: Caller,
  recordId: Uuid,
  erasable: ErasableRow,
): Promise<ApiError | null> {
  const holds = await listHoldsOn(readPool, ledgerId, recordId, erasable)
  const [first] = holds
  if (!first) return null
  return new ApiError(
    'held',
    `the legal hold of entry ${first.seq} for the case ${first.caseId} prevents the erasure`,
    {
      retryable: false,
      members: { holds: holds.map(({ seq, caseId }) => ({ seq, case: caseId })) },
    },
  )
}

/**
 * Returns the error for an erasure that the database refused because of a hold, if the hold was lifted before the
 * server could name it.
 */
function holdLiftedError(): ApiError {
  return new ApiError(
    'held',
    'a hold prevented the erasure and was lifted meanwhile: send the request again',
    {
      retryable: true,
      members: { holds: [] },
    },
  )
}

type ErasureKey = Pick<EraseRequest, 'recordId' | 'target'>

async function getErasable(
  { readPool }: EraseDeps,
  { ledgerId }: Caller,
  { recordId, target }: ErasureKey,
): Promise<ErasableRow> {
  const found = await findErasable(readPool, ledgerId, recordId, {
    document: target.document,
    subjectId: 'completionId' in target ? target.completionId : recordId,
    seq: 'seq' in target ? target.seq : null,
  })
  if (found) return found
  throw new ApiError('not_found', `the ledger has no ${nameOf(target)} of ${formatId('rec', recordId)}`)
}

/**
 * Throws `offer_pending` or `not_home` if the document is evidence that was offered to another ledger and is still
 * needed.
 */
function refuseNeeded({ subjectId, seq, needed }: ErasableRow): void {
  if (needed === null) return
  const evidence = `the evidence of ${formatId('cmp', subjectId)}, offered by entry ${seq},`
  if (needed === 'by the decision') {
    throw new ApiError(
      'offer_pending',
      `${evidence} is needed until the ledger that owns the record has decided`,
      {
        retryable: true,
        retryAfterMs: 1_000,
        members: { seq },
      },
    )
  }
  throw new ApiError(
    'not_home',
    `${evidence} is also in the ledger that owns the record: first let that ledger erase the document`,
  )
}

/**
 * Returns the error for a document that was erased before. The error lists the documents that remain now, because the
 * worker may have added compared values to a completion meanwhile.
 */
async function alreadyErased(deps: EraseDeps, caller: Caller, request: ErasureKey): Promise<ApiError> {
  const { erasedSeq: seq } = await getErasable(deps, caller, request)
  const remaining = await listRemaining(deps, caller, request.recordId, Number.MAX_SAFE_INTEGER)
  const erased = `the ${nameOf(request.target)} of ${formatId('rec', request.recordId)}`
  return new ApiError('already_ended', `${erased} was erased by entry ${seq}`, {
    members: { seq, remaining },
  })
}

async function listRemaining(
  { readPool }: EraseDeps,
  { ledgerId }: Caller,
  recordId: Uuid,
  before: number,
): Promise<ErasableView[]> {
  const rows = await listErasable(readPool, ledgerId, recordId, { before, limit: ERASABLE_LISTED_MAX })
  return rows.map((row) => viewOf(recordId, row))
}

export function viewOf(recordId: Uuid, { document, subjectId, seq }: ErasableRow): ErasableView {
  const record = `/v1/records/${formatId('rec', recordId)}`
  if (document === 'payload') return { document, seq, completion: null, address: `${record}/payload` }
  if (document === 'reason')
    return { document, seq, completion: null, address: `${record}/entries/${seq}/reason` }
  const completion = formatId('cmp', subjectId)
  return { document, seq, completion, address: `${record}/completions/${completion}/${document}` }
}

function nameOf(target: ErasureTarget): string {
  if ('completionId' in target) return `${target.document} of ${formatId('cmp', target.completionId)}`
  return 'seq' in target ? `reason in entry ${target.seq}` : 'payload'
}
