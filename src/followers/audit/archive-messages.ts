import type { MessagePort } from 'node:worker_threads'
import type { ArchiveContent, ChunkInArchive, EnvelopesInArchive } from '../../db/connect/archive.ts'
import { ArchiveFault, archiveUnavailable, NO_ARCHIVE_DETAIL } from '../../db/connect/archive.ts'
import { ownCopies, ownCopy } from '../../proof/bytes.ts'

/*
 * Messages by which an audit's thread reads archived content. The thread sends requests to the main thread, which has
 * the keys.
 */

type ContentQuery = { readonly chunk: ChunkInArchive } | { readonly envelopes: EnvelopesInArchive }

export type ContentRequest = ContentQuery & { readonly id: number }

/**
 * The response to a request.
 *
 * - `found`: the chunk's content, or each envelope.
 * - `fault`: the archive has lost or changed the content.
 * - `failure`: the read failed.
 */
export type ContentResponse = { readonly id: number } & (
  | { readonly found: readonly Uint8Array[] }
  | { readonly fault: string }
  | { readonly failure: string }
)

/** Answers a thread's request. `archive`: null if this process has no archive. */
export async function answerContent(
  archive: ArchiveContent | null,
  request: ContentRequest,
): Promise<ContentResponse> {
  const answered = request.id
  try {
    if (archive === null) throw new Error(NO_ARCHIVE_DETAIL)
    // Copied, because a message transfers the whole buffer that a view belongs to.
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

/** The archive as the thread sees it. `send`: sends a message to the main thread. */
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
