import { z } from 'zod'
import { pageOf } from '../answers/page.ts'
import { REASON_CHARS_MAX } from '../limits.ts'
import { entryView, erasureCode, idOf, seq } from './common.ts'
import { erasable } from './erasures.ts'
import { subjectLabel } from './records.ts'

const cursor = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,512}$/)
  .describe('`nextCursor` of the previous answer')
  .optional()
export const subjectCursor = z.tuple([z.int().min(-1), z.int().min(0)])

/** The label is in a body, not in the address, because addresses are written into logs. */
export const findSubjectBody = z
  .strictObject({ subject: subjectLabel, cursor })
  .meta({ examples: [{ subject: 'customer-4711' }] })

export const subjectPage = pageOf(
  z.strictObject({ record: idOf('rec'), documents: z.array(erasable) }).meta({ id: 'SubjectRecord' }),
)

export const eraseSubjectBody = z
  .strictObject({
    subject: subjectLabel,
    code: erasureCode,
    reason: z.string().min(1).max(REASON_CHARS_MAX).describe('free text, for people; not signed').optional(),
    cursor,
  })
  .meta({ examples: [{ subject: 'customer-4711', code: 'data_subject_request' }] })

export const subjectReceipt = z
  .strictObject({
    entry: z
      .strictObject({ seq: entryView.shape.seq })
      .describe('the entry `subject-erased`, which lists what was erased'),
    erased: z.array(seq).describe('seqs of the entries that each erased a document'),
    held: z
      .array(
        z.strictObject({
          ...erasable.shape,
          record: idOf('rec'),
          case: z.string().describe('the case of the hold, or why a peer needs the document'),
        }),
      )
      .describe('documents that were not erased'),
    nextCursor: z
      .string()
      .nullable()
      .describe('send it with the next request; null: there are no more documents'),
  })
  .meta({ id: 'SubjectReceipt' })
