import type { Fields } from './check-schemas.ts'
import {
  eitherOf,
  isIdentity,
  isReceived,
  isRemoteAgent,
  isShare,
  isTakenOffer,
} from './federation-fields.ts'
import {
  idOf,
  integer,
  isActor,
  isAgent,
  isCaseId,
  isCode,
  isEnvelopeKey,
  isHash,
  isIssuerKey,
  isIssuerKid,
  isNoteKey,
  isObject,
  isRuleId,
  isScopeList,
  isSignature,
  isText,
  isTime,
  isTraceId,
  isTraceparent,
  isTypeName,
  listOf,
  mapOf,
  nullOr,
  objectOf,
  oneOf,
  someOf,
} from './fields.ts'
import { type EntryKind, OFFERED_STEPS } from './kinds.ts'

/*
 * Predicates of each kind (docs/formats/statements.md). A member that is not listed is refused: a reader of a statement must be
 * able to rely on having understood all of it.
 *
 * Members are ids, codes, times and digests only. Free text lies beside the chain, where it can be erased (docs/formats/documents.md).
 */

const COUNT_MAX = Number.MAX_SAFE_INTEGER
/** 2^11: an item's path has at most 11 hashes. */
const BATCH_COUNT_MAX = 2_048
const REVISIONS_MAX = 1_000
const RULES_MAX = 256
/** Registration policies. */
export const ISSUERS_MAX = 32
export const ISSUER_KEYS_MAX = 8
export const CONTENT_TYPES_MAX = 32
/** A hundred years. */
export const RETENTION_DAYS_MAX = 36_500
/** Records that one hold names. */
export const HOLD_RECORDS_MAX = 500
/** Erasures that one `subject-erased` names: 17 characters each at most, so that they fit an entry. */
export const SUBJECT_ERASED_MAX = 1_000

const ALWAYS: Fields = {
  required: { ledger: idOf('led'), actor: isActor, recordedAt: isTime },
  optional: { key: idOf('key'), onBehalfOf: idOf('agt'), traceparent: isTraceparent },
}

/** A record's first event. */
const FIRST: Fields = {
  required: { ...ALWAYS.required, record: idOf('rec'), version: integer(1, 1) },
  optional: { ...ALWAYS.optional, occurredAt: isTime },
}

const isState = oneOf(
  'CREATED',
  'ACTIVE',
  'SUBMITTED',
  'VERIFIED',
  'DISCREPANT',
  'ACCEPTED',
  'REJECTED',
  'CANCELLED',
  'EXPIRED',
)

/** Each further event of a record. */
const LATER: Fields = {
  required: {
    ...FIRST.required,
    version: integer(2, COUNT_MAX),
    previous: isHash,
    from: isState,
    to: isState,
  },
  optional: FIRST.optional,
}

function extend(base: Fields, required: Fields['required'], optional: Fields['optional'] = {}): Fields {
  return {
    required: { ...base.required, ...required },
    optional: { ...base.optional, ...optional },
  }
}

const isOutcome = oneOf('pass', 'fail')

const signal = (...decisions: string[]) =>
  objectOf({
    decision: oneOf(...decisions),
    code: isCode,
    failingRules: listOf(isRuleId, RULES_MAX),
    validUntil: nullOr(isTime),
  })

const isHead = objectOf({ size: integer(1, COUNT_MAX), chain: isHash })

const BY_SYSTEM = extend(ALWAYS, { actor: oneOf('system') })
const BY_AGENT = extend(ALWAYS, { actor: isAgent })

const LEDGER_CREATED = extend(BY_SYSTEM, {
  definition: objectOf({
    name: isText,
    issuer: isText,
    origin: isText,
    envelopeKey: isEnvelopeKey,
    noteKey: isNoteKey,
    types: mapOf(isTypeName, isHash),
  }),
})

const AGENT = extend(ALWAYS, { agent: idOf('agt'), name: isText })
const KEY = extend(ALWAYS, { agent: idOf('agt'), scopes: isScopeList, expiresAt: nullOr(isTime) })

const RECORD_CREATED = extend(
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
    parent: idOf('rec'),
    references: isHash,
    share: isShare,
  },
)

const COMPLETION = extend(LATER, { completion: idOf('cmp') })

/** A step that another ledger's agent may have offered; then that is the actor. */
const offered = (step: Fields): Fields =>
  extend(step, { actor: eitherOf(isActor, isRemoteAgent) }, { offer: isTakenOffer })

const VERIFIED = extend(COMPLETION, {
  outcome: isOutcome,
  rules: listOf(objectOf({ id: isRuleId, outcome: isOutcome }, { code: isCode }), RULES_MAX),
})

const VERDICT = extend(COMPLETION, {
  verdict: oneOf('accept', 'reject'),
  by: oneOf('principal', 'auto'),
  signal: signal('SETTLE', 'HOLD'),
})

const PEER_CHANGED = extend(BY_AGENT, { code: isCode })

/** Entries that an export is of: none of these members: all of them between `from` and `to`. */
const EXPORTED = objectOf(
  {},
  { record: idOf('rec'), run: idOf('rec'), agent: isAgent, type: isTypeName, trace: isTraceId },
)

