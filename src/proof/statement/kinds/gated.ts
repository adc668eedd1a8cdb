import { toHex } from '../../bytes.ts'
import { ProofError } from '../../error.ts'
import type { JsonObject } from '../../json/json-value.ts'
import { CLOCK_SKEW_MS_MAX, RULES_MAX } from '../../limits.ts'
import { idOf, isCode, isHash, isRuleId, isTime, listOf, nullOr, objectOf, oneOf } from '../fields.ts'
import { extend, LATER, RECORD_CREATED } from '../predicates.ts'
import { parseRemoteAgent } from '../remote-agents.ts'
import { contradiction } from './contradiction.ts'
import { type GatedRecord, type KindRule, type Members, type StepEvent, SYSTEM } from './rule.ts'

/** Steps that a remote performer may offer. */
export const OFFERED_STEPS = ['record-activated', 'completion-submitted'] as const

const isOutcome = oneOf('pass', 'fail')

const signal = (...decisions: string[]) =>
  objectOf({
    decision: oneOf(...decisions),
    code: isCode,
    failingRules: listOf(isRuleId, RULES_MAX),
    validUntil: nullOr(isTime),
  })

const COMPLETION = extend(LATER, { completion: idOf('cmp') })

/** Columns that all steps have. A step is an event of its record, so the peers of the record receive it. */
const STEP = { records: 'moves', receivedBy: 'entry-received', travelsWith: 'record' } as const
const BY_KEY = { scope: 'records:write', system: false, agentSigns: true } as const

/**
 * Kinds of entries about gated records. ../machines.ts has the states and transitions (machine `record`). A step has
 * the function `step` instead of `follow`: `step` checks the event and changes the record. State, version and last leaf
 * change in the same way for all steps (ledger/gated-record.ts).
 */
export const GATED_KINDS = {
  'record-created': {
    ...BY_KEY,
    subjects: ['rec'],
    fields: RECORD_CREATED,
    records: 'makes',
    documents: ['payload'],
    receivedBy: 'entry-received',
    travelsWith: 'record',
    events: ['record.created'],
    refuse: refuseRemotePerformer,
    follow: ({ types, records, peers }, statement, entry) => {
      const { type, typeDigest } = statement.predicate as { type: string; typeDigest: string }
      types.verifyDigest(type, typeDigest)
      records.create(
        { seq: entry.seq, leaf: toHex(entry.leaf), atMs: entry.atMs, statement },
        types.isAgentSigned(type),
      )
      peers.share(entry.seq, statement)
    },
  },
  'record-activated': {
    ...STEP,
    ...BY_KEY,
    subjects: ['rec'],
    fields: LATER,
    offered: true,
    party: 'performer',
    events: ['record.activated'],
    refuse: refuseTaken,
    step: (record, event, fields) => {
      verifyInTime(record, event)
      const party = agentOf(fields)
      if (record.performer === null && party !== record.principal) record.performer = party
      verifyPerformer(record, fields)
    },
  },
  'completion-submitted': {
    ...STEP,
    ...BY_KEY,
    subjects: ['rec', 'cmp'],
    fields: COMPLETION,
    offered: true,
    party: 'performer',
    documents: ['evidence'],
    events: ['completion.submitted'],
    refuse: refuseTaken,
    step: (record, event, fields) => {
      verifyInTime(record, event)
      verifyPerformer(record, fields)
      record.completion = event.statement.subjects[1]!
    },
  },
  'completion-verified': {
    ...STEP,
    ...SYSTEM,
    workerOnly: true,
    subjects: ['rec', 'cmp', 'values'],
    fields: extend(COMPLETION, {
      outcome: isOutcome,
      rules: listOf(objectOf({ id: isRuleId, outcome: isOutcome }, { code: isCode }), RULES_MAX),
    }),
    party: 'worker',
    documents: ['values'],
    events: ['completion.verified'],
    step: (record, _event, fields) => {
      verifySystem(fields)
      record.outcome = fields['outcome'] as string
    },
  },
  'verdict-rendered': {
    ...STEP,
    ...BY_KEY,
    // `system` may make this entry too, because the worker makes the verdict of an `auto` gate.
    system: true,
    subjects: ['rec', 'cmp', 'reason?'],
    fields: extend(COMPLETION, {
      verdict: oneOf('accept', 'reject'),
      by: oneOf('principal', 'auto'),
      signal: signal('SETTLE', 'HOLD'),
    }),
    party: 'principal',
    documents: ['reason'],
    events: ['verdict.rendered', 'signal.emitted'],
    refuse: refuseOtherDecision,
    step: (record, event, fields) => {
      if (fields['by'] !== record.gate)
        throw notEntitled(`not the party that judges with the gate ${record.gate}`, fields)
      if (record.gate === 'auto') verifyAutoVerdict(record, fields)
      else verifyPrincipal(record, fields)
      verifyNoPerformer(record, fields)
      record.verdictLeaf = event.leaf
    },
  },
  'verdict-overturned': {
    ...STEP,
    ...BY_KEY,
    scope: 'verdicts:overturn',
    subjects: ['rec', 'cmp', 'reason?'],
    fields: extend(LATER, { signal: signal('RELEASE'), supersedes: isHash }, { completion: idOf('cmp') }),
    party: 'other than the performer',
    documents: ['reason'],
    events: ['verdict.overturned', 'signal.emitted'],
    step: (record, _event, fields) => {
      if (agentOf(fields) === record.performer) throw notEntitled('the performer', fields)
      verifyNoPerformer(record, fields)
      if (fields['supersedes'] !== record.verdictLeaf) {
        throw new ProofError(
          'previous_mismatch',
          `supersedes is not the leaf of the verdict, ${record.verdictLeaf}`,
        )
      }
    },
  },
  'revision-requested': {
    ...STEP,
    ...BY_KEY,
    subjects: ['rec', 'reason?'],
    fields: COMPLETION,
    party: 'principal',
    documents: ['reason'],
    events: ['revision.requested'],
    step: (record, _event, fields) => {
      verifyPrincipal(record, fields)
      // If the gate is `auto`, the worker judges immediately, so nobody has time to request a revision.
      if (record.gate === 'auto' || record.revisions === record.maxRevisions) {
        throw new ProofError(
          'transition_refused',
          `no revision can be requested: the gate is ${record.gate}, and ${record.revisions} of ${record.maxRevisions} revisions were used`,
        )
      }
      record.revisions++
    },
  },
  'record-cancelled': {
    ...STEP,
    ...BY_KEY,
    subjects: ['rec', 'reason?'],
    fields: extend(LATER, {}, { completion: idOf('cmp') }),
    party: 'principal',
    documents: ['reason'],
    events: ['record.cancelled'],
    step: (record, _event, fields) => verifyPrincipal(record, fields),
  },
  'record-expired': {
    ...STEP,
    ...SYSTEM,
    workerOnly: true,
    subjects: ['rec'],
    fields: LATER,
    party: 'worker',
    events: ['record.expired'],
    step: (record, event, fields) => {
      verifySystem(fields)
      if (record.deadlineMs === null || event.atMs < record.deadlineMs - CLOCK_SKEW_MS_MAX) {
        throw new ProofError(
          'time_out_of_order',
          'the record expired before its deadline, or has no deadline',
        )
      }
    },
  },
} as const satisfies Readonly<Record<string, KindRule>>

