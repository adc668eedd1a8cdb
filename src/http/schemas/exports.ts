import { z } from 'zod'
import { idOf, seq, typeName } from './common.ts'

export const exportBody = z
  .strictObject({
    of: z
      .strictObject({
        record: idOf('rec').optional(),
        run: idOf('rec').describe('a record and all records below it').optional(),
        agent: idOf('agt').optional(),
        type: typeName.optional(),
        trace: z
          .string()
          .regex(/^[0-9a-f]{32}$/)
          .optional(),
      })
      .describe('the filter of the export; empty: the whole range'),
    from: seq.describe('seq of the first entry'),
    to: seq.describe('seq of the last entry; absent: the newest entry').optional(),
    documents: z.enum(['all', 'withheld']),
  })
  .meta({ examples: [{ of: {}, from: 0, documents: 'all' }] })

export const exportView = z.strictObject({
  entry: z.strictObject({ seq }).describe('the entry `export-made`, which names who exported what'),
  from: seq,
  to: seq,
})
