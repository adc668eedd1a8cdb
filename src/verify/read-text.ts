import { createReadStream } from 'node:fs'
import { SourceError } from './source.ts'

/** Maximum size of a key's PEM file in bytes. Such a file usually has a few hundred bytes. */
export const PEM_BYTES_MAX = 16 * 1024

export async function readText(path: string, bytesMax: number): Promise<string> {
  return (await readBytes(path, bytesMax)).toString('utf8')
}

/**
 * Reads a small file. Throws SourceError.
 *
 * Reads at most `bytesMax` + 1 bytes, so that an endless file cannot fill the memory. Because of the extra byte, the
 * parser refuses a file that is too long.
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
