import { ProofError } from '../error.ts'
import { nextState, type Subject } from '../statement/kinds.ts'
import type { ParsedStatement } from '../statement/statement.ts'

/**
 * One gated record's life, as its statements tell it (docs/formats/statements.md).
 *
 * A step says itself which entry it follows (`previous`, `version`, `from`), so a step that was left out, doubled
 * or exchanged is found within the record alone. The step's agent is checked too: an agent that can sign, but is
 * neither principal nor performer, must not be able to move a record in a way that verifies.
 */
export type GatedRecord = {
  readonly payloadDigest: string
  readonly principal: string
  readonly gate: string
  readonly deadlineMs: number | null
  readonly maxRevisions: number
  /** Set by who knows its type. */
  agentSigned: boolean
  performer: string | null
  state: string
  version: number
  lastLeaf: string
  revisions: number
  completion: Subject | null
  outcome: string | null
  verdictLeaf: string | null
}

/** `recordedAt` may be this far off the database's clock, and that one decides about deadlines. */
const CLOCK_SKEW_MS_MAX = 30_000

/** A predicate's members, whose formats parseStatement has checked. */
type Members = Readonly<Record<string, unknown>>

/** A gated record, as its first event makes it. */
export function beginGated(event: RecordEvent): GatedRecord {
  const fields = event.statement.predicate as Members
  const principal = agentOf(fields)
  const performer = optionalText(fields['performer'])
  if (performer === principal)
    throw new ProofError('actor_not_entitled', 'performer and principal are the same')
  const deadline = optionalText(fields['deadline'])
  return {
    payloadDigest: event.statement.subjects[0].sha256,
    principal,
    gate: fields['gate'] as string,
    deadlineMs: deadline === null ? null : Date.parse(deadline),
    maxRevisions: fields['maxRevisions'] as number,
    agentSigned: false,
    performer,
    state: 'CREATED',
    version: 1,
    lastLeaf: event.leaf,
    revisions: 0,
    completion: null,
    outcome: null,
    verdictLeaf: null,
  }
}

/** Moves the record by one event, or throws and leaves it half moved: the caller stops there. */
export function stepGated(record: GatedRecord, event: RecordEvent): void {
  const fields = event.statement.predicate as Members
  verifyFollows(record, event, fields)
  verifySubjects(record, event, fields)
  const to = nextState(record.state, event.statement.kind, outcomeOf(event, fields))
  if (to === null || to !== fields['to']) {
    throw new ProofError(
      'transition_refused',
      `${record.state} does not go to ${fields['to']} by ${event.statement.kind}`,
    )
  }
  STEPS[event.statement.kind as keyof typeof STEPS](record, event, fields)
  record.state = to
  record.version++
  record.lastLeaf = event.leaf
}

/** Whether no event can move the record any more. */
export function isFinal(record: GatedRecord): boolean {
  return record.state === 'ACCEPTED' || record.state === 'CANCELLED' || record.state === 'EXPIRED'
}

function verifyFollows(record: GatedRecord, event: RecordEvent, fields: Members): void {
  if (fields['previous'] !== record.lastLeaf) {
    throw new ProofError('previous_mismatch', `previous is not the record's last leaf, ${record.lastLeaf}`)
  }
  if (fields['version'] !== record.version + 1) {
    throw new ProofError('version_mismatch', `version ${fields['version']} follows version ${record.version}`)
  }
  if (fields['from'] !== record.state) {
    throw new ProofError(
      'transition_refused',
      `${event.statement.kind} from ${fields['from']}, but the state is ${record.state}`,
    )
  }
}

/** The subjects that are not new here are the record's own, with the digests that were signed before. */
function verifySubjects(record: GatedRecord, event: RecordEvent, fields: Members): void {
  const [about, completion] = event.statement.subjects
  if (about.sha256 !== record.payloadDigest) {
    throw new ProofError('subject_unknown', `${about.name} was created with another payload`)
  }
  if (event.statement.kind === 'completion-submitted') return
  const named = fields['completion']
  if (named !== undefined && named !== record.completion?.name) {
    throw new ProofError('subject_unknown', `${named} is not the record's completion`)
  }
  if (completion === undefined || completion.name === `${about.name}/reason`) return
  if (completion.name !== record.completion?.name || completion.sha256 !== record.completion.sha256) {
    throw new ProofError('subject_unknown', `${completion.name} was not submitted, or with other evidence`)
  }
}

type Step = (record: GatedRecord, event: RecordEvent, fields: Members) => void

