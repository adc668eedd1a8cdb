import { createReadStream } from 'node:fs'
import { SourceError } from '../src/verify/source.ts'

/** Returns a function that streams a file of any length. Errors of the stream are SourceErrors. */
export function openPieces(path: string): () => AsyncIterable<Uint8Array> {
  return async function* read() {
    try {
      yield* createReadStream(path) as AsyncIterable<Uint8Array>
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new SourceError('io', `${path} cannot be read (${code})`, { cause: error })
    }
  }
}
