import { validateText } from '../../ledgers/types/schema/validate-text.ts'
import { readJson } from '../../load/threads/read-json.ts'
import { workInThread } from '../../load/threads/work-in-thread.ts'
import { readBatch } from './read-batch.ts'
import { readOtlp } from './read-otlp.ts'
import { readRecord } from './read-record.ts'

/*
 * A thread of a server's or worker's pool. It keeps nothing between pieces of work but a compiled schema, and reaches neither the
 * database nor a key.
 */

/** Everything that is done in threads, by name. */
const WORK = { readJson, readBatch, readOtlp, readRecord, validateText }
export type Work = typeof WORK

workInThread(WORK)
