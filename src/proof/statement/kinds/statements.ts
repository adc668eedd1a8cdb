import { CONTENT_TYPES_MAX, ISSUER_KEYS_MAX, ISSUERS_MAX } from '../../limits.ts'
import { isHash, isIssuerKey, isIssuerKid, isText, listOf, objectOf } from '../fields.ts'
import { BY_AGENT, extend } from '../predicates.ts'
import type { KindRule } from './rule.ts'

/** Kinds about registered statements of other issuers (docs/formats/registered-statements.md). */
export const STATEMENT_KINDS = {
  'registration-policy-set': {
    subjects: ['led'],
    scope: 'policies:write',
    system: false,
    fields: extend(
      BY_AGENT,
      {
        issuers: listOf(
          objectOf({ issuer: isText, keys: listOf(isIssuerKey, ISSUER_KEYS_MAX) }),
          ISSUERS_MAX,
        ),
      },
      { contentTypes: listOf(isText, CONTENT_TYPES_MAX) },
    ),
    travelsWith: 'statement',
    follow: ({ statements }, statement, entry) => statements.setPolicy(entry, statement),
  },
  'statement-registered': {
    subjects: ['stm'],
    scope: 'statements:write',
    system: false,
    fields: extend(BY_AGENT, {
      policy: isHash,
      issuer: isText,
      subject: isText,
      contentType: isText,
      kid: isIssuerKid,
      payload: isHash,
    }),
    events: ['statement.registered'],
    follow: ({ statements, records }, statement, entry) => {
      statements.register(entry, statement)
      records.addStatement(statement.subjects[0].name, entry.seq)
    },
  },
} as const satisfies Readonly<Record<string, KindRule>>
