import { INTEGER_MAX, REVISIONS_MAX } from '../limits.ts'
import type { Check, Fields } from './check-schemas.ts'
import { eitherOf, isRemoteAgent, isShare } from './federation-fields.ts'
import {
  idOf,
  integer,
  isActor,
  isAgent,
  isHash,
  isObject,
  isTime,
  isTraceparent,
  isTypeName,
  matching,
  oneOf,
} from './fields.ts'
import { MACHINES } from './machines.ts'
import { membersOf, type RecordMember } from './record-members.ts'

/*
 * Members that predicates of several kinds have (docs/formats/statements.md). A predicate with a member that its kind
 * does not list is refused. So a reader of an accepted statement has understood all of it.
 *
 * Members are ids, codes, times and digests only. Free text lies beside the chain, where it can be erased
 * (docs/formats/documents.md).
 */

/** Checks of optional record members. The key is the member's kind of storage (record-members.ts). */
const CHECKS = {
  agent: idOf('agt'),
  record: idOf('rec'),
  time: isTime,
  trace: isTraceparent,
  document: isHash,
}

export function checkOf(member: RecordMember): Check {
  if (member.stored === undefined) return matching(member.pattern)
  return CHECKS[member.stored === 'document' ? member.stored : member.stored.as]
}

function checksOf(...scopes: RecordMember['of'][]): Fields['optional'] {
  return Object.fromEntries(membersOf(...scopes).map(([name, member]) => [name, checkOf(member)]))
}

const OF_RECORD = checksOf('record')

export const ALWAYS: Fields = {
  required: { ledger: idOf('led'), actor: isActor, recordedAt: isTime },
  optional: { key: idOf('key'), ...checksOf('entry') },
}

/** Members of a record's first event. */
const FIRST: Fields = {
  required: { ...ALWAYS.required, record: idOf('rec'), version: integer(1, 1) },
  optional: { ...ALWAYS.optional, ...checksOf('event') },
}

const isState = oneOf(...MACHINES.record.states.filter((state) => state !== 'RECORDED'))

/** Members of every later event of a record. */
export const LATER: Fields = {
  required: {
    ...FIRST.required,
    version: integer(2, INTEGER_MAX),
    previous: isHash,
    from: isState,
    to: isState,
  },
  optional: FIRST.optional,
}

export function extend(
  base: Fields,
  required: Fields['required'],
  optional: Fields['optional'] = {},
): Fields {
  return {
    required: { ...base.required, ...required },
    optional: { ...base.optional, ...optional },
  }
}

/** Members of entries that only the server makes. BY_AGENT: members of entries that only agents make. */
export const BY_SYSTEM = extend(ALWAYS, { actor: oneOf('system') })
export const BY_AGENT = extend(ALWAYS, { actor: isAgent })

export const RECORD_NOTARIZED = extend(FIRST, { type: isTypeName }, OF_RECORD)

export const RECORD_CREATED = extend(
  FIRST,
  {
    to: oneOf('CREATED'),
    type: isTypeName,
    typeDigest: isHash,
    gate: oneOf('principal', 'auto'),
    maxRevisions: integer(0, REVISIONS_MAX),
  },
  {
    performer: eitherOf(isAgent, isRemoteAgent),
    deadline: isTime,
    tolerances: isObject,
    ...OF_RECORD,
    share: isShare,
  },
)

/** Members of a record in a batch (docs/formats/chain-and-checkpoints.md). */
export const ITEM_FIELDS: Fields = {
  required: { record: idOf('rec'), type: isTypeName, digest: isHash },
  optional: checksOf('entry', 'event', 'record'),
}
