import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { Turn } from '../../append/turn.ts'
import type { ChunkRecord } from '../../db/chunks/chunk-content.ts'
import { CHUNK_RECORDS } from '../../db/chunks/chunk-content.ts'
import { erasedDocumentOf, payloadDigest, recordOfItem, referencesDigest } from '../../db/chunks/item.ts'
import { ReleasedFault } from '../../db/chunks/released-chunks.ts'
import type { ChunkInArchive } from '../../db/connect/released-content.ts'
import { formatId } from '../../proof/ids.ts'
import type { BatchItem } from '../../proof/statement/batch.ts'
import { recordIdAt } from '../../proof/statement/batch-ids.ts'
import { type DocumentKeys, documentPlace } from '../../signing/document-keys.ts'
import { nativeProviders } from '../../signing/native.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import { aloneAsBuffer } from './alone-as-buffer.ts'
import { documentAt, documentStarts, openDocument } from './document-cipher.ts'
import { ARCHIVE_LINES_BYTES_MAX } from './limits.ts'

const gunzipped = promisify(gunzip)

/** A line of a batch: where it stands, and its first document. */
type BatchLine = { readonly start: number; readonly end: number; readonly document: number }

/** Lines and documents of a piece (docs/formats/archive.md), as the archive has them: encrypted. */
export class ArchivedPiece {
  readonly #lines: Buffer
  readonly #documents: Buffer
  readonly #batches = new Map<number, BatchLine>()
  /** Where each document begins, behind its length. */
  readonly #starts: readonly number[]
  /** Items of the batch that was asked for last: its chunks come one after another. */
  #newest: { readonly seq: number; readonly items: readonly BatchItem[] } | null = null

  private constructor(lines: Buffer, documents: Buffer) {
    this.#lines = aloneAsBuffer(lines)
    this.#documents = aloneAsBuffer(documents)
    this.#starts = [...documentStarts(documents)]
  }

  /** `lines`, `documents`: objects whose digests were compared. Throws where they are none of a piece. */
  static async read(lines: Buffer, documents: Buffer): Promise<ArchivedPiece> {
    const text = await gunzipped(lines, { maxOutputLength: ARCHIVE_LINES_BYTES_MAX })
    const piece = new ArchivedPiece(text, documents)
    const turn = new Turn()
    let document = 0
    for (let start = 0; start < text.length; ) {
      if (turn.isOver) await turn.next()
      const end = text.indexOf('\n', start) + 1
      if (end === 0) throw new Error('a line is cut off')
      const line = parseLine(text, { start, end })
      if (line.items !== null) piece.#batches.set(line.seq, { start, end, document })
      document += line.documents.length
      start = end
    }
    return piece
  }

  get bytes(): number {
    return this.#lines.length + this.#documents.length
  }

  /** Records of a chunk, without metadata. Throws ReleasedFault. */
  async readChunk(chunk: ChunkInArchive, keys: DocumentKeys | null): Promise<ChunkRecord[]> {
    const { seq, firstRecordId, count } = chunk
    const batch = this.#batches.get(seq)
    if (!batch) throw new ReleasedFault(`the archive's piece has no batch of seq ${seq}`)
    const items = this.#itemsOf(seq, batch)
    const first = chunk.chunk * CHUNK_RECORDS
    const turn = new Turn()
    const records: ChunkRecord[] = []
    for (let index = first; index < first + count; index++) {
      if (turn.isOver) await turn.next()
      const recordId = recordIdAt(firstRecordId, index)
      const item = items[index]
      if (item?.record !== formatId('rec', recordId))
        throw new ReleasedFault(`the archive has another record in the place ${index} of seq ${seq}`)
      const key = keys?.find(documentPlace(seq - chunk.place.from, index)) ?? null
      const opened = key && this.#open(batch.document + index, key, item)
      records.push(recordOfItem(item, opened ?? erasedDocument(item, chunk.erasures.get(recordId))))
    }
    return records
  }

  #itemsOf(seq: number, batch: BatchLine): readonly BatchItem[] {
    if (this.#newest?.seq === seq) return this.#newest.items
    const items = parseLine(this.#lines, batch).items!
    this.#newest = { seq, items }
    return items
  }

  /** null: the document was erased before it could be archived. Throws ReleasedFault where it is not the one that is signed. */
  #open(place: number, key: Uint8Array, item: BatchItem): ChunkRecord['document'] | null {
    const start = this.#starts[place]
    const text = start === undefined ? null : openDocument(documentAt(this.#documents, start), key)
    if (text === null) return null
    const document = parseDocument(text, item)
    const { sha256 } = nativeProviders
    const references = referencesDigest(sha256, { document })
    const isSigned =
      toHex(payloadDigest(sha256, { document })) === item.digest &&
      (references && toHex(references)) === (item.references ?? null)
    if (!isSigned) throw new ReleasedFault(`the archive has another document of ${item.record}`)
    return document
  }
}

type Line = {
  readonly seq: number
  readonly documents: readonly unknown[]
  readonly items: readonly BatchItem[] | null
}

function parseLine(text: Buffer, { start, end }: Pick<BatchLine, 'start' | 'end'>): Line {
  return JSON.parse(text.toString('utf8', start, end)) as Line
}

const SALT_START = '{"salt":"'.length
const SALT_END = SALT_START + 22
const DOCUMENT_START = SALT_END + '","document":'.length
const REFERENCES = ',"references":['

/** The members of a sealed document, as the bytes that were hashed: canonical JSON, whose quotes within strings are escaped. */
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

/** Throws ReleasedFault where no entry says that it is erased. */
function erasedDocument(item: BatchItem, erasedSeq: number | undefined): ChunkRecord['document'] {
  if (erasedSeq === undefined)
    throw new ReleasedFault(
      `the archive's document of ${item.record} cannot be opened, and no entry erases it`,
    )
  return erasedDocumentOf(item, erasedSeq)
}
