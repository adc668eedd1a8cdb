import { z } from 'zod'
import { PLACE_INDEX_MAX } from '../../db/records/search.ts'
import { RECORD_STATES } from '../../proof/statement/kinds.ts'
import { RECORD_WAIT_SECONDS_MAX } from '../limits.ts'
import { pageOf, pageQuery } from '../page.ts'
import {
  anyAgent,
  base64,
  hash,
  idOf,
  salt,
  sentBy,
  seq,
  signedBy,
  signedEntry,
  typeName,
  waitText,
} from './common.ts'
import { recordView, reference } from './records.ts'
import { time } from './times.ts'

/**
 * Adding a filter: here, in `parseFilters` (src/records/search.ts), and in the tables FILTERS (src/db/records/search-streams.ts) and
 * BATCH_FILTERS (src/db/records/batch-filters.ts).
 */
const filters = {
  type: typeName.optional(),
  state: z.enum(RECORD_STATES).optional(),
  actor: idOf('agt').optional(),
  onBehalfOf: idOf('agt').optional(),
  performer: anyAgent.describe('of a gated record: who delivers').optional(),
  principal: idOf('agt').describe('of a gated record: who judges').optional(),
  parent: idOf('rec').optional(),
  reference: reference.describe('exactly one of its references').optional(),
  traceId: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .describe('of its traceparent')
    .optional(),
  occurredAfter: time.describe('occurredAt, inclusive; records without one are left out').optional(),
  occurredBefore: time.describe('occurredAt, exclusive; records without one are left out').optional(),
  recordedAfter: time.describe('recordedAt, inclusive').optional(),
  recordedBefore: time.describe('recordedAt, exclusive').optional(),
}

export const recordListQuery = z.strictObject({
  ...filters,
  order: z.enum(['asc', 'desc']).describe('of the chain; absent: desc, newest first').optional(),
  ...pageQuery,
})

export const recordListPage = pageOf(recordView)

const place = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
export const recordListCursor = z.tuple([place, z.int().min(0).max(PLACE_INDEX_MAX)])

export const recordQuery = z.strictObject({
  peer: sentBy.optional(),
  wait: waitText(RECORD_WAIT_SECONDS_MAX)
    .describe(
      `seconds, ${RECORD_WAIT_SECONDS_MAX} at most: until the record leaves the version of If-None-Match, or without it the states in which it waits for the worker alone`,
    )
    .optional(),
})
export const recordEntriesQuery = z.strictObject({ peer: sentBy.optional(), ...pageQuery })
export const recordEntriesCursor = z.tuple([z.int32().min(1)])

const stepDocument = z.strictObject({
  subject: z.string().describe('`cmp_…` (evidence), `cmp_…/values`, or `rec_…/reason`'),
  digest: hash,
  salt: salt.nullable().describe('null once erased'),
  document: z
    .union([z.looseObject({}), z.array(z.looseObject({})), z.string()])
    .nullable()
    .describe('an object, the list of values, or the text of a reason; null once erased'),
  erasedBy: seq.nullable().describe('the entry that says so'),
})
export const recordEntriesPage = pageOf(
  signedEntry.extend({
    signedBy: signedBy.optional().describe('absent of a record of another ledger'),
    document: stepDocument
      .nullable()
      .describe("the step's own; null without one. The payload lies in the record"),
    received: base64
      .describe(
        'of a record of another ledger: its envelope, which the entry received; `document` is of that',
      )
      .optional(),
  }),
)

export const recordTreeQuery = z.strictObject(pageQuery)
export const recordTree = z.strictObject({
  record: recordView,
  ancestors: z.array(recordView).describe('from the first one, without a parent, to its parent'),
  children: pageOf(recordView),
})
