import { CHUNK_RECORDS, type ChunkRecord, encodeChunk } from '../db/chunks/chunk-content.ts'
import { keysOfChunk } from '../db/chunks/chunk-keys.ts'
import type { ChunkRow } from '../db/chain/append-entries.ts'
import type { Uuid } from '../proof/ids.ts'
import { type BatchItem, batchRoot, itemBytes, itemLeaf } from '../proof/statement/batch.ts'
import { formatRecordIds, recordIdAt } from '../proof/statement/batch-ids.ts'
import { nativeProviders } from '../signing/native.ts'
import { toBase64Url, toHex } from '../signing/text-of-bytes.ts'
import type { OnBehalfOf } from './on-behalf-of.ts'
import type { ParentRecord } from './lineage.ts'

const { sha256 } = nativeProviders

/** An item of a batch, whose payload is as its type wants it. */
export type PreparedItem = {
  readonly type: string
  /** Canonical JSON, and the digest that the item signs. */
  readonly payload: { readonly bytes: Uint8Array; readonly salt: Uint8Array; readonly digest: Uint8Array }
  readonly references: { readonly bytes: Uint8Array; readonly digest: string } | null
  readonly metadata: Uint8Array | null
  readonly occurredAtMs: number | null
  readonly onBehalfOf: OnBehalfOf | null
  /** A record of the ledger, or the place of an earlier item. */
  readonly parent: ParentRecord | number | null
  readonly traceparent: string | null
}

/** What the entry of a batch signs, and what lies beside it. */
export type BuiltItems = {
  /** Merkle root of the items. */
  readonly root: Uint8Array
  readonly chunks: readonly ChunkRow[]
  /** Ids, digests and salts of the records, as the answer shows them. */
  readonly views: readonly { readonly id: string; readonly digest: string; readonly salt: string }[]
}

/** `first`: id of the first record. */
export function buildItems(first: Uuid, actor: Uuid, items: readonly PreparedItem[]): BuiltItems {
  const ids = formatRecordIds(first, items.length)
  const views: BuiltItems['views'][number][] = []
  const leaves: Uint8Array[] = []
  const records: ChunkRecord[] = []
  for (const [i, item] of items.entries()) {
    const id = ids[i]!
    const digest = toHex(item.payload.digest)
    const signed: BatchItem = {
      record: id,
      type: item.type,
      digest,
      ...(item.onBehalfOf && { onBehalfOf: item.onBehalfOf.agent }),
      ...(item.occurredAtMs !== null && { occurredAt: new Date(item.occurredAtMs).toISOString() }),
      ...(item.parent !== null && {
        parent: typeof item.parent === 'number' ? ids[item.parent]! : item.parent.record,
      }),
      ...(item.references && { references: item.references.digest }),
      ...(item.traceparent !== null && { traceparent: item.traceparent }),
    }
    leaves.push(itemLeaf(sha256, itemBytes(signed)))
    records.push(chunkRecord(first, item))
    views.push({ id, digest, salt: toBase64Url(item.payload.salt) })
  }
  return { root: batchRoot(sha256, leaves), chunks: chunksOf(first, actor, records), views }
}

function chunkRecord(first: Uuid, item: PreparedItem): ChunkRecord {
  const { payload, references, metadata, onBehalfOf, parent } = item
  const parentId = typeof parent === 'number' ? recordIdAt(first, parent) : (parent?.recordId ?? null)
  return {
    type: item.type,
    document: { salt: payload.salt, payload: payload.bytes, references: references?.bytes ?? null, metadata },
    occurredAtMs: item.occurredAtMs,
    onBehalfOf: onBehalfOf?.agentId ?? null,
    parentId,
    traceparent: item.traceparent,
  }
}

function chunksOf(first: Uuid, actor: Uuid, records: readonly ChunkRecord[]): ChunkRow[] {
  const chunks: ChunkRow[] = []
  for (let start = 0; start < records.length; start += CHUNK_RECORDS) {
    const held = records.slice(start, start + CHUNK_RECORDS)
    chunks.push({
      chunk: chunks.length,
      firstRecordId: recordIdAt(first, start),
      count: held.length,
      content: encodeChunk(held),
      keys: keysOfChunk(actor, held),
    })
  }
  return chunks
}
