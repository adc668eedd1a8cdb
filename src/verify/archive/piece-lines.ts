import { ProofError } from '../../proof/error.ts'
import { TILE_HASHES } from '../../proof/tree/merkle.ts'
import { type DocumentKeys, documentPosition } from '../../signing/document-keys.ts'
import type { ArchiveLine } from './archive-line.ts'
import { splitBundle } from './archived-bundle.ts'
import { openDocument, plainText } from './document-cipher.ts'
import type { ArchiveKeys } from './key-file.ts'
import type { ArchiveObjects } from './read-objects.ts'
import { readPiece } from './read-piece.ts'
import { type ArchiveObject, type ArchivePiece, tileName } from './seal.ts'

export type PieceContext = {
  readonly objects: ArchiveObjects
  /** Keys of the documents; null if documents are not shown. */
  readonly keys: ArchiveKeys | null
  readonly size: number
  /**
   * Maps a document to the seq of the entry that erases it. A key is the document's subject and the seq of the entry
   * that contains its digest.
   */
  readonly erasures: ReadonlyMap<string, number>
  /** Documents that have neither a key nor an erasing entry. */
  readonly unexplained: string[]
  /** The bundle that was read last. If the next bundle belongs to the same tile, it must begin with these bytes. */
  lastBundle: { readonly tile: number; readonly bytes: Buffer } | null
  /** Called for each definition of a type, before the line of its entry. */
  readonly onDefinition: (seq: number, definition: string) => void
}

/** A seal's size, and its objects by name. */
export type SealedObjects = { readonly size: number; readonly named: ReadonlyMap<string, ArchiveObject> }

/**
 * Returns the lines of an export for a piece's entries. If an object is missing or faulty, returns null and adds a
 * fault to `context.objects`.
 */
export async function exportLines(
  seal: SealedObjects,
  piece: ArchivePiece,
  context: PieceContext,
): Promise<Uint8Array | null> {
  const { objects } = context
  const { from, end } = piece
  const [lines, documents, envelopes] = await Promise.all([
    objects.read(seal.named.get(piece.lines)!),
    piece.documents === null ? undefined : objects.read(seal.named.get(piece.documents)!),
    readEnvelopes(seal, piece, context),
  ])
  if (lines === null || documents === null || envelopes === null) return null
  return objects.check(piece.lines, async () => {
    const read = await readPiece({ from, end, lines, documents: documents ?? null })
    const opener = new Opener(piece, read.documents, context)
    return Buffer.concat(
      read.lines.map((line, i) => {
        if (line.definition !== null) context.onDefinition(line.seq, line.definition)
        return Buffer.from(exportLine(line, envelopes[i]!, opener))
      }),
    )
  })
}

/** Reads the envelopes of the piece's entries from the bundles of its seal. */
async function readEnvelopes(
  { size, named }: SealedObjects,
  { from, end }: ArchivePiece,
  context: PieceContext,
): Promise<Buffer[] | null> {
  const { objects } = context
  const envelopes: Buffer[] = []
  for (let tile = Math.floor(from / TILE_HASHES); tile * TILE_HASHES < end; tile++) {
    const width = Math.min(TILE_HASHES, size - tile * TILE_HASHES)
    const name = tileName({ level: 'entries', tile, width })
    const bundle = await objects.read(named.get(name)!)
    const entries =
      bundle && (await objects.check(name, async () => entriesOf(bundle, { tile, width }, context)))
    if (entries === null) return null
    const first = tile * TILE_HASHES
    envelopes.push(...entries.slice(Math.max(0, from - first), end - first))
  }
  return envelopes
}

/**
 * Splits a bundle. Throws ProofError if the previous bundle belongs to the same tile and this bundle does not begin
 * with it.
 *
 * A tile may have several bundles of growing width. Its first entries were verified from a narrower bundle, but readers
 * of tiles get only the widest bundle. Without this check, the widest bundle could begin with other entries.
 */
function entriesOf(
  bundle: Buffer,
  { tile, width }: { readonly tile: number; readonly width: number },
  context: PieceContext,
): Buffer[] {
  const before = context.lastBundle
  if (before?.tile === tile && !bundle.subarray(0, before.bytes.length).equals(before.bytes))
    throw new ProofError(
      'archive_object',
      'the object has other entries than the earlier bundle of the same tile',
    )
  context.lastBundle = { tile, bytes: bundle }
  return splitBundle(bundle, width)
}

/** Returns one line of an export. Throws ProofError if a document is malformed. */
function exportLine(
  { documents, items, definition, ...members }: ArchiveLine,
  envelope: Buffer,
  opener: Opener,
): string {
  const { seq, kind, recordedAt, leaf, chain, ...others } = members
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
    ...{ seq, kind, recordedAt, leaf, chain },
    envelope: envelope.toString('base64'),
  })
  const end = JSON.stringify({ items, ...others })
  return `${start.slice(0, -1)},"documents":[${shown.join(',')}],${end.slice(1)}\n`
}

type SealedDocument = {
  readonly seq: number
  readonly item: number
  readonly subject: string
  readonly digest: string
  readonly erasedBy: number | null
}

/** Decrypts the documents of a piece, in order. */
class Opener {
  readonly #from: number
  readonly #documents: Iterator<Buffer>
  readonly #keys: DocumentKeys | undefined
  readonly #context: PieceContext

  /** `documents` is null if the piece has no documents. */
  constructor(piece: ArchivePiece, documents: readonly Buffer[] | null, context: PieceContext) {
    this.#from = piece.from
    this.#documents = (documents ?? []).values()
    this.#keys = context.keys?.pieces.get(piece.from)
    this.#context = context
  }

  /** Returns a document in the form of an export's line. Throws ProofError. */
  show({ seq, item, subject, digest, erasedBy }: SealedDocument): string {
    const { keys, erasures, size, unexplained } = this.#context
    const sealed = this.#documents.next().value as Buffer | undefined
    const start = JSON.stringify({ subject, digest })
    // A document that an entry has erased is not shown, even if somebody still has its key.
    const known = erasures.get(`${subject} ${seq}`) ?? erasedBy
    const explained = known !== null && known < size ? known : null
    if (keys === null || explained !== null)
      return `${start.slice(0, -1)},"salt":null,"document":null,"erasedBy":${explained}}`
    const key = this.#keys?.find(documentPosition(seq - this.#from, item))
    const opened = key && sealed && openDocument(sealed, key)
    if (opened) return `${start.slice(0, -1)},"erasedBy":null,${plainText(opened).slice(1)}`
    unexplained.push(`${subject} of entry ${seq}`)
    return `${start.slice(0, -1)},"salt":null,"document":null,"erasedBy":${size}}`
  }
}
