import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { type DestinationStream, pino } from 'pino'
import { LOG_FLUSH_MS_MAX, LOG_WAITING_BYTES_MAX, OUTPUT_RETRY_MS, OUTPUT_WAIT_MS_MAX } from './limits.ts'

type Options = {
  readonly dropped?: () => void
  readonly format?: (line: string) => string
}

/**
 * Standard output as the destination of a log. If the reader stops reading (a log shipper that hangs, Ctrl-S), neither
 * the process nor its end is delayed. Lines wait in memory, up to LOG_WAITING_BYTES_MAX. Further lines are dropped and
 * counted.
 */
export class StandardOutput implements DestinationStream {
  readonly #out: ReturnType<typeof pino.destination>
  readonly #format: (line: string) => string
  #dropped = 0
  #flushUntilMs = Infinity

  constructor({ dropped = () => {}, format = (line) => line }: Options = {}) {
    this.#format = format
    this.#out = pino.destination({
      dest: descriptorThatNeverWaits(1),
      sync: false,
      maxLength: LOG_WAITING_BYTES_MAX,
      retryEAGAIN: () => performance.now() < this.#flushUntilMs,
    })
    this.#out.on('drop', () => {
      this.#dropped++
      dropped()
    })
    // A failed write, for example on a full disk, is ignored. Its lines are written together with the next line.
    this.#out.on('error', () => {})
    const flush = this.#out.flushSync.bind(this.#out)
    // pino calls `flushSync` when the process ends, for example. If nobody reads the log, the flush must not delay the
    // end.
    this.#out.flushSync = () => {
      this.#flushUntilMs = performance.now() + LOG_FLUSH_MS_MAX
      try {
        flush()
      } catch {
        // The remaining lines are lost, because nobody reads them.
      }
      this.#flushUntilMs = Infinity
    }
  }

  write(line: string): void {
    this.#out.write(this.#format(line))
  }

  flushSync(): void {
    this.#out.flushSync()
  }

  /** Calls `report` with the number of dropped lines as soon as the reader has read the waiting lines. */
  onLoss(report: (lines: number) => void): void {
    this.#out.on('drain', () => {
      if (this.#dropped === 0) return
      const lines = this.#dropped
      this.#dropped = 0
      report(lines)
    })
  }
}

/**
 * Writes a line to standard output (1) or standard error (2). Waits at most OUTPUT_WAIT_MS_MAX for the reader.
 * `console.error` is not used, because it may block for ever, and the process could then not end.
 */
export function writeLine(line: string, fd: 1 | 2 = 2): void {
  const giveUpAtMs = performance.now() + OUTPUT_WAIT_MS_MAX
  let rest = Buffer.from(`${line}\n`)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptorThatNeverWaits(fd), rest))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() > giveUpAtMs) return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, OUTPUT_RETRY_MS)
    }
  }
}

const descriptors = new Map<1 | 2, number>()

/**
 * Opens the same pipe or terminal again with O_NONBLOCK, because a blocked write would keep the process from ending.
 * The inherited descriptor is not changed: other processes share its flags, and each of them resets the flags when it
 * ends. A file never blocks, so a file is not opened again.
 */
function descriptorThatNeverWaits(fd: 1 | 2): number {
  const known = descriptors.get(fd)
  if (known !== undefined) return known
  const found = reopen(fd)
  descriptors.set(fd, found)
  return found
}

function reopen(fd: 1 | 2): number {
  try {
    const stat = fstatSync(fd)
    if (stat.isSocket()) throw new Error('a socket cannot be opened again')
    if (!stat.isFIFO() && !isatty(fd)) return fd
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)
  } catch {
    // Opening has failed, because the descriptor is a socket or another user's pipe, or there is no /proc. Node sets
    // the flag on the inherited descriptor when it makes its stream.
    void (fd === 1 ? process.stdout : process.stderr)
    return fd
  }
}
