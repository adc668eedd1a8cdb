import { oneOf } from '../fields.ts'
import { ALWAYS, extend } from '../predicates.ts'
import type { KindRule } from './rule.ts'

export const TYPE_KINDS = {
  'type-registered': {
    subjects: ['type'],
    scope: 'types:write',
    system: false,
    fields: extend(ALWAYS, {}, { agentSigned: oneOf(true) }),
    follow: ({ types }, { subjects: [{ name, sha256 }], predicate }) =>
      types.register(name, sha256, predicate['agentSigned'] === true),
  },
} as const satisfies Readonly<Record<string, KindRule>>
