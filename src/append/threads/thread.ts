import { parentPort } from 'node:worker_threads'
import type { Ended, Given } from './piece.ts'
import { readJson } from './read-json.ts'

/*
 * A thread of the pool (pool.ts): one piece of work after another. It keeps nothing between them, so that it can be ended at any
 * time, and it reaches neither the database nor a key.
 */

/** Everything that is done in threads, by name. An error that it throws is a bug: a refusal is a value. */
const WORK = { readJson }
export type Work = typeof WORK

parentPort!.on('message', ({ name, input }: Given) => {
  let ended: Ended
  try {
    ended = { done: WORK[name as keyof Work](input as Parameters<Work[keyof Work]>[0]) }
  } catch (error) {
    ended = { threw: (error as Error).stack ?? String(error) }
  }
  parentPort!.postMessage(ended)
})
