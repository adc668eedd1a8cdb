import { z } from 'zod'
import { ERASABLE_LISTED_MAX } from '../../records/limits.ts'
import { REASON_CHARS_MAX } from '../limits.ts'
import { entryView, erasureCode, idOf, instant, seq } from './common.ts'

export const completionParams = z.strictObject({ id: z.string(), completion: z.string() })
export const recordEntryParams = z.strictObject({ id: z.string(), seq: z.string() })

export const eraseBody = z
  .strictObject({
    code: erasureCode,
    reason: z.string().min(1).max(REASON_CHARS_MAX).describe('free text, for people; not signed').optional(),
  })
  .meta({ examples: [{ code: 'data_subject_request', reason: 'ticket 4711' }] })

const document = z.enum(['payload', 'evidence', 'values', 'reason'])
const completion = idOf('cmp')
  .nullable()
  .describe('the completion that has the evidence or the compared values')

export const erasable = z
  .strictObject({
    document,
    seq: seq.describe('seq of the entry that has the document’s digest'),
    completion,
    address: z.string().describe('the address of the request that erases the document'),
  })
  .meta({ id: 'ErasableDocument' })

export const remaining = z
  .array(erasable)
  .max(ERASABLE_LISTED_MAX)
  .describe('the record’s other documents, oldest first')

export const erasureView = z.strictObject({
  id: idOf('rec'),
  erasure: z.strictObject({
    document,
    documentSeq: seq.describe('seq of the entry that has the digest of the erased document'),
    completion,
    code: erasureCode,
    reason: z.string().nullable().describe('not signed'),
    by: idOf('agt'),
    key: idOf('key'),
    recordedAt: instant,
    entry: entryView,
  }),
  remaining,
})
