import { createReadStream } from 'node:fs'
import { SourceError } from './source.ts'

/** Limit for a PEM file of a key, which has a few hundred bytes. */
export const PEM_BYTES_MAX = 16 * 1024

export async function readText(path: string, bytesMax: number): Promise<string> {
  return (await readBytes(path, bytesMax)).toString('utf8')
}

/**
 * Reads a small file. Throws SourceError.
 *
 * Reads at most `bytesMax` + 1 bytes, so that a file without an end cannot fill the memory. The extra byte makes the
 * parser refuse a file that is too long.
 */
export async function readBytes(path: string, bytesMax: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  try {
    for await (const piece of createReadStream(path, { end: bytesMax })) pieces.push(piece as Buffer)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new SourceError('io', `${path} cannot be read (${code})`, { cause: error })
  }
  return Buffer.concat(pieces)
}
