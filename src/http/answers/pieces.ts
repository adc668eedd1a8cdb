import { Readable } from 'node:stream'
import type { Slices } from '../../load/slice.ts'
import { STREAM_PIECE_CHARS } from '../../records/limits.ts'

/** A long answer, whose texts are written together up to STREAM_PIECE_CHARS, because each by itself costs more than making it. */
export async function* inPieces(
  texts: AsyncIterable<string> | Iterable<string>,
  slices: Slices,
): AsyncGenerator<string> {
  let piece = ''
  for await (const text of texts) {
    piece += text
    if (piece.length < STREAM_PIECE_CHARS) continue
    await slices.next()
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}

/** Characters of streams whose whole text is in memory until the last piece is taken. */
const held = new WeakMap<object, number>()

export function streamHeld(texts: Iterable<string>, chars: number, slices: Slices): Readable {
  const stream = Readable.from(inPieces(texts, slices), { objectMode: true, highWaterMark: 1 })
  held.set(stream, chars)
  return stream
}

/** Characters in memory behind a stream; 0 for one that is made as it is read. */
export function heldChars(stream: object): number {
  return held.get(stream) ?? 0
}
