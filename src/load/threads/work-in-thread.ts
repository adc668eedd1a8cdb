import { parentPort } from 'node:worker_threads'
import type { Ended, Given } from './piece.ts'

/**
 * Makes this thread one of a pool (pool.ts): one piece of work after another, so that it can be ended at any time. An error that a
 * function throws is a bug: a refusal is a value.
 */
export function workInThread(work: { readonly [name: string]: (input: never) => unknown }): void {
  parentPort!.on('message', ({ name, input }: Given) => {
    let ended: Ended
    try {
      ended = { done: work[name]!(input as never) }
    } catch (error) {
      ended = { threw: (error as Error).stack ?? String(error) }
    }
    parentPort!.postMessage(ended)
  })
}
