import { idOf, isScopeList, isTime, nullOr } from '../fields.ts'
import { ALWAYS, extend } from '../predicates.ts'
import type { KindRule } from './rule.ts'

const KEY = {
  subjects: ['key'],
  scope: 'keys:manage',
  fields: extend(ALWAYS, { agent: idOf('agt'), scopes: isScopeList, expiresAt: nullOr(isTime) }),
  defines: { named: 'key', members: ['agent', 'scopes', 'expiresAt'] },
} as const

export const KEY_KINDS = {
  // `system` may make this entry too, because the operator makes keys for agents that lost theirs.
  'key-created': {
    ...KEY,
    system: true,
    follow: ({ actors }, { subjects: [{ name, sha256 }], predicate }, entry) =>
      actors.createKey(name, sha256, predicate, entry),
  },
  'key-revoked': {
    ...KEY,
    system: false,
    follow: ({ actors }, { subjects: [{ name, sha256 }] }, { atMs }) => actors.revokeKey(name, sha256, atMs),
  },
} as const satisfies Readonly<Record<string, KindRule>>