export const PREDICATES: Readonly<Record<EntryKind, Fields>> = {
  'ledger-created': LEDGER_CREATED,
  'server-key-rotated': extend(ALWAYS, { newKey: isEnvelopeKey }),
  'agent-registered': AGENT,
  'agent-disabled': AGENT,
  'agent-key-registered': extend(
    BY_AGENT,
    { agent: idOf('agt'), newKey: isEnvelopeKey, required: oneOf(true, false), proof: isSignature },
    { endorsement: objectOf({ kid: isHash, signature: isSignature }) },
  ),
  'agent-key-revoked': extend(BY_AGENT, { agent: idOf('agt'), kid: isHash }),
  'key-created': KEY,
  'key-revoked': KEY,
  'type-registered': extend(ALWAYS, {}, { agentSigned: oneOf(true) }),
  'record-notarized': extend(FIRST, { type: isTypeName }, { parent: idOf('rec'), references: isHash }),
  'batch-notarized': extend(ALWAYS, {
    batch: idOf('bat'),
    count: integer(1, BATCH_COUNT_MAX),
    tree: oneOf('RFC9162_SHA256'),
  }),
  'record-created': RECORD_CREATED,
  'record-activated': offered(LATER),
  'completion-submitted': offered(COMPLETION),
  'completion-verified': VERIFIED,
  'verdict-rendered': VERDICT,
  'verdict-overturned': extend(
    LATER,
    { signal: signal('RELEASE'), supersedes: isHash },
    { completion: idOf('cmp') },
  ),
  'revision-requested': COMPLETION,
  'record-cancelled': extend(LATER, {}, { completion: idOf('cmp') }),
  'record-expired': LATER,
  'payload-erased': extend(
    ALWAYS,
    { seq: integer(0, COUNT_MAX), code: isCode },
    { rule: integer(0, COUNT_MAX) },
  ),
  'ledger-restored': extend(ALWAYS, { known: isHead, found: isHead }),
  'peer-added': extend(
    BY_SYSTEM,
    { tokenHash: isHash, inviter: isIdentity, invited: isIdentity },
    { counterpart: isHash },
  ),
  'peer-suspended': PEER_CHANGED,
  'peer-resumed': PEER_CHANGED,
  'peer-revoked': PEER_CHANGED,
  'peer-key-rotated': extend(BY_SYSTEM, { newKey: isEnvelopeKey, received: isReceived }),
  'record-shared': extend(BY_AGENT, { record: idOf('rec'), share: isShare }),
  'entry-received': extend(BY_SYSTEM, { peer: idOf('peer'), received: isReceived }),
  'step-offered': extend(
    BY_AGENT,
    {
      peer: idOf('peer'),
      record: idOf('rec'),
      step: oneOf(...OFFERED_STEPS),
      version: integer(2, COUNT_MAX),
      previous: isHash,
    },
    { completion: idOf('cmp') },
  ),
  'offer-refused': extend(BY_SYSTEM, {
    peer: idOf('peer'),
    record: idOf('rec'),
    code: isCode,
    received: isReceived,
  }),
  'registration-policy-set': extend(
    BY_AGENT,
    {
      issuers: listOf(objectOf({ issuer: isText, keys: listOf(isIssuerKey, ISSUER_KEYS_MAX) }), ISSUERS_MAX),
    },
    { contentTypes: listOf(isText, CONTENT_TYPES_MAX) },
  ),
  'statement-registered': extend(BY_AGENT, {
    policy: isHash,
    issuer: isText,
    subject: isText,
    contentType: isText,
    kid: isIssuerKid,
    payload: isHash,
  }),
  'retention-set': extend(
    BY_AGENT,
    { days: nullOr(integer(1, RETENTION_DAYS_MAX)), basis: isCode },
    { type: isTypeName, agent: isAgent },
  ),
  'hold-set': extend(
    BY_AGENT,
    { case: isCaseId },
    { type: isTypeName, agent: isAgent, records: someOf(idOf('rec'), HOLD_RECORDS_MAX) },
  ),
  'hold-lifted': extend(BY_AGENT, { case: isCaseId, seq: integer(0, COUNT_MAX) }),
  'subject-erased': extend(BY_AGENT, {
    code: isCode,
    erased: listOf(integer(0, COUNT_MAX), SUBJECT_ERASED_MAX),
    held: integer(0, COUNT_MAX),
  }),
  'export-made': extend(BY_AGENT, {
    of: EXPORTED,
    from: integer(0, COUNT_MAX),
    to: integer(0, COUNT_MAX),
    documents: oneOf('all', 'withheld'),
  }),
}

/** One record of a batch (docs/formats/chain-and-checkpoints.md). */
export const ITEM_FIELDS: Fields = {
  required: { record: idOf('rec'), type: isTypeName, digest: isHash },
  optional: {
    onBehalfOf: idOf('agt'),
    occurredAt: isTime,
    parent: idOf('rec'),
    references: isHash,
    traceparent: isTraceparent,
  },
}
