import { createReadStream } from 'node:fs'
import { SourceError } from './source.ts'

/** A PEM file of a key has some hundred. */
export const PEM_BYTES_MAX = 16 * 1024

/** A small text file, as readBytes reads it. */
export async function readText(path: string, bytesMax: number): Promise<string> {
  return (await readBytes(path, bytesMax)).toString('utf8')
}

/**
 * A small file. No more than `bytesMax` and one byte is read: the parser refuses a longer file for its length, and
 * a file without an end must not fill the memory.
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