/** Party of each step, and what it changes besides the state. */
const STEPS = {
  'record-activated': (record, event, fields) => {
    verifyInTime(record, event)
    const party = agentOf(fields)
    if (record.performer === null && party !== record.principal) record.performer = party
    verifyPerformer(record, fields)
  },
  'completion-submitted': (record, event, fields) => {
    verifyInTime(record, event)
    verifyPerformer(record, fields)
    record.completion = event.statement.subjects[1]!
  },
  'completion-verified': (record, _event, fields) => {
    verifySystem(fields)
    record.outcome = fields['outcome'] as string
  },
  'verdict-rendered': (record, event, fields) => {
    if (fields['by'] !== record.gate) throw notEntitled(`not whom the gate ${record.gate} lets judge`, fields)
    if (record.gate === 'auto') verifyAutoVerdict(record, fields)
    else verifyPrincipal(record, fields)
    verifyNoPerformer(record, fields)
    record.verdictLeaf = event.leaf
  },
  'verdict-overturned': (record, _event, fields) => {
    if (agentOf(fields) === record.performer) throw notEntitled('the performer', fields)
    verifyNoPerformer(record, fields)
    if (fields['supersedes'] !== record.verdictLeaf) {
      throw new ProofError('previous_mismatch', `supersedes is not the verdict's leaf, ${record.verdictLeaf}`)
    }
  },
  'revision-requested': (record, _event, fields) => {
    verifyPrincipal(record, fields)
    if (record.revisions === record.maxRevisions) {
      throw new ProofError('transition_refused', `there were ${record.maxRevisions} revisions already`)
    }
    record.revisions++
  },
  'record-cancelled': (record, _event, fields) => verifyPrincipal(record, fields),
  'record-expired': (record, event, fields) => {
    verifySystem(fields)
    if (record.deadlineMs === null || event.atMs < record.deadlineMs - CLOCK_SKEW_MS_MAX) {
      throw new ProofError('time_out_of_order', 'expired before its deadline')
    }
  },
} as const satisfies Record<string, Step>

function verifyInTime(record: GatedRecord, event: RecordEvent): void {
  if (record.deadlineMs !== null && event.atMs > record.deadlineMs + CLOCK_SKEW_MS_MAX) {
    throw new ProofError('time_out_of_order', `${event.statement.kind} after the deadline`)
  }
}

/** `auto` decides by the rules alone: as they came out, and by the worker. */
function verifyAutoVerdict(record: GatedRecord, fields: Members): void {
  verifySystem(fields)
  const agreed = record.outcome === 'pass' ? 'accept' : 'reject'
  if (fields['verdict'] !== agreed) throw notEntitled(`auto, but the outcome is ${record.outcome}`, fields)
}

function verifyPrincipal(record: GatedRecord, fields: Members): void {
  if (partyOf(fields) !== record.principal) throw notEntitled('not the principal', fields)
}

function verifyPerformer(record: GatedRecord, fields: Members): void {
  if (partyOf(fields) !== record.performer) throw notEntitled('not the performer', fields)
}

/** A performer that acts for another agent would judge its own work. */
function verifyNoPerformer(record: GatedRecord, fields: Members): void {
  if (fields['actor'] === record.performer) throw notEntitled('represented by the performer', fields)
}

function verifySystem(fields: Members): void {
  if (fields['actor'] !== 'system') throw notEntitled('not the worker', fields)
}

/** Party of the step: a gateway acts for the agent that it names. */
function partyOf(fields: Members): string {
  return (fields['onBehalfOf'] ?? fields['actor']) as string
}

/** Agent of the step, which must be one. `system` takes only steps that the rules or the clock have decided. */
function agentOf(fields: Members): string {
  if (fields['actor'] === 'system') throw notEntitled('no agent', fields)
  return partyOf(fields)
}

/** Outcome that decides a transition besides its kind. */
function outcomeOf(event: RecordEvent, fields: Members): string | undefined {
  if (event.statement.kind === 'completion-verified') return fields['outcome'] as string
  return event.statement.kind === 'verdict-rendered' ? (fields['verdict'] as string) : undefined
}

function optionalText(value: unknown): string | null {
  return (value ?? null) as string | null
}

function notEntitled(who: string, fields: Members): ProofError {
  return new ProofError('actor_not_entitled', `${partyOf(fields)} is ${who}`)
}

/** An event of a record, as its entry says it. `leaf`: lower-case hex. */
export type RecordEvent = {
  readonly seq: number
  readonly leaf: string
  readonly atMs: number
  readonly statement: ParsedStatement
}
