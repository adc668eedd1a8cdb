import { constants, createWriteStream, fstatSync, openSync } from 'node:fs'
import { copyFile, open, rename, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { dirname } from 'node:path'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { makeDirectory } from '../sdk/node/make-directory.ts'
import { plain } from '../sdk/plain.ts'
import { copyStream } from '../src/verify/copy-stream.ts'
import { SourceError } from '../src/verify/source.ts'
import type { Io, Out } from './io.ts'
import { cannotWrite, findOutputTarget, type OutputTarget } from './output-target.ts'
import { UsageError } from './run.ts'

type Pieces = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>

/** Destination of a command's result (`-o`). */
export type Output = {
  /** The stream, if the output is standard output or standard error. null if the output is a file, pipe or device. */
  readonly stream: Out | null
  readonly isTTY: boolean
  /**
   * Writes the pieces. Call it only once.
   *
   * `verify` checks a file before the file gets its final name. It is not called for other outputs, because data that
   * was written to them cannot be taken back. Throws SourceError, and the errors of `pieces` and `verify`.
   */
  save(pieces: Pieces, verify?: (path: string) => Promise<void>): Promise<void>
}

/** Interval in ms of attempts to open a pipe that no process reads yet. */
const PIPE_READER_POLL_MS = 50

/**
 * Opens an output, calls `work` with it, and closes it. `out`: a path, or undefined or - for standard output. If the
 * path cannot be written, throws before `work` is called. `isPrivate`: only this user may read the file. Throws
 * UsageError, SourceError, and the errors of `work`.
 */
export async function withOutput<T>(
  out: string | undefined,
  { io, isPrivate }: { readonly io: Io; readonly isPrivate: boolean },
  work: (output: Output) => Promise<T>,
): Promise<T> {
  if (out === undefined || out === '-') return work(toStream(io.stdout))
  if (out === '') throw new UsageError('-o needs the name of a file')
  const target = await findOutputTarget(out, { isPrivate })
  if (target.kind === 'file') {
    const result = await withFile(target, { isPrivate }, work)
    // The message is only for people at a terminal. Scripts do not need it.
    if (io.stderr.isTTY) io.stderr.write(`tallystick: wrote ${plain(out)}\n`)
    return result
  }
  if (target.kind === 'descriptor' && target.fd === 1) return work(toStream(io.stdout))
  if (target.kind === 'descriptor' && target.fd === 2) return work(toStream(io.stderr))
  const fd = target.kind === 'descriptor' ? target.fd : await openSpecial(target, out, io)
  const to = openStream(fd)
  try {
    return await work({
      stream: null,
      isTTY: isatty(fd),
      save: (pieces) => copy(pieces, to, out),
    })
  } finally {
    to.destroy()
  }
}

/**
 * Writes a file under another name in the same folder and renames it, so that a crash leaves the old file intact.
 * Follows links. `isPrivate`: only this user may read the file, and a missing folder is created. Throws SourceError if
 * the file cannot be written.
 */
export async function writeFileWhole(
  path: string,
  content: string | Uint8Array,
  { isPrivate = false } = {},
): Promise<void> {
  if (isPrivate) await failing(path, async () => makeDirectory(dirname(path)))
  const target = await findOutputTarget(path, { isPrivate })
  if (target.kind !== 'file') throw cannotWrite(path, '(not a regular file)')
  await withFile(target, { isPrivate }, ({ save }) => save([content]))
}

/**
 * Throws UsageError if the output is a terminal. Payloads are other people's text, which may contain control characters
 * for the terminal. Escaping the characters would change the bytes of the export.
 */
export function refuseTerminal(what: string, { isTTY }: Output): void {
  if (!isTTY) return
  throw new UsageError(
    `${what} is not written to a terminal, because its text could control the terminal: name a file (-o FILE), or pipe it`,
  )
}

function toStream(stream: Out): Output {
  return {
    stream,
    isTTY: stream.isTTY ?? false,
    save: (pieces) => copy(pieces, stream as Writable, 'the output'),
  }
}

type FileTarget = OutputTarget & { readonly kind: 'file' }

async function withFile<T>(
  { path, exists }: FileTarget,
  { isPrivate }: { readonly isPrivate: boolean },
  work: (output: Output) => Promise<T>,
): Promise<T> {
  const part = `${path}.${process.pid}.part`
  // Always creates a new file. An existing file is never used, because others may be able to read it, or it may be a
  // link.
  const handle = await open(part, 'wx', isPrivate ? 0o600 : 0o666).catch((error: NodeJS.ErrnoException) => {
    throw cannotWrite(path, exists ? inPlace(error, path) : `(${error.code})`)
  })
  const to = handle.createWriteStream({ autoClose: false })
  const save: Output['save'] = async (pieces, verify) => {
    await copy(pieces, to, path)
    await failing(path, () => handle.sync())
    await verify?.(part)
    await failing(path, () => replace(part, path))
  }
  try {
    return await work({ stream: null, isTTY: false, save })
  } finally {
    // The stream is destroyed, because a failed stream would otherwise prevent the closing of the handle.
    to.destroy()
    await handle.close()
    await rm(part, { force: true })
  }
}

/**
 * Renames the file. In a container the target may be a mount, which a rename cannot replace. Then the content of the
 * mount is overwritten.
 */
async function replace(part: string, path: string): Promise<void> {
  try {
    await rename(part, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
    await copyFile(part, path)
  }
}

function inPlace({ code }: NodeJS.ErrnoException, path: string): string {
  return `(${code}): no new file can be made in its folder, to replace this one. \`-o - > ${path}\` writes into the file itself`
}

async function openSpecial({ kind, path }: OutputTarget & { path: string }, name: string, io: Io) {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY, O_APPEND } = constants
  for (let isReported = false; ; isReported = true) {
    try {
      // The wait for a pipe's reader happens in this process. A wait in the kernel would block signal handlers.
      return openSync(path, O_WRONLY | O_NOCTTY | (kind === 'pipe' ? O_NONBLOCK : O_APPEND))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (kind !== 'pipe' || code !== 'ENXIO') throw cannotWrite(name, `(${code})`)
    }
    if (!isReported) io.stderr.write(`tallystick: waiting until somebody reads ${name}\n`)
    await sleep(PIPE_READER_POLL_MS)
  }
}

/**
 * Opens a stream. For a pipe, the stream is non-blocking, because a slow reader must not block a thread of this
 * process.
 */
function openStream(fd: number): Writable {
  const stat = fstatSync(fd)
  if (stat.isFIFO() || stat.isSocket()) return new Socket({ fd, readable: false, writable: true })
  return createWriteStream('', { fd, autoClose: false })
}

function copy(pieces: Pieces, to: Writable, name: string): Promise<void> {
  return copyStream(asyncOf(pieces), to, ({ code }) =>
    code === 'EPIPE'
      ? new SourceError('io', `${name} was closed by its reader`)
      : cannotWrite(name, `(${code})`),
  )
}

async function* asyncOf(pieces: Pieces): AsyncGenerator<Uint8Array | string> {
  yield* pieces
}

async function failing(path: string, work: () => Promise<unknown>): Promise<void> {
  await work().catch((error: NodeJS.ErrnoException) => {
    throw cannotWrite(path, `(${error.code})`)
  })
}
