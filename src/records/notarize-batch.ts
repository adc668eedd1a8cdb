import { appendOne } from '../append/append-one.ts'
import { requireRecent, sealEntry } from '../append/entry.ts'
import { Turn } from '../append/turn.ts'
import type { IdempotencyRow } from '../db/chain/append-entries.ts'
import { PARENT_DEPTH_MAX } from '../db/limits.ts'
import { ApiError } from '../errors.ts'
import type { Caller } from '../ledgers/caller.ts'
import { BUILT_IN_TYPES, type RecordType } from '../ledgers/types/built-in.ts'
import type { Signer } from '../proof/crypto.ts'
import { formatId } from '../proof/ids.ts'
import { firstRecordId } from '../proof/statement/batch-ids.ts'
import { toHex } from '../signing/text-of-bytes.ts'
import { buildItems, type PreparedItem } from './batch-items.ts'
import { canonicalMetadata, digestReferences, parseTime, saltDocument } from './documents.ts'
import { BATCH_TYPES_MAX } from './limits.ts'
import type { ParentRecord } from './lineage.ts'
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
  /** A record of the ledger, or the place of an earlier item. */
  readonly parent?: string | number | undefined
  readonly references?: readonly string[] | undefined
  readonly traceparent?: string | undefined
}

/** Agents and records that items name, found. */
type BatchRequest = {
  readonly items: readonly BatchRequestItem[]
  readonly onBehalfOf: ReadonlyMap<string, OnBehalfOf>
  readonly parents: ReadonlyMap<string, ParentRecord>
  /** Of the items that have none of their own. */
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
  refuseDeep(request)
  const items = await prepareItems(deps, caller, request)
  const build = (signer: Signer) => buildBatch(deps, signer, caller, items, request.idempotency)
  const written = await appendOne(deps, caller, build)
  if (written.replayed) return { replayedSeq: written.seq }
  return { batch: written.built.render(written.seq, written.chain) }
}

/** An item may have an earlier one as its parent, and lie as deep below it as any record. */
function refuseDeep({ items, parents }: BatchRequest): void {
  const depths: number[] = []
  for (const [index, { parent }] of items.entries()) {
    if (typeof parent === 'number' && parent >= index) {
      throw new ApiError('unknown_parent', `record ${index} of the batch has no earlier record ${parent}`, {
        members: { path: `/records/${index}/parent`, index },
      })
    }
    const above = typeof parent === 'number' ? depths[parent]! : parent ? parents.get(parent)!.depth : 0
    if (above >= PARENT_DEPTH_MAX) {
      throw new ApiError('parent_too_deep', `the parent is ${above} records deep: at most ${PARENT_DEPTH_MAX} are taken`, {
        members: { path: `/records/${index}/parent`, index },
      })
    }
    depths.push(above + 1)
  }
}

/** Before the time is taken that is signed: the ledger may have to wait for its share of validation. */
async function prepareItems(
  deps: WriteDeps,
  caller: Caller,
  request: BatchRequest,
): Promise<PreparedItem[]> {
  const { items } = request
  const types = await findTypes(deps, caller, items)
  const prepared: PreparedItem[] = []
  const turn = new Turn()
  for (const [index, item] of items.entries()) {
    if (turn.isOver) await turn.next()
    const type = types.get(item.type)!
    const made = prepareItem(deps, request, item, index)
    const verified = verifyPayload(deps, caller, type, { value: item.payload, canonical: made.payload.canonical }, { index })
    if (verified) {
      await verified
      // At the latest when it is signed; sooner, so that no more is held for it.
      requireRecent(caller, deps.now())
    }
    prepared.push(made)
  }
  return prepared
}

function prepareItem(deps: WriteDeps, request: BatchRequest, item: BatchRequestItem, index: number) {
  const members = { index }
  const at = `/records/${index}`
  const payload = saltDocument(deps.entropy, item.payload, undefined, members)
  const metadata = canonicalMetadata(item.metadata, members)
  const { occurredAt, onBehalfOf, parent } = item
  return {
    type: item.type,
    payload,
    references: digestReferences(item.references, payload.salt, { ...members, path: `${at}/references` }),
    metadata: metadata === null ? null : Buffer.from(metadata),
    occurredAtMs: occurredAt === undefined ? null : parseTime(occurredAt, `${at}/occurredAt`, members),
    onBehalfOf: onBehalfOf === undefined ? null : request.onBehalfOf.get(onBehalfOf)!,
    parent: typeof parent === 'string' ? request.parents.get(parent)! : (parent ?? null),
    traceparent: item.traceparent ?? request.traceparent,
  }
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

function buildBatch(
  deps: WriteDeps,
  signer: Signer,
  caller: Caller,
  items: readonly PreparedItem[],
  idempotency: IdempotencyRow | null,
) {
  const recordedAtMs = deps.now()
  const first = firstRecordId(deps.entropy.uuidv7(recordedAtMs))
  const { root, chunks, views } = buildItems(first, caller.agentId, items)
  const batchId = deps.entropy.uuidv7(recordedAtMs)
  const batch = formatId('bat', batchId)
  const { entry } = sealEntry(
    signer,
    caller,
    {
      kind: 'batch-notarized',
      subject: { id: batchId, name: batch, digest: toHex(root) },
      predicate: { batch, count: items.length, tree: 'RFC9162_SHA256' },
      idempotency,
      event: NOTARIZED,
      chunks,
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
