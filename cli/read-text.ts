import { createReadStream } from 'node:fs'
import { SourceError } from '../src/verify/source.ts'

/**
 * A small text file. No more than `bytesMax` and one byte is read: the parser refuses a longer file for its length, and
 * a file without an end must not fill the memory.
 */
export async function readText(path: string, bytesMax: number): Promise<string> {
  const pieces: Buffer[] = []
  try {
    for await (const piece of createReadStream(path, { end: bytesMax })) pieces.push(piece as Buffer)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new SourceError('io', `${path} cannot be read (${code})`, { cause: error })
  }
  return Buffer.concat(pieces).toString('utf8')
}
