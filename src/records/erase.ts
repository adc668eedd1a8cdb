import type pg from 'pg'
import type { IdempotencyRow } from '../db/append-entries.ts'
import { type ErasablePayload, type ErasureRow, findErasablePayload, getErasure } from '../db/erasures.ts'
import { ApiError } from '../errors.ts'
import { toHex } from '../proof/bytes.ts'
import { formatId } from '../proof/ids.ts'
import { type AdministerDeps, administer } from '../tenancy/administration.ts'
import type { Caller } from '../tenancy/caller.ts'

export type EraseDeps = AdministerDeps & { readonly readPool: pg.Pool }

type EraseRequest = {
  readonly recordId: Uint8Array
  readonly code: string
  /** Free text, unsigned: it could name whom the erasure protects. */
  readonly reason: string | null
  readonly idempotency: IdempotencyRow | null
}

/** `replayed`: by an earlier request with the same Idempotency-Key. */
type Erased = { readonly seq: number; readonly erasure: ErasureRow; readonly replayed: boolean }

/**
 * Erases a record's payload, and what lies with it: salt, metadata, references. Returns when the signed entry is committed; from
 * then on nobody is shown any of it, and the worker takes it away (src/erasure). Not to be undone.
 */
export async function erasePayload(deps: EraseDeps, caller: Caller, request: EraseRequest): Promise<Erased> {
  const { recordId, code, reason, idempotency } = request
  const record = formatId('rec', recordId)
  const { digest, seq, erasedSeq } = await getErasable(deps, caller, recordId)
  // With an Idempotency-Key the ledger decides: it may have been this very request.
  if (erasedSeq !== null && idempotency === null) throw alreadyErased(record, erasedSeq)
  const done = await administer(deps, caller, {
    kind: 'payload-erased',
    subject: { id: recordId, name: record, digest: toHex(digest) },
    predicate: { seq, code },
    detail: { document: 'payload', reason },
    idempotency,
  }).catch(async (error) => {
    const isLate = error instanceof ApiError && error.code === 'already_ended'
    throw isLate ? alreadyErased(record, (await getErasable(deps, caller, recordId)).erasedSeq!) : error
  })
  const at = done.replayed ? done.seq : done.entry.seq
  return { seq: at, erasure: await getErasure(deps.readPool, caller.ledgerId, at), replayed: done.replayed }
}

async function getErasable(deps: EraseDeps, caller: Caller, recordId: Uint8Array): Promise<ErasablePayload> {
  const found = await findErasablePayload(deps.readPool, caller.ledgerId, recordId)
  if (found) return found
  throw new ApiError('not_found', `the ledger has no record ${formatId('rec', recordId)}`)
}

function alreadyErased(record: string, seq: number): ApiError {
  return new ApiError('already_ended', `the payload of ${record} was erased by the entry ${seq}`, {
    members: { seq },
  })
}
