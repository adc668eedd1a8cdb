import { BATCH_ITEMS_MAX } from '../../limits.ts'
import { idOf, integer, oneOf } from '../fields.ts'
import { ALWAYS, extend, RECORD_NOTARIZED } from '../predicates.ts'
import type { KindRule } from './rule.ts'

/**
 * Kinds of records that are terminal at once. `record-notarized` needs no `follow`, because LedgerVerifier reads the
 * records' ids from EntryStep (entry/entry-step.ts).
 */
export const RECORD_KINDS = {
  'record-notarized': {
    subjects: ['rec'],
    scope: 'records:write',
    system: false,
    agentSigns: true,
    fields: RECORD_NOTARIZED,
    records: 'makes',
    documents: ['payload'],
    travelsWith: 'record',
    events: ['record.recorded'],
  },
  'batch-notarized': {
    subjects: ['bat'],
    scope: 'records:write',
    system: false,
    agentSigns: true,
    fields: extend(ALWAYS, {
      batch: idOf('bat'),
      count: integer(1, BATCH_ITEMS_MAX),
      tree: oneOf('RFC9162_SHA256'),
    }),
    records: 'makes many',
    travelsWith: 'record',
    events: ['batch.recorded'],
    follow: ({ records }, { subjects: [{ name }] }, { seq }) => records.addBatch(name, seq),
  },
} as const satisfies Readonly<Record<string, KindRule>>
