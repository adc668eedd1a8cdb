import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { TallystickError } from '../sdk/errors.ts'
import { SourceError } from '../src/verify/source.ts'
import type { Io } from './io.ts'
import { UsageError } from './run.ts'

/**
 * Saves lines with documents as they come: to standard output (`out` is undefined or -), or beside the file and renamed, so that a file of
 * the final name is a complete one. `verify`: looks at the written file before it gets its name. Throws SourceError, and what `pieces` and
 * `verify` throw.
 */
export async function saveStream(
  pieces: AsyncIterable<Uint8Array | string>,
  out: string | undefined,
  io: Io,
  verify: (part: string) => Promise<void> = async () => {},
): Promise<void> {
  if (out === undefined || out === '-') return saving(() => pipeline(pieces, io.stdout, { end: false }))
  const part = `${out}.${process.pid}.part`
  try {
    // 0600, and a file of its own: it holds documents, and what lies there may be readable to others, or a link.
    await saving(() => pipeline(pieces, createWriteStream(part, { flags: 'wx', mode: 0o600 })))
    await verify(part)
    await rename(part, out)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/**
 * Payloads are what others wrote, and may drive a terminal. They can't be made harmless as elsewhere: an export with other bytes is
 * another export.
 */
export function refuseTerminal(what: string, out: string | undefined, { stdout }: Io): void {
  if ((out !== undefined && out !== '-') || !stdout.isTTY) return
  throw new UsageError(
    `${what} is not written to a terminal, which what others wrote in it could drive: name a file (-o FILE), or pipe it`,
  )
}

/** Saves; the SDK reports what is wrong at the server's end. */
async function saving(save: () => Promise<void>): Promise<void> {
  try {
    await save()
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    if (code === undefined || error instanceof TallystickError) throw error
    if (code === 'EPIPE') throw new SourceError('io', 'standard output was closed')
    throw new SourceError('io', `${path ?? 'the file'} cannot be written (${code})`)
  }
}
