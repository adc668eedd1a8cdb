import type { Turns } from '../append/turn.ts'
import { STREAM_PIECE_CHARS } from '../records/limits.ts'

/** A long answer, whose texts are written together up to STREAM_PIECE_CHARS, because each by itself costs more than making it. */
export async function* inPieces(
  texts: AsyncIterable<string> | Iterable<string>,
  turns: Turns,
): AsyncGenerator<string> {
  let piece = ''
  for await (const text of texts) {
    piece += text
    if (piece.length < STREAM_PIECE_CHARS) continue
    await turns.next()
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}
