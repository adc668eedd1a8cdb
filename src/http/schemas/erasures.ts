import { z } from 'zod'
import { REASON_CHARS_MAX } from '../../limits.ts'
import { entryView, erasureCode, idOf, instant } from './common.ts'

export const eraseBody = z
  .strictObject({
    code: erasureCode,
    reason: z.string().min(1).max(REASON_CHARS_MAX).describe('free text, for people; not signed').optional(),
  })
  .meta({ examples: [{ code: 'data_subject_request', reason: 'ticket 4711' }] })

export const payloadErasure = z.strictObject({
  id: idOf('rec'),
  erasure: z.strictObject({
    code: erasureCode,
    reason: z.string().nullable().describe('not signed'),
    by: idOf('agt'),
    key: idOf('key'),
    recordedAt: instant,
    entry: entryView,
  }),
})
