import { z } from 'zod'
import { POSITION_INDEX_MAX } from '../../db/records/search.ts'
import { RECORD_STATES } from '../../proof/statement/kinds.ts'
import { FILTER_ENTRIES, type FilterName } from '../../proof/statement/record-filters.ts'
import { pageOf, pageQuery } from '../answers/page.ts'
import { RECORD_WAIT_SECONDS_MAX } from '../limits.ts'
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

const FORMS = {
  type: typeName,
  state: z.enum(RECORD_STATES),
  agent: idOf('agt'),
  anyAgent,
  record: idOf('rec'),
  reference,
  trace: z.string().regex(/^[0-9a-f]{32}$/),
  time,
}

const filters = Object.fromEntries(
  FILTER_ENTRIES.map(([name, { form, description }]) => {
    const schema = form instanceof RegExp ? z.string().regex(form) : FORMS[form]
    return [name, (description ? schema.describe(description) : schema).optional()]
  }),
) as { [Name in FilterName]: z.ZodOptional<z.ZodString> }

export const recordListQuery = z.strictObject({
  ...filters,
  order: z.enum(['asc', 'desc']).describe('order of the chain; absent: desc, newest first').optional(),
  ...pageQuery,
})

export const recordListPage = pageOf(recordView)

const index = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
export const recordListCursor = z.tuple([index, z.int().min(0).max(POSITION_INDEX_MAX)])

export const recordQuery = z.strictObject({
  peer: sentBy.optional(),
  wait: waitText(RECORD_WAIT_SECONDS_MAX)
    .describe(
      `seconds to wait, at most ${RECORD_WAIT_SECONDS_MAX}, until the record’s version differs from If-None-Match. Without that header: while only the worker can take the next step`,
    )
    .optional(),
})
export const recordEntriesQuery = z.strictObject({ peer: sentBy.optional(), ...pageQuery })
export const recordEntriesCursor = z.tuple([z.int32().min(1)])

const stepDocument = z.strictObject({
  subject: z.string().describe('what the document is: `cmp_…` (evidence), `cmp_…/values`, or `rec_…/reason`'),
  digest: hash,
  salt: salt.nullable().describe('null: erased'),
  document: z
    .union([z.looseObject({}), z.array(z.looseObject({})), z.string()])
    .nullable()
    .describe('an object, a list of values, or the text of a reason; null: erased'),
  erasedBy: seq.nullable().describe('seq of the entry that erased the document'),
})
export const recordEntriesPage = pageOf(
  signedEntry.extend({
    signedBy: signedBy.optional().describe('absent for a record of another ledger'),
    document: stepDocument
      .nullable()
      .describe('the document of the step; null: the step has none. The payload is in the record'),
    received: base64
      .describe('for a record of another ledger: the received envelope, to which `document` belongs')
      .optional(),
  }),
)

export const recordTreeQuery = z.strictObject(pageQuery)
export const recordTree = z.strictObject({
  record: recordView,
  ancestors: z.array(recordView).describe('from the root to the record’s parent'),
  children: pageOf(recordView),
})
