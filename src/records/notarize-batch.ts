import { appendOne } from '../append/append-one.ts'
import type { IdempotencyRow, RecordRow } from '../db/append-entries.ts'
import { type BatchItem, batchRoot, itemBytes, itemLeaf } from '../proof/batch.ts'
import { formatId } from '../proof/ids.ts'
import { nativeProviders } from '../signing/native.ts'
import type { Caller } from '../tenancy/caller.ts'
import { canonicalMetadata, parseTime, saltDocument } from './documents.ts'
import type { WriteDeps } from './notarize.ts'
import type { OnBehalfOf } from './on-behalf-of.ts'
import { renderBatch } from './render.ts'
import { signNotarization } from './sign-notarization.ts'
import { toBase64Url, toHex } from './text-of-bytes.ts'
import { getNotarizableType } from './types.ts'

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

/** Items built between two turns of the event loop: a large batch may not hold up everybody else's requests. */
const ITEMS_PER_TURN = 200

/**
 * Notarizes many records, all or nothing: one entry, one signature over the Merkle root of the items
 * (docs/formats/chain-and-checkpoints.md). Returns when they are committed.
 */
export async function notarizeBatch(
  deps: WriteDeps,
  caller: Caller,
  request: BatchRequest,
): Promise<BatchResult> {
  const written = await appendOne(deps.appender, () => buildBatch(deps, caller, request))
  if (written.replayed) return { replayedSeq: written.seq }
  return { batch: written.built.render(written.seq, written.chain) }
}

async function buildBatch(deps: WriteDeps, caller: Caller, request: BatchRequest) {
  const recordedAtMs = deps.now()
  const records: RecordRow[] = []
  const views: { id: string; digest: string; salt: string }[] = []
  const leaves: Uint8Array[] = []
  for (const [index, item] of request.items.entries()) {
    if (index > 0 && index % ITEMS_PER_TURN === 0) await new Promise(setImmediate)
    const { record, view, leaf } = buildItem(deps, request, recordedAtMs, item, index)
    records.push(record)
    views.push(view)
    leaves.push(leaf)
  }

  const batchId = deps.entropy.uuidv7(recordedAtMs)
  const batch = formatId('bat', batchId)
  const entry = signNotarization(deps.signer, caller, {
    kind: 'batch-notarized',
    subject: { id: batchId, name: batch, digest: toHex(batchRoot(nativeProviders.sha256, leaves)) },
    recordedAtMs,
    predicate: { batch, count: records.length, tree: 'RFC9162_SHA256' },
    idempotency: request.idempotency,
    records,
  })
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
  request: BatchRequest,
  recordedAtMs: number,
  item: BatchRequestItem,
  index: number,
) {
  const members = { index }
  const type = getNotarizableType(item.type, members)
  const payload = saltDocument(deps.entropy, item.payload, undefined, members)
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
  }
  return {
    record,
    view: { id, digest, salt: toBase64Url(payload.salt) },
    leaf: itemLeaf(nativeProviders.sha256, itemBytes(signed)),
  }
}
