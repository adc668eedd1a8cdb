import { bytesOf, type CallInfo, unexpected, wrongServer } from './answers.ts'
import type { Patience } from './patience.ts'

/**
 * Returns the body with a timeout for each read. Each read may take `timeoutMs`, but the reader may take any time
 * between reads. If the stream breaks, a read throws the error that `explain` returns. So a broken stream never looks
 * complete.
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
    // The stream reads only when its reader reads.
    { highWaterMark: 0 },
  )
}

/**
 * Maximum length of a line in bytes. No line of a batch is longer: a server accepts 4 MiB per request, and the
 * canonical form can be longer than the request.
 */
const LINE_BYTES_MAX = 32 * 1024 * 1024
const NEWLINE = 0x0a

/**
 * Yields the lines of NDJSON. Throws UnexpectedAnswerError for a line that is cut off or longer than `lineBytesMax`,
 * because an endless line must not fill the memory.
 */
export async function* linesOf(
  stream: ReadableStream<Uint8Array>,
  asked: CallInfo,
  lineBytesMax = LINE_BYTES_MAX,
): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  // The unfinished line is stored as text, because an array of bytes takes some hundred bytes of memory even for a
  // chunk of one byte.
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
      throw wrongServer(`${asked.name} answered with a line of more than ${lineBytesMax} bytes`, asked)
  }
  if (begunBytes > 0) throw unexpected(`${asked.name} ended in the middle of a line`, asked)
}

const LAST_LINE = '{"checkpoint":'

/**
 * Passes an export through. Throws at the end if the last line is not the last line of an export
 * (docs/formats/export.md).
 */
export function wholeExport(asked: CallInfo): TransformStream<Uint8Array, Uint8Array> {
  const head = (bytes: Uint8Array) => new TextDecoder().decode(bytes.subarray(0, LAST_LINE.length))
  /** Beginning of the last complete line, and beginning of the unfinished line. */
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
