import { z } from 'zod'
import { HOLD_RECORDS_MAX, RETENTION_DAYS_MAX } from '../../proof/limits.ts'
import { CASE_ID } from '../../proof/statement/fields.ts'
import { pageOf, pageQuery } from '../answers/page.ts'
import { erasureCode, idOf, instant, seq, typeName } from './common.ts'

const caseId = z
  .string()
  .regex(CASE_ID)
  .describe('name of the case in your files; signed and stored for ever, so it must not name a person')
const days = z.int().min(1).max(RETENTION_DAYS_MAX)
const NARROWED = {
  type: typeName.describe('only records of this type').optional(),
  agent: idOf('agt')
    .describe('only records that this agent created or performs, or that were created on its behalf')
    .optional(),
}
const NARROWED_VIEW = { type: typeName.nullable(), agent: idOf('agt').nullable() }

export const ruleBody = z
  .strictObject({
    ...NARROWED,
    days: days.nullable().describe('days to store documents after the end of a record; null: for ever'),
    basis: erasureCode.describe('the law, contract or policy, as a word for programs'),
  })
  .meta({ examples: [{ type: 'generic/1', days: 365, basis: 'policy_7' }] })

export const ruleView = z
  .strictObject({
    seq: seq.describe('seq of the entry that set the rule'),
    ...NARROWED_VIEW,
    days: days.nullable(),
    replacedBy: seq
      .nullable()
      .describe(
        'seq of the rule that replaced this one; for existing records a new rule can only lengthen retention',
      ),
    setAt: instant,
  })
  .meta({ id: 'RetentionRule' })

export const ruleList = z.strictObject({ data: z.array(ruleView) })

export const previewRuleBody = z
  .strictObject({ ...NARROWED, days, from: seq.describe('`nextSeq` of the previous page').optional() })
  .meta({ examples: [{ type: 'generic/1', days: 365 }] })

export const previewRuleView = z.strictObject({
  records: z.int().min(0).describe('records whose payload the rule would erase now'),
  held: z.int().min(0).describe('records whose payload the rule would erase if no hold prevented it'),
  oldest: instant.nullable(),
  byType: z.record(z.string(), z.int().min(1)),
  nextSeq: seq
    .nullable()
    .describe('`from` of the next page, whose numbers add to these; null: this was the last page'),
})

export const holdBody = z
  .strictObject({
    case: caseId,
    ...NARROWED,
    records: z
      .array(idOf('rec'))
      .min(1)
      .max(HOLD_RECORDS_MAX)
      .describe('only these records, each once')
      .meta({ uniqueItems: true })
      .optional(),
  })
  .meta({ examples: [{ case: '2027/4711', agent: 'agt_01kd2m3n4p5q6r7s8t9v0w1x2y' }] })

export const holdView = z
  .strictObject({
    seq: seq.describe('seq of the entry that set the hold'),
    case: caseId,
    ...NARROWED_VIEW,
    records: z.array(idOf('rec')).nullable(),
    setAt: instant,
    liftedBy: seq.nullable().describe('seq of the entry that lifted the hold; null: the hold is in force'),
  })
  .meta({ id: 'Hold' })

export const holdPage = pageOf(holdView)
export const holdsQuery = z.strictObject({
  ...pageQuery,
  standing: z.enum(['true', 'false']).describe('`true`: only holds in force; absent: all').optional(),
})
export const holdsCursor = z.tuple([z.int().min(0)])
export const seqParams = z.strictObject({ seq: z.string() })
