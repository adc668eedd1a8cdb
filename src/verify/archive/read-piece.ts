import { Slice } from '../../load/slice.ts'
import { ProofError } from '../../proof/error.ts'
import { type ArchiveLine, linesOfText, parseArchiveLine } from './archive-line.ts'
import { documentAt, documentStarts } from './document-cipher.ts'
import { gunzipMember } from './gunzip.ts'
import { ARCHIVE_LINES_BYTES_MAX } from './limits.ts'

/**
 * Objects of a piece with the entries from `from` (inclusive) to `end` (exclusive). `documents` null: the piece has
 * none.
 */
export type PieceBytes = {
  readonly from: number
  readonly end: number
  readonly lines: Buffer
  readonly documents: Buffer | null
}

export type PieceContent = {
  /** One line for each entry. */
  readonly lines: readonly ArchiveLine[]
  /** One sealed document for each that the lines name; null: the piece has none. */
  readonly documents: readonly Buffer[] | null
}

/**
 * Parses a piece and checks it against docs/formats/archive.md. Used by the verifier, and by the worker before it
 * names what it has written. Throws ProofError.
 */
export async function readPiece({ from, end, lines, documents }: PieceBytes): Promise<PieceContent> {
  const slice = new Slice()
  const parsed: ArchiveLine[] = []
  let documentCount = 0
  for (const bytes of linesOfText(await gunzipMember(lines, ARCHIVE_LINES_BYTES_MAX))) {
    if (slice.isOver) await slice.next()
    const line = parseArchiveLine(bytes)
    if (line.seq !== from + parsed.length || line.seq >= end)
      throw new ProofError('archive_object', `has the line of entry ${line.seq}`)
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
