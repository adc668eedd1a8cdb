import { parentPort } from 'node:worker_threads'
import type { ThreadInput, ThreadOutput } from './thread-work.ts'

/**
 * Makes this thread do the work of a pool (pool.ts), one piece after another. The pool may end the thread at any time.
 * A function of `work` MUST return a refusal as a value. If it throws, this is treated as a bug.
 */
export function workInThread(work: { readonly [name: string]: (input: never) => unknown }): void {
  parentPort!.on('message', ({ name, input }: ThreadInput) => {
    let ended: ThreadOutput
    try {
      ended = { done: work[name]!(input as never) }
    } catch (error) {
      ended = { threw: (error as Error).stack ?? String(error) }
    }
    parentPort!.postMessage(ended)
  })
}
