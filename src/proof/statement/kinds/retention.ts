import { HOLD_RECORDS_MAX, INTEGER_MAX, RETENTION_DAYS_MAX, SUBJECT_ERASED_MAX } from '../../limits.ts'
import { idOf, integer, isAgent, isCaseId, isCode, isTypeName, listOf, nullOr, someOf } from '../fields.ts'
import { BY_AGENT, extend } from '../predicates.ts'
import type { KindRule } from './rule.ts'

const RETENTION = { subjects: ['led'], scope: 'retention:manage', system: false } as const

export const RETENTION_KINDS = {
  'retention-set': {
    ...RETENTION,
    fields: extend(
      BY_AGENT,
      { days: nullOr(integer(1, RETENTION_DAYS_MAX)), basis: isCode },
      { type: isTypeName, agent: isAgent },
    ),
    follow: ({ retention }, { predicate }, { seq }) => retention.setRule(seq, predicate),
  },
  'hold-set': {
    ...RETENTION,
    fields: extend(
      BY_AGENT,
      { case: isCaseId },
      { type: isTypeName, agent: isAgent, records: someOf(idOf('rec'), HOLD_RECORDS_MAX) },
    ),
    follow: ({ retention }, { predicate }, { seq }) => retention.setHold(seq, predicate),
  },
  'hold-lifted': {
    ...RETENTION,
    fields: extend(BY_AGENT, { case: isCaseId, seq: integer(0, INTEGER_MAX) }),
    follow: ({ retention }, { predicate }) => retention.liftHold(predicate),
  },
  'subject-erased': {
    ...RETENTION,
    scope: 'payloads:erase',
    fields: extend(BY_AGENT, {
      code: isCode,
      erased: listOf(integer(0, INTEGER_MAX), SUBJECT_ERASED_MAX),
      held: integer(0, INTEGER_MAX),
    }),
    follow: ({ retention }, { predicate }) => retention.verifyErased(predicate),
  },
} as const satisfies Readonly<Record<string, KindRule>>
