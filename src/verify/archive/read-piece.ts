import { Slice } from '../../load/slice.ts'
import { ProofError } from '../../proof/error.ts'
import { type ArchiveLine, linesOfText, parseArchiveLine } from './archive-line.ts'
import { documentAt, documentStarts } from './document-cipher.ts'
import { gunzipMember } from './gunzip.ts'
import { ARCHIVE_LINES_BYTES_MAX } from './limits.ts'

/**
 * Objects of the piece with the entries from `from` up to `end` (exclusive). `documents` is null if the piece has no
 * documents.
 */
export type PieceBytes = {
  readonly from: number
  readonly end: number
  readonly lines: Buffer
  readonly documents: Buffer | null
}

export type PieceContent = {
  readonly lines: readonly ArchiveLine[]
  /** Sealed documents, in the order in which the lines name them; null if the piece has no documents. */
  readonly documents: readonly Buffer[] | null
}

/**
 * Parses a piece and checks it against docs/formats/archive.md. Throws ProofError.
 *
 * The verifier uses this function. The worker also uses it on objects that it has written, before it names them in a
 * seal.
 */
export async function readPiece({ from, end, lines, documents }: PieceBytes): Promise<PieceContent> {
  const slice = new Slice()
  const parsed: ArchiveLine[] = []
  let documentCount = 0
  for (const bytes of linesOfText(await gunzipMember(lines, ARCHIVE_LINES_BYTES_MAX))) {
    if (slice.isOver) await slice.next()
    const line = parseArchiveLine(bytes)
    if (line.seq !== from + parsed.length || line.seq >= end)
      throw new ProofError(
        'archive_object',
        `the object has a line of entry ${line.seq} in the position of entry ${from + parsed.length}, or too many lines`,
      )
    parsed.push(line)
    documentCount += line.documents.length
  }
  if (parsed.length !== end - from) throw new ProofError('archive_object', 'lacks lines')
  return {
    lines: parsed,
    documents:
      documents && documentStarts(documents, documentCount).map((start) => documentAt(documents, start)),
  }
}
