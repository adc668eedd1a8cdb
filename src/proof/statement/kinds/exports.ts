import { ProofError } from '../../error.ts'
import { INTEGER_MAX } from '../../limits.ts'
import { idOf, integer, isAgent, isTraceId, isTypeName, objectOf, oneOf } from '../fields.ts'
import { BY_AGENT, extend } from '../predicates.ts'
import type { KindRule } from './rule.ts'

/** Selection of entries in an export. An export without a selection contains all entries between `from` and `to`. */
const isExported = objectOf(
  {},
  { record: idOf('rec'), run: idOf('rec'), agent: isAgent, type: isTypeName, trace: isTraceId },
)

export const EXPORT_KINDS = {
  'export-made': {
    subjects: ['led'],
    scope: 'audit:read',
    system: false,
    fields: extend(BY_AGENT, {
      of: isExported,
      from: integer(0, INTEGER_MAX),
      to: integer(0, INTEGER_MAX),
      documents: oneOf('all', 'withheld'),
    }),
    // An export can contain only entries that precede the entry about the export.
    follow: (_, { predicate }, { seq }) => {
      const [from, to] = [predicate['from'] as number, predicate['to'] as number]
      if (from > to || to >= seq)
        throw new ProofError('subject_unknown', `entries ${from} to ${to} must all be before entry ${seq}`)
    },
  },
} as const satisfies Readonly<Record<string, KindRule>>
