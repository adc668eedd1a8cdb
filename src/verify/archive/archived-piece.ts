import type { ChunkRecord } from '../../db/chunks/chunk-content.ts'
import { CHUNK_RECORDS } from '../../db/chunks/chunk-content.ts'
import { erasedDocumentOf, payloadDigest, recordOfItem, referencesDigest } from '../../db/chunks/item.ts'
import { ArchiveFault, type ChunkInArchive } from '../../db/connect/archive.ts'
import { Slice } from '../../load/slice.ts'
import { formatId } from '../../proof/ids.ts'
import type { BatchItem } from '../../proof/statement/batch.ts'
import { recordIdAt } from '../../proof/statement/batch-ids.ts'
import { type DocumentKeys, documentPosition } from '../../signing/document-keys.ts'
import { nativeProviders } from '../../signing/native.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import { linesOfText, parseArchiveLine } from './archive-line.ts'
import { documentAt, documentStarts, openDocument } from './document-cipher.ts'
import { gunzipMember } from './gunzip.ts'
import { ARCHIVE_LINES_BYTES_MAX } from './limits.ts'
import { ownBuffer } from './own-buffer.ts'

/** Byte range of a batch's line in the piece, and the index of the batch's first document. */
type BatchLine = { readonly start: number; readonly end: number; readonly document: number }

/**
 * Lines and documents of a piece (docs/formats/archive.md), in the form in which the archive stores them. The
 * documents are encrypted.
 */
export class ArchivedPiece {
  readonly #lines: Buffer
  readonly #documents: Buffer
  readonly #batches: ReadonlyMap<number, BatchLine>
  /** Start of each document in the piece, after the bytes with the document's length. */
  readonly #starts: readonly number[]
  /**
   * Items of the batch that was requested last. They are stored because a reader requests the chunks of a batch one
   * after another.
   */
  #newest: { readonly seq: number; readonly items: readonly BatchItem[] } | null = null

  private constructor(
    { text, documents }: { readonly text: Buffer; readonly documents: Buffer },
    batches: ReadonlyMap<number, BatchLine>,
    starts: readonly number[],
  ) {
    this.#lines = ownBuffer(text)
    this.#documents = ownBuffer(documents)
    this.#batches = batches
    this.#starts = starts
  }

  /**
   * Parses a piece. The digests of the objects `lines` and `documents` must have been checked before. `documents` is
   * null if the piece has no documents. Throws ProofError if the objects are malformed.
   */
  static async read(lines: Buffer, documents: Buffer | null): Promise<ArchivedPiece> {
    const text = await gunzipMember(lines, ARCHIVE_LINES_BYTES_MAX)
    const batches = new Map<number, BatchLine>()
    const slice = new Slice()
    let start = 0
    let document = 0
    for (const bytes of linesOfText(text)) {
      if (slice.isOver) await slice.next()
      const line = parseArchiveLine(bytes)
      const end = start + bytes.length
      if (line.items !== null) batches.set(line.seq, { start, end, document })
      document += line.documents.length
      start = end + 1
    }
    const starts = documents === null ? [] : documentStarts(documents, document)
    return new ArchivedPiece({ text, documents: documents ?? Buffer.alloc(0) }, batches, starts)
  }

  get bytes(): number {
    return this.#lines.length + this.#documents.length
  }

  /** Returns the records of a chunk, without metadata. Throws ArchiveFault. */
  async readChunk(chunk: ChunkInArchive, keys: DocumentKeys | null): Promise<ChunkRecord[]> {
    const { seq, firstRecordId, count } = chunk
    const batch = this.#batches.get(seq)
    if (!batch) throw new ArchiveFault(`the archive's piece has no batch of seq ${seq}`)
    const items = this.#itemsOf(seq, batch)
    const first = chunk.chunk * CHUNK_RECORDS
    const slice = new Slice()
    const records: ChunkRecord[] = []
    for (let index = first; index < first + count; index++) {
      if (slice.isOver) await slice.next()
      const recordId = recordIdAt(firstRecordId, index)
      const item = items[index]
      if (item?.record !== formatId('rec', recordId))
        throw new ArchiveFault(`the archive has a different record at index ${index} of seq ${seq}`)
      const key = keys?.find(documentPosition(seq - chunk.piece.from, index)) ?? null
      const opened = key && this.#open(batch.document + index, key, item)
      records.push(recordOfItem(item, opened ?? erasedDocument(item, chunk.erasures.get(recordId))))
    }
    return records
  }

  #itemsOf(seq: number, batch: BatchLine): readonly BatchItem[] {
    if (this.#newest?.seq === seq) return this.#newest.items
    const line = parseArchiveLine(this.#lines.subarray(batch.start, batch.end))
    const items = line.items as readonly BatchItem[]
    this.#newest = { seq, items }
    return items
  }

  /**
   * Decrypts a document. Returns null if the document was erased before it was archived, or if the key does not fit.
   * Throws ArchiveFault if the document does not have the signed digest.
   */
  #open(place: number, key: Uint8Array, item: BatchItem): ChunkRecord['document'] | null {
    const start = this.#starts[place]
    const opened = start === undefined ? null : openDocument(documentAt(this.#documents, start), key)
    if (opened === null) return null
    const document = parseDocument(opened.toString('utf8'), item)
    const { sha256 } = nativeProviders
    const references = referencesDigest(sha256, { document })
    const isSigned =
      toHex(payloadDigest(sha256, { document })) === item.digest &&
      (references && toHex(references)) === (item.references ?? null)
    if (!isSigned) throw new ArchiveFault(`the archive has a different document of ${item.record}`)
    return document
  }
}

const SALT_START = '{"salt":"'.length
const SALT_END = SALT_START + 22
const DOCUMENT_START = SALT_END + '","document":'.length
const REFERENCES = ',"references":['

/**
 * Splits a decrypted document into the bytes that were hashed. The function searches for the members as text. This is
 * safe, because the document is canonical JSON and quotes within strings are escaped.
 */
function parseDocument(text: string, { references }: BatchItem) {
  const end = references === undefined ? text.length - 1 : text.lastIndexOf(REFERENCES)
  return {
    salt: Buffer.from(text.slice(SALT_START, SALT_END), 'base64url'),
    payload: Buffer.from(text.slice(DOCUMENT_START, end)),
    references:
      references === undefined ? null : Buffer.from(text.slice(end + REFERENCES.length - 1, text.length - 1)),
    metadata: null,
  }
}

/**
 * Returns the salt, payload and references of an erased document, which are all empty. Throws ArchiveFault if no entry
 * erases the document.
 */
function erasedDocument(item: BatchItem, erasedSeq: number | undefined): ChunkRecord['document'] {
  if (erasedSeq === undefined)
    throw new ArchiveFault(
      `the archive's document of ${item.record} cannot be opened, and no entry erases it`,
    )
  return erasedDocumentOf(item, erasedSeq)
}
