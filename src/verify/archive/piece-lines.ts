import { gunzipSync } from 'node:zlib'
import { TILE_HASHES } from '../../proof/tree/merkle.ts'
import { type DocumentKeys, documentPlace } from '../../signing/document-keys.ts'
import { splitBundle } from './archived-bundle.ts'
import { openDocument, splitDocuments } from './document-cipher.ts'
import type { ArchiveKeys } from './key-file.ts'
import { ARCHIVE_LINES_BYTES_MAX } from './limits.ts'
import type { ArchiveObjects } from './read-objects.ts'
import { type ArchivePiece, type ArchiveSeal, tileName } from './seal.ts'

export type PieceContext = {
  readonly objects: ArchiveObjects
  /** null: documents are not shown. */
  readonly keys: ArchiveKeys | null
  /** Entries of the whole archive. */
  readonly size: number
  /** Seq of the entry that erases a document, by its subject and the seq of the entry that digests it. */
  readonly erasures: ReadonlyMap<string, number>
  /** Documents without a key, and without an entry that says why. */
  readonly unexplained: string[]
  /** Hears of each definition of a type, before the line of its entry is given. */
  readonly onDefinition?: ((seq: number, definition: string) => void) | undefined
}

/** A line of an archive; unchecked, but for its form, because the line of an export that is made of it is checked. */
type ArchiveLine = {
  readonly seq: number
  readonly documents: readonly (
    | { subject: string; digest: string; erasedBy: number | null }
    | number
    | null
  )[]
  readonly items: readonly { record: string; digest: string }[] | null
  /** Definition of the type that the entry registers. */
  readonly definition?: string
  readonly [member: string]: unknown
}

/** Lines of an export for the entries of a piece; null: an object is missing or another one, which is noted. */
export async function exportLines(
  seal: ArchiveSeal,
  piece: ArchivePiece,
  context: PieceContext,
): Promise<Uint8Array | null> {
  const { objects } = context
  const of = (name: string) => objects.read(seal.objects.find((object) => object.name === name)!)
  const [lines, documents, envelopes] = await Promise.all([
    of(piece.lines),
    piece.documents === null ? Buffer.alloc(0) : of(piece.documents),
    readEnvelopes(seal, piece, of),
  ])
  if (lines === null || documents === null || envelopes === null) return null
  try {
    const text = gunzipSync(lines, { maxOutputLength: ARCHIVE_LINES_BYTES_MAX }).toString('utf8')
    const parsed = text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as ArchiveLine)
    const opener = new Opener(piece, documents, context)
    const exported = parsed.map((line, i) => {
      if (line.definition !== undefined) context.onDefinition?.(piece.from + i, line.definition)
      return exportLine(line, envelopes[i]!, piece.from + i, opener)
    })
    if (parsed.length === piece.end - piece.from) return Buffer.from(exported.join(''))
  } catch {
    // Its bytes are those that the seal names, so the seal is a false one.
  }
  objects.fault(`${piece.lines} does not hold the lines of its entries`)
  return null
}

/** Envelopes of the piece's entries, from the bundles of its seal. */
async function readEnvelopes(
  seal: ArchiveSeal,
  { from, end }: ArchivePiece,
  read: (name: string) => Promise<Buffer | null>,
): Promise<Buffer[] | null> {
  const envelopes: Buffer[] = []
  for (let tile = Math.floor(from / TILE_HASHES); tile * TILE_HASHES < end; tile++) {
    const width = Math.min(TILE_HASHES, seal.size - tile * TILE_HASHES)
    const bundle = await read(tileName({ level: 'entries', tile, width }))
    if (bundle === null) return null
    const entries = splitBundle(bundle)
    const first = tile * TILE_HASHES
    envelopes.push(...entries.slice(Math.max(0, from - first), end - first))
  }
  return envelopes
}

function exportLine(
  { documents, items, definition, ...members }: ArchiveLine,
  envelope: Buffer,
  seq: number,
  opener: Opener,
): string {
  const { seq: said, kind, recordedAt, leaf, chain, ...others } = members
  const shown = documents.map((document, item) => {
    const { subject, digest, erasedBy } =
      items === null
        ? (document as Exclude<typeof document, number | null>)
        : {
            subject: items[item]!.record,
            digest: items[item]!.digest,
            erasedBy: document as number | null,
          }
    return opener.show({ seq, item, subject, digest, erasedBy })
  })
  const start = JSON.stringify({
    seq: said,
    kind,
    recordedAt,
    leaf,
    chain,
    envelope: envelope.toString('base64'),
  })
  const end = JSON.stringify({ items, ...others })
  return `${start.slice(0, -1)},"documents":[${shown.join(',')}],${end.slice(1)}\n`
}

type Sealed = {
  readonly seq: number
  readonly item: number
  readonly subject: string
  readonly digest: string
  readonly erasedBy: number | null
}

/** Opens the documents of a piece, in their order. */
class Opener {
  readonly #from: number
  readonly #documents: Iterator<Buffer>
  readonly #keys: DocumentKeys | undefined
  readonly #context: PieceContext

  constructor(piece: ArchivePiece, documents: Buffer, context: PieceContext) {
    this.#from = piece.from
    this.#documents = splitDocuments(documents)
    this.#keys = context.keys?.pieces.get(piece.from)
    this.#context = context
  }

  /** A document as a line of an export has it. */
  show({ seq, item, subject, digest, erasedBy }: Sealed): string {
    const { keys, erasures, size, unexplained } = this.#context
    const sealed = this.#documents.next().value as Buffer | undefined
    const start = JSON.stringify({ subject, digest })
    // One that was erased later is not shown, though somebody may still have its key.
    const known = erasures.get(`${subject} ${seq}`) ?? erasedBy
    const explained = known !== null && known < size ? known : null
    if (keys === null || explained !== null)
      return `${start.slice(0, -1)},"salt":null,"document":null,"erasedBy":${explained}}`
    const key = this.#keys?.find(documentPlace(seq - this.#from, item))
    const text = key && sealed && openDocument(sealed, key)
    if (text) return `${start.slice(0, -1)},"erasedBy":null,${text.slice(1)}`
    unexplained.push(`${subject} of the entry ${seq}`)
    return `${start.slice(0, -1)},"salt":null,"document":null,"erasedBy":${size}}`
  }
}
