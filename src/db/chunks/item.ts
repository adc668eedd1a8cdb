import { fromHex } from '../../proof/bytes.ts'
import type { Sha256 } from '../../proof/crypto.ts'
import type { Uuid } from '../../proof/ids.ts'
import type { BatchItem } from '../../proof/statement/batch.ts'
import { documentDigest } from '../../proof/statement/document.ts'
import { addSigned, columnsOfSigned } from '../../proof/statement/record-members.ts'
import type { ChunkRecord } from './chunk-content.ts'

/** In lower-case hex; `references`: null where the record has none. */
type Digests = { readonly digest: string; readonly references: string | null }

/** The object that was hashed as the record's leaf of its batch. `id`: `rec_…`. `agentOf`: as addSigned takes it. */
export function itemOf(
  id: string,
  record: Omit<ChunkRecord, 'document'>,
  { digest, references }: Digests,
  agentOf?: (agent: Uuid) => string,
): BatchItem {
  return addSigned({ record: id, type: record.type, digest }, record, references, agentOf)
}

/** The record that the item is the leaf of: the inverse of itemOf. */
export function recordOfItem(item: BatchItem, document: ChunkRecord['document']): ChunkRecord {
  return { type: item.type, document, ...columnsOfSigned(item) }
}

/** Digests that are left of the item's document, which the entry `erasedSeq` erased. */
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

/** Digest of the record's payload, as its batch signs it. */
export function payloadDigest(sha256: Sha256, { document }: Pick<ChunkRecord, 'document'>): Uint8Array {
  if (document.erasedSeq !== undefined) return document.digest
  return documentDigest(sha256, document.salt, document.payload)
}

/** Digest of its references; null: it has none. */
export function referencesDigest(
  sha256: Sha256,
  { document }: Pick<ChunkRecord, 'document'>,
): Uint8Array | null {
  if (document.erasedSeq !== undefined) return document.referencesDigest
  return document.references && documentDigest(sha256, document.salt, document.references)
}
