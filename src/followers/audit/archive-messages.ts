import type { MessagePort } from 'node:worker_threads'
import type { ArchiveContent, ChunkInArchive, EnvelopesInArchive } from '../../db/connect/archive.ts'
import { ArchiveFault, archiveUnavailable, NO_ARCHIVE_DETAIL } from '../../db/connect/archive.ts'
import { ownCopies, ownCopy } from '../../proof/bytes.ts'

/*
 * Messages with which an audit's thread reads archived content. The thread sends its requests to the main thread,
 * because only the main thread has the keys.
 */

type ContentQuery = { readonly chunk: ChunkInArchive } | { readonly envelopes: EnvelopesInArchive }

export type ContentRequest = ContentQuery & { readonly id: number }

/**
 * The answer to a request.
 *
 * - `found`: the content of the chunk, or the envelopes.
 * - `fault`: the archive has lost or changed the content.
 * - `failure`: the content could not be read.
 */
export type ContentResponse = { readonly id: number } & (
  | { readonly found: readonly Uint8Array[] }
  | { readonly fault: string }
  | { readonly failure: string }
)

/** Answers a request of a thread. `archive` is null if this process has no archive. */
export async function answerContent(
  archive: ArchiveContent | null,
  request: ContentRequest,
): Promise<ContentResponse> {
  const answered = request.id
  try {
    if (archive === null) throw new Error(NO_ARCHIVE_DETAIL)
    // The content is copied, because a message would transfer the whole buffer that a view is part of.
    const found =
      'chunk' in request
        ? [ownCopy(await archive.read(request.chunk))]
        : ownCopies(await archive.readEnvelopes(request.envelopes))
    return { id: answered, found }
  } catch (error) {
    const { message } = error as Error
    return error instanceof ArchiveFault
      ? { id: answered, fault: message }
      : { id: answered, failure: message }
  }
}

/**
 * The archive for the audit's thread. Each read is a request to the main thread. `send`: sends a message to the main
 * thread.
 */
export class RemoteContent implements ArchiveContent {
  readonly #send: (message: ContentRequest) => void
  readonly #port: MessagePort
  #next = 0

  constructor(port: MessagePort, send: (message: ContentRequest) => void) {
    this.#port = port
    this.#send = send
  }

  async read(chunk: ChunkInArchive): Promise<Uint8Array> {
    const [content] = await this.#request({ chunk })
    return content!
  }

  async readEnvelopes(envelopes: EnvelopesInArchive): Promise<Uint8Array[]> {
    return [...(await this.#request({ envelopes }))]
  }

  async #request(question: ContentQuery): Promise<readonly Uint8Array[]> {
    const id = this.#next++
    const answer = await new Promise<ContentResponse>((resolve) => {
      const onMessage = (message: ContentResponse) => {
        if (message.id !== id) return
        this.#port.off('message', onMessage)
        resolve(message)
      }
      this.#port.on('message', onMessage)
      this.#send({ ...question, id })
    })
    if ('fault' in answer) throw new ArchiveFault(answer.fault)
    if ('failure' in answer) throw archiveUnavailable(answer.failure)
    return answer.found
  }
}
