import { validateText } from '../../ledgers/types/schema/validate-text.ts'
import { readJson } from '../../load/threads/read-json.ts'
import { workInThread } from '../../load/threads/work-in-thread.ts'
import { readBatch } from './read-batch.ts'
import { readOtlp } from './read-otlp.ts'
import { readRecord } from './read-record.ts'

/*
 * Script of a thread in the pool of a server or worker. Between two tasks the thread stores nothing except a compiled
 * schema. It has no access to the database or to keys.
 */

const WORK = { readJson, readBatch, readOtlp, readRecord, validateText }
export type Work = typeof WORK

workInThread(WORK)
