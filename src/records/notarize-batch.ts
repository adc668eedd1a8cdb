import { appendOne } from '../append/append-one.ts'
import { requireRecent, sealEntry } from '../append/entry.ts'
import { Turn } from '../append/turn.ts'
import type { IdempotencyRow, RecordRow } from '../db/chain/append-entries.ts'
import { ApiError } from '../errors.ts'
import type { Caller } from '../ledgers/caller.ts'
import { BUILT_IN_TYPES, type RecordType } from '../ledgers/types/built-in.ts'
import type { Signer } from '../proof/crypto.ts'
import { formatId } from '../proof/ids.ts'
import { type BatchItem, batchRoot, itemBytes, itemLeaf } from '../proof/statement/batch.ts'
import { nativeProviders } from '../signing/native.ts'
import { toBase64Url, toHex } from '../signing/text-of-bytes.ts'
import { canonicalMetadata, parseTime, type SaltedDocument, saltDocument } from './documents.ts'
import { BATCH_TYPES_MAX } from './limits.ts'
import { NOTARIZED } from './new-record.ts'
import type { WriteDeps } from './notarize.ts'
import type { OnBehalfOf } from './on-behalf-of.ts'
import { renderBatch } from './render.ts'
import { getNotarizable, verifyPayload } from './typed-payload.ts'

type BatchRequestItem = {
  readonly type: string
  readonly payload: unknown
  readonly metadata?: unknown
  readonly occurredAt?: string | undefined
  readonly onBehalfOf?: string | undefined
}

type BatchRequest = {
  readonly items: readonly BatchRequestItem[]
  readonly onBehalfOf: ReadonlyMap<string, OnBehalfOf>
  readonly traceparent: string | null
  readonly idempotency: IdempotencyRow | null
}

type BatchResult = { readonly batch: string } | { readonly replayedSeq: number }

/**
 * Notarizes many records, all or nothing: one entry, one signature over the Merkle root of the items
 * (docs/formats/chain-and-checkpoints.md). Returns when they are committed.
 */
export async function notarizeBatch(
  deps: WriteDeps,
  caller: Caller,
  request: BatchRequest,
): Promise<BatchResult> {
  const items = await prepareItems(deps, caller, request.items)
  const build = (signer: Signer) => buildBatch(deps, signer, caller, { ...request, items })
  const written = await appendOne(deps, caller, build)
  if (written.replayed) return { replayedSeq: written.seq }
  return { batch: written.built.render(written.seq, written.chain) }
}

/** An item whose type was found, and whose payload is as the type wants it. */
type PreparedItem = Omit<BatchRequestItem, 'type' | 'payload'> & {
  readonly type: RecordType
  readonly payload: SaltedDocument
}

type PreparedBatch = Omit<BatchRequest, 'items'> & { readonly items: readonly PreparedItem[] }

/** Before the time is taken that is signed: the ledger may have to wait for its share of validation. */
async function prepareItems(
  deps: WriteDeps,
  caller: Caller,
  items: readonly BatchRequestItem[],
): Promise<PreparedItem[]> {
  const types = await findTypes(deps, caller, items)
  const prepared: PreparedItem[] = []
  const turn = new Turn()
  for (const [index, item] of items.entries()) {
    if (turn.isOver) await turn.next()
    const members = { index }
    const type = types.get(item.type)!
    const payload = saltDocument(deps.entropy, item.payload, undefined, members)
    const document = { value: item.payload, canonical: payload.canonical }
    const verified = verifyPayload(deps, caller, type, document, members)
    if (verified) {
      await verified
      // At the latest when it is signed; sooner, so that no more is held for it.
      requireRecent(caller, deps.now())
    }
    prepared.push({ ...item, type, payload })
  }
  return prepared
}

/** Each type once, in the order of the items. */
async function findTypes(
  deps: WriteDeps,
  caller: Caller,
  items: readonly BatchRequestItem[],
): Promise<ReadonlyMap<string, RecordType>> {
  const types = new Map<string, RecordType>()
  let registered = 0
  for (const [index, { type: name }] of items.entries()) {
    if (types.has(name)) continue
    if (!BUILT_IN_TYPES.has(name) && ++registered > BATCH_TYPES_MAX) {
      throw new ApiError('invalid_request', `a batch has records of at most ${BATCH_TYPES_MAX} types`, {
        members: { path: `/records/${index}/type`, index },
      })
    }
    const found = getNotarizable(deps, caller, name, { index })
    types.set(name, found instanceof Promise ? await found : found)
  }
  return types
}

async function buildBatch(deps: WriteDeps, signer: Signer, caller: Caller, request: PreparedBatch) {
  const recordedAtMs = deps.now()
  const records: RecordRow[] = []
  const views: { id: string; digest: string; salt: string }[] = []
  const leaves: Uint8Array[] = []
  const turn = new Turn()
  for (const [index, item] of request.items.entries()) {
    if (turn.isOver) await turn.next()
    const { record, view, leaf } = buildItem(deps, request, recordedAtMs, item, index)
    records.push(record)
    views.push(view)
    leaves.push(leaf)
  }

  const batchId = deps.entropy.uuidv7(recordedAtMs)
  const batch = formatId('bat', batchId)
  const { entry } = sealEntry(
    signer,
    caller,
    {
      kind: 'batch-notarized',
      subject: { id: batchId, name: batch, digest: toHex(batchRoot(nativeProviders.sha256, leaves)) },
      predicate: { batch, count: records.length, tree: 'RFC9162_SHA256' },
      idempotency: request.idempotency,
      event: NOTARIZED,
      records,
    },
    recordedAtMs,
  )
  const render = (seq: number, chain: string): string =>
    renderBatch({
      batch,
      entry: { seq, kind: 'batch-notarized', leaf: toHex(entry.leaf), chain },
      records: views,
    })
  return { entry, render }
}

function buildItem(
  deps: WriteDeps,
  request: PreparedBatch,
  recordedAtMs: number,
  item: PreparedItem,
  index: number,
) {
  const members = { index }
  const { type, payload } = item
  const metadata = canonicalMetadata(item.metadata, members)
  const occurredAtMs =
    item.occurredAt === undefined ? null : parseTime(item.occurredAt, `/records/${index}/occurredAt`, members)
  const recordId = deps.entropy.uuidv7(recordedAtMs)
  const id = formatId('rec', recordId)
  const digest = toHex(payload.digest)
  const signed: BatchItem = {
    record: id,
    type: type.name,
    digest,
    ...(item.onBehalfOf !== undefined && { onBehalfOf: item.onBehalfOf }),
    ...(occurredAtMs !== null && { occurredAt: new Date(occurredAtMs).toISOString() }),
    ...(request.traceparent !== null && { traceparent: request.traceparent }),
  }
  const record: RecordRow = {
    recordId,
    index,
    type: type.name,
    digest: payload.digest,
    salt: payload.salt,
    payload: payload.canonical,
    onBehalfOf: item.onBehalfOf === undefined ? null : request.onBehalfOf.get(item.onBehalfOf)!.agentId,
    occurredAtMs,
    traceparent: request.traceparent,
    metadata,
    parentId: null,
    references: null,
  }
  return {
    record,
    view: { id, digest, salt: toBase64Url(payload.salt) },
    leaf: itemLeaf(nativeProviders.sha256, itemBytes(signed)),
  }
}
