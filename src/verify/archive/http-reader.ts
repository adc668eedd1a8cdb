import { ARCHIVE_REQUEST_MS_MAX } from './limits.ts'
import { readBody } from './read-body.ts'
import { type ArchiveReader, ArchiveStoreError } from './store.ts'

/**
 * Returns a reader of an archive on a web server, or in a bucket with public objects. Objects are fetched by GET below
 * `url`.
 */
export function httpReader(url: URL, name: string): ArchiveReader {
  const base = url.href.replace(/\/*$/, '/')
  return {
    name,
    async get(object, bytesMax, signal) {
      try {
        const within = AbortSignal.timeout(ARCHIVE_REQUEST_MS_MAX)
        const answer = await fetch(new URL(object, base), {
          signal: signal ? AbortSignal.any([within, signal]) : within,
          redirect: 'error',
        })
        if (answer.status === 404) {
          await answer.body?.cancel()
          return null
        }
        if (!answer.ok || answer.body === null) throw new Error(`the answer was ${answer.status}`)
        return await readBody(answer.body, bytesMax)
      } catch (error) {
        throw new ArchiveStoreError(`${object}: ${(error as Error).message}`, { cause: error })
      }
    },
  }
}
