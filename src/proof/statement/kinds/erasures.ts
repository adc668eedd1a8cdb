import { INTEGER_MAX } from '../../limits.ts'
import { integer, isCode } from '../fields.ts'
import { ALWAYS, extend } from '../predicates.ts'
import type { KindRule } from './rule.ts'

export const ERASURE_KINDS = {
  /** `system` may make this entry too, because the server erases by retention rules. The entry then names the rule. */
  'payload-erased': {
    subjects: ['erased'],
    scope: 'payloads:erase',
    system: true,
    fields: extend(ALWAYS, { seq: integer(0, INTEGER_MAX), code: isCode }, { rule: integer(0, INTEGER_MAX) }),
    receivedBy: 'entry-received',
    travelsWith: 'erased document',
    events: ['payload.erased'],
    follow: (
      { retention, erasures, records, whole },
      { subjects: [{ name, sha256 }], predicate, actor },
      by,
    ) => {
      const seq = predicate['seq'] as number
      retention.erase(by.seq, actor, name, predicate)
      const wasMissing = erasures.explain(by.seq, seq, name, sha256)
      if (!wasMissing) records.verifyDigested(name, sha256, seq)
      whole.onErasure(by.atMs, !wasMissing)
    },
  },
} as const satisfies Readonly<Record<string, KindRule>>
