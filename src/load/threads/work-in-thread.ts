import { parentPort } from 'node:worker_threads'
import type { ThreadInput, ThreadOutput } from './thread-work.ts'

/**
 * Makes this thread a worker of a pool (pool.ts). The thread does one piece of work after another, and the pool may
 * end the thread at any time. A function MUST return refusals as values. An error that it throws counts as a bug.
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