function refuseRemotePerformer({ ledger, performer, share }: JsonObject): void {
  const remote = performer === undefined ? null : parseRemoteAgent(performer as string)
  if (remote?.ledger === ledger) throw contradiction(`${performer} is an agent of this ledger`)
  if (remote && share === undefined)
    throw contradiction(`the record is not shared with its performer ${performer}`)
}

/** Throws if a remote agent takes a step without an offer, or if a local agent names an offer. */
function refuseTaken({ ledger, actor, offer }: JsonObject): void {
  const remote = parseRemoteAgent(actor as string)
  const offering = (offer as JsonObject | undefined)?.['ledger']
  if ((remote !== null) !== (offering !== undefined))
    throw contradiction(`${actor} ${remote ? 'needs' : 'must not have'} an offer`)
  if (!remote) return
  if (remote.ledger !== offering) throw contradiction(`${actor} takes a step with an offer of ${offering}`)
  if (offering === ledger) throw contradiction('the offer is of this ledger')
}

const DECISION_OF_VERDICT: Readonly<Record<string, string>> = { accept: 'SETTLE', reject: 'HOLD' }

function refuseOtherDecision({ verdict, signal }: JsonObject): void {
  const { decision } = signal as JsonObject
  if (decision !== DECISION_OF_VERDICT[verdict as string])
    throw contradiction(`${verdict} is not ${decision}`)
}

function verifyInTime(record: GatedRecord, event: StepEvent): void {
  if (record.deadlineMs !== null && event.atMs > record.deadlineMs + CLOCK_SKEW_MS_MAX) {
    throw new ProofError('time_out_of_order', `${event.statement.kind} was recorded after the deadline`)
  }
}

/**
 * Verifies the verdict of an `auto` gate. The worker must have made the verdict, and it must follow the outcome of the
 * rules.
 */
function verifyAutoVerdict(record: GatedRecord, fields: Members): void {
  verifySystem(fields)
  const agreed = record.outcome === 'pass' ? 'accept' : 'reject'
  if (fields['verdict'] !== agreed)
    throw new ProofError(
      'actor_not_entitled',
      `the verdict is ${fields['verdict']}, but the outcome of the rules is ${record.outcome}`,
    )
}

function verifyPrincipal(record: GatedRecord, fields: Members): void {
  if (partyOf(fields) !== record.principal) throw notEntitled('not the principal', fields)
}

function verifyPerformer(record: GatedRecord, fields: Members): void {
  if (partyOf(fields) !== record.performer) throw notEntitled('not the performer', fields)
}

/**
 * Throws if the actor is the performer. Otherwise the performer could judge its own work on behalf of another agent.
 */
function verifyNoPerformer(record: GatedRecord, fields: Members): void {
  if (fields['actor'] === record.performer)
    throw notEntitled('an agent on whose behalf the performer acts', fields)
}

function verifySystem(fields: Members): void {
  if (fields['actor'] !== 'system') throw notEntitled('not the worker', fields)
}

/** Returns the party of the step: the agent in `onBehalfOf`, or else the actor. */
function partyOf(fields: Members): string {
  return (fields['onBehalfOf'] ?? fields['actor']) as string
}

/**
 * Returns the party of a step that only agents may take. Throws `actor_not_entitled` if the actor is `system`. `system`
 * may take only steps that the rules or the clock decide.
 */
export function agentOf(fields: Members): string {
  if (fields['actor'] === 'system') throw notEntitled('not an agent', fields)
  return partyOf(fields)
}

function notEntitled(who: string, fields: Members): ProofError {
  return new ProofError('actor_not_entitled', `${partyOf(fields)} is ${who}, so this step is not allowed`)
}
