import { parentPort } from 'node:worker_threads'
import type { ThreadInput, ThreadOutput } from './thread-work.ts'

/**
 * Makes this thread a worker of a pool (pool.ts). It does one piece of work after another, so that it can be ended at
 * any time. A function MUST return refusals as values: an error that it throws is a bug.
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
