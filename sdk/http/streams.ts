import { type Asked, bytesOf, unexpected, wrongServer } from './answers.ts'
import type { Patience } from './patience.ts'

/**
 * An answer as it comes. While somebody waits for its next piece, that has as long as an answer has; a reader may take as long as it
 * likes. A stream that breaks off throws an error that `explain` makes; it never just ends.
 */
export function watchedStream(
  body: ReadableStream<Uint8Array>,
  patience: Patience,
  explain: (error: unknown) => unknown,
): ReadableStream<Uint8Array> {
  patience.pause()
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        patience.begin()
        try {
          const { done, value } = await reader.read()
          patience.pause()
          if (!done) return controller.enqueue(value)
          patience.end()
          controller.close()
        } catch (error) {
          patience.giveUp()
          throw explain(error)
        }
      },
      cancel() {
        patience.giveUp()
      },
    },
    // Nothing is read ahead of the reader.
    { highWaterMark: 0 },
  )
}

/** More than the line of the largest batch that a server takes (4 MiB as it is sent; in canonical form it can be longer). */
const LINE_BYTES_MAX = 32 * 1024 * 1024
const NEWLINE = 0x0a

/** The lines of NDJSON. One that never ends must not fill the memory; one that is cut off is an error. */
export async function* linesOf(
  stream: ReadableStream<Uint8Array>,
  asked: Asked,
  lineBytesMax = LINE_BYTES_MAX,
): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  // Text, not bytes: a piece of one byte would take some hundred.
  let begun: string[] = []
  let begunBytes = 0
  for await (const piece of bytesOf(stream)) {
    let from = 0
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, from)) {
      yield begun.join('') + decoder.decode(piece.subarray(from, end))
      begun = []
      begunBytes = 0
      from = end + 1
    }
    if (from === piece.length) continue
    begun.push(decoder.decode(piece.subarray(from), { stream: true }))
    begunBytes += piece.length - from
    if (begunBytes > lineBytesMax)
      throw wrongServer(`${asked.name} answered a line of more than ${lineBytesMax} bytes`, asked)
  }
  if (begunBytes > 0) throw unexpected(`${asked.name} ended in the middle of a line`, asked)
}

const LAST_LINE = '{"checkpoint":'

/** Passes an export on, and fails at its end unless that is the last line of one (docs/formats/export.md). */
export function wholeExport(asked: Asked): TransformStream<Uint8Array, Uint8Array> {
  const head = (bytes: Uint8Array) => new TextDecoder().decode(bytes.subarray(0, LAST_LINE.length))
  /** How the last whole line begins, and the one that has begun. */
  let last = ''
  let begun = ''
  return new TransformStream({
    transform(piece, controller) {
      const end = piece.lastIndexOf(NEWLINE)
      const from = end <= 0 ? 0 : piece.lastIndexOf(NEWLINE, end - 1) + 1
      if (end >= 0) last = from === 0 ? begun + head(piece.subarray(0, end)) : head(piece.subarray(from, end))
      begun = (end >= 0 ? '' : begun) + head(piece.subarray(end + 1))
      controller.enqueue(piece)
    },
    flush() {
      if (begun !== '' || !last.startsWith(LAST_LINE))
        throw unexpected(`${asked.name} ended before the export's last line`, asked)
    },
  })
}
