import type { MessagePort } from 'node:worker_threads'
import { ARCHIVE_UNTOLD, archiveUnavailable, ReleasedFault } from '../../db/chunks/released-chunks.ts'
import type { ChunkInArchive, ReleasedContent } from '../../db/connect/released-content.ts'

/* How the thread of an audit reads what has left Postgres: it asks its process, which has the keys. */

export type AskedChunk = { readonly asked: number; readonly chunk: ChunkInArchive }

/** `fault`: the archive has lost or changed it; `failure`: nobody knows. */
export type AnsweredChunk = { readonly answered: number } & (
  | { readonly content: Uint8Array }
  | { readonly fault: string }
  | { readonly failure: string }
)

/** Answers a question of a thread. `released` null: this process has no archive. */
export async function answerChunk(
  released: ReleasedContent | null,
  { asked, chunk }: AskedChunk,
): Promise<AnsweredChunk> {
  try {
    if (released === null) throw new Error(ARCHIVE_UNTOLD)
    return { answered: asked, content: Uint8Array.from(await released.read(chunk)) }
  } catch (error) {
    const { message } = error as Error
    return error instanceof ReleasedFault
      ? { answered: asked, fault: message }
      : { answered: asked, failure: message }
  }
}

/** The thread's end. `say`: to its process. */
export class AskingContent implements ReleasedContent {
  readonly #say: (message: AskedChunk) => void
  readonly #port: MessagePort
  #next = 0

  constructor(port: MessagePort, say: (message: AskedChunk) => void) {
    this.#port = port
    this.#say = say
  }

  async read(chunk: ChunkInArchive): Promise<Uint8Array> {
    const asked = this.#next++
    const answer = await new Promise<AnsweredChunk>((resolve) => {
      const hear = (message: AnsweredChunk) => {
        if (message.answered !== asked) return
        this.#port.off('message', hear)
        resolve(message)
      }
      this.#port.on('message', hear)
      this.#say({ asked, chunk })
    })
    if ('fault' in answer) throw new ReleasedFault(answer.fault)
    if ('failure' in answer) throw archiveUnavailable(answer.failure)
    return answer.content
  }
}
