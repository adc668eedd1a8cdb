import { readJson } from '../append/threads/read-json.ts'
import { workInThread } from '../append/threads/work-in-thread.ts'
import { readBatch } from './read-batch.ts'

/* A thread of a server's or worker's pool. It keeps nothing between pieces of work, and reaches neither the database nor a key. */

/** Everything that is done in threads, by name. */
const WORK = { readJson, readBatch }
export type Work = typeof WORK

workInThread(WORK)
