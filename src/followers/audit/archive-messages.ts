import type { MessagePort } from 'node:worker_threads'
import type { ArchiveContent, ChunkInArchive, EnvelopesInArchive } from '../../db/connect/archive.ts'
import { ArchiveFault, archiveUnavailable, NO_ARCHIVE_DETAIL } from '../../db/connect/archive.ts'
import { ownCopies, ownCopy } from '../../proof/bytes.ts'

/*
 * Messages by which an audit's thread reads archived content. The thread sends requests to its process, which has the
 * keys.
 */

type Question = { readonly chunk: ChunkInArchive } | { readonly envelopes: EnvelopesInArchive }

export type AskedContent = Question & { readonly asked: number }

/**
 * Response: `found`: the chunk's content, or each envelope; `fault`: the archive has lost or changed it; `failure`:
 * the read failed.
 */
export type AnsweredContent = { readonly answered: number } & (
  | { readonly found: readonly Uint8Array[] }
  | { readonly fault: string }
  | { readonly failure: string }
)

/** Answers a thread's request. `archive`: null if this process has no archive. */
export async function answerContent(
  archive: ArchiveContent | null,
  asked: AskedContent,
): Promise<AnsweredContent> {
  const answered = asked.asked
  try {
    if (archive === null) throw new Error(NO_ARCHIVE_DETAIL)
    // Copied, because a message transfers the whole buffer that a view belongs to.
    const found =
      'chunk' in asked
        ? [ownCopy(await archive.read(asked.chunk))]
        : ownCopies(await archive.readEnvelopes(asked.envelopes))
    return { answered, found }
  } catch (error) {
    const { message } = error as Error
    return error instanceof ArchiveFault ? { answered, fault: message } : { answered, failure: message }
  }
}

/** The thread's side. `say`: sends a message to the process. */
export class AskingContent implements ArchiveContent {
  readonly #say: (message: AskedContent) => void
  readonly #port: MessagePort
  #next = 0

  constructor(port: MessagePort, say: (message: AskedContent) => void) {
    this.#port = port
    this.#say = say
  }

  async read(chunk: ChunkInArchive): Promise<Uint8Array> {
    const [content] = await this.#ask({ chunk })
    return content!
  }

  async readEnvelopes(envelopes: EnvelopesInArchive): Promise<Uint8Array[]> {
    return [...(await this.#ask({ envelopes }))]
  }

  async #ask(question: Question): Promise<readonly Uint8Array[]> {
    const asked = this.#next++
    const answer = await new Promise<AnsweredContent>((resolve) => {
      const hear = (message: AnsweredContent) => {
        if (message.answered !== asked) return
        this.#port.off('message', hear)
        resolve(message)
      }
      this.#port.on('message', hear)
      this.#say({ ...question, asked })
    })
    if ('fault' in answer) throw new ArchiveFault(answer.fault)
    if ('failure' in answer) throw archiveUnavailable(answer.failure)
    return answer.found
  }
}
