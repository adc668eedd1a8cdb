import { Readable } from 'node:stream'
import { STREAM_STRING_CHARS } from '../../records/limits.ts'

/**
 * Joins the texts of a long answer into strings of about STREAM_STRING_CHARS characters. Writing each text separately
 * takes longer than making it.
 */
export async function* joinedTexts(
  texts: AsyncIterable<string> | Iterable<string>,
  nextSlice: () => Promise<void>,
): AsyncGenerator<string> {
  let piece = ''
  for await (const text of texts) {
    piece += text
    if (piece.length < STREAM_STRING_CHARS) continue
    await nextSlice()
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}

/**
 * Maps a stream to its number of characters. Contains only streams whose whole text stays in memory until the last
 * string was read.
 */
const charsOf = new WeakMap<object, number>()

export function streamText(texts: Iterable<string>, chars: number, nextSlice: () => Promise<void>): Readable {
  const stream = Readable.from(joinedTexts(texts, nextSlice), { objectMode: true, highWaterMark: 1 })
  charsOf.set(stream, chars)
  return stream
}

/**
 * Returns how many characters of a stream are in memory. Returns 0 for a stream whose text is made while the stream is
 * read.
 */
export function charsInMemory(stream: object): number {
  return charsOf.get(stream) ?? 0
}
