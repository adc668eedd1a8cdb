import { fromHex } from '../../proof/bytes.ts'
import type { Sha256 } from '../../proof/crypto.ts'
import type { Uuid } from '../../proof/ids.ts'
import type { BatchItem } from '../../proof/statement/batch.ts'
import { documentDigest } from '../../proof/statement/document.ts'
import { addSigned, columnsOfSigned } from '../../proof/statement/record-members.ts'
import type { ChunkRecord } from './chunk-content.ts'

/** Digests in lower-case hex. `references` is null if the record has no references. */
type Digests = { readonly digest: string; readonly references: string | null }

/** Returns the object whose hash is the record's leaf in its batch. `id` is `rec_…`. addSigned explains `agentOf`. */
export function itemOf(
  id: string,
  record: Omit<ChunkRecord, 'document'>,
  { digest, references }: Digests,
  agentOf?: (agent: Uuid) => string,
): BatchItem {
  return addSigned({ record: id, type: record.type, digest }, record, references, agentOf)
}

/** Returns the record of an item. This is the inverse of itemOf. */
export function recordOfItem(item: BatchItem, document: ChunkRecord['document']): ChunkRecord {
  return { type: item.type, document, ...columnsOfSigned(item) }
}

/**
 * Returns the digests that remain of the item's document after the entry at seq `erasedSeq` has erased the document.
 */
export function erasedDocumentOf(
  { digest, references }: BatchItem,
  erasedSeq: number,
): ChunkRecord['document'] {
  return {
    digest: fromHex(digest),
    referencesDigest: references === undefined ? null : fromHex(references),
    erasedSeq,
  }
}

/** Returns the payload's digest as the batch signs it. */
export function payloadDigest(sha256: Sha256, { document }: Pick<ChunkRecord, 'document'>): Uint8Array {
  if (document.erasedSeq !== undefined) return document.digest
  return documentDigest(sha256, document.salt, document.payload)
}

/** Returns the digest of the references, or null if the record has no references. */
export function referencesDigest(
  sha256: Sha256,
  { document }: Pick<ChunkRecord, 'document'>,
): Uint8Array | null {
  if (document.erasedSeq !== undefined) return document.referencesDigest
  return document.references && documentDigest(sha256, document.salt, document.references)
}
