import { createReadStream } from 'node:fs'
import { SourceError } from './source.ts'

/** A PEM file of a key has a few hundred. */
export const PEM_BYTES_MAX = 16 * 1024

export async function readText(path: string, bytesMax: number): Promise<string> {
  return (await readBytes(path, bytesMax)).toString('utf8')
}

/**
 * Reads a small file, at most `bytesMax` + 1 bytes. The parser then refuses a longer file for its length, and a file
 * without an end cannot fill the memory. Throws SourceError.
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
