import { ProofError } from '../error.ts'
import { agentOf } from '../statement/kinds/gated.ts'
import type { GatedRecord, Members } from '../statement/kinds/rule.ts'
import { ENTRY_KINDS, LIFECYCLE, RECORD_STATES } from '../statement/kinds.ts'
import { stateAfter } from '../statement/machines.ts'
import type { ParsedStatement } from '../statement/statement.ts'

export type { GatedRecord } from '../statement/kinds/rule.ts'

/** Makes a gated record from its first event. Throws `actor_not_entitled` if performer and principal are the same. */
export function beginGated(event: RecordEvent): GatedRecord {
  const fields = event.statement.predicate as Members
  const principal = agentOf(fields)
  const performer = optionalText(fields['performer'])
  if (performer === principal)
    throw new ProofError('actor_not_entitled', 'performer and principal are the same agent')
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

/**
 * Changes the record by one event. If this function throws, a part of the record may have changed, and the caller must
 * stop.
 */
export function stepGated(record: GatedRecord, event: RecordEvent): void {
  const fields = event.statement.predicate as Members
  verifyFollows(record, event, fields)
  verifySubjects(record, event, fields)
  const to = stateAfter('record', record.state, event.statement.kind, outcomeOf(fields))
  if (to === null || to !== fields['to']) {
    throw new ProofError(
      'transition_refused',
      `${event.statement.kind} cannot change the state from ${record.state} to ${fields['to']}`,
    )
  }
  ENTRY_KINDS[event.statement.kind].step!(record, event, fields)
  record.state = to
  record.version++
  record.lastLeaf = event.leaf
}

const FINAL: ReadonlySet<string> = new Set(
  RECORD_STATES.filter((state) => !LIFECYCLE.some(({ from }) => from === state)),
)

export function isFinal(record: GatedRecord): boolean {
  return FINAL.has(record.state)
}

function verifyFollows(record: GatedRecord, event: RecordEvent, fields: Members): void {
  if (fields['previous'] !== record.lastLeaf) {
    throw new ProofError(
      'previous_mismatch',
      `previous is not the leaf of the record's last entry, ${record.lastLeaf}`,
    )
  }
  if (fields['version'] !== record.version + 1) {
    throw new ProofError(
      'version_mismatch',
      `the version after ${record.version} must be ${record.version + 1}, not ${fields['version']}`,
    )
  }
  if (fields['from'] !== record.state) {
    throw new ProofError(
      'transition_refused',
      `${event.statement.kind} names the state ${fields['from']}, but the record is ${record.state}`,
    )
  }
}

/**
 * Verifies that subjects which earlier events introduced still have the signed digests. New subjects are not checked.
 */
function verifySubjects(record: GatedRecord, event: RecordEvent, fields: Members): void {
  const [subject, completion] = event.statement.subjects
  if (subject.sha256 !== record.payloadDigest) {
    throw new ProofError(
      'subject_unknown',
      `${subject.name} was created with another payload than this step names`,
    )
  }
  if (event.statement.kind === 'completion-submitted') return
  const named = fields['completion']
  if (named !== undefined && named !== record.completion?.name) {
    throw new ProofError('subject_unknown', `${named} is not the newest completion of the record`)
  }
  if (completion === undefined || completion.name === `${subject.name}/reason`) return
  if (completion.name !== record.completion?.name || completion.sha256 !== record.completion.sha256) {
    throw new ProofError('subject_unknown', `${completion.name} was not submitted with this evidence`)
  }
}

/**
 * Returns the outcome or the verdict of the event, or undefined if it has neither. The event's kind and this value
 * decide the record's next state.
 */
function outcomeOf(fields: Members): string | undefined {
  return (fields['outcome'] ?? fields['verdict']) as string | undefined
}

function optionalText(value: unknown): string | null {
  return (value ?? null) as string | null
}

/** An event of a record, made from its entry. `leaf` is in lower-case hex. */
export type RecordEvent = {
  readonly seq: number
  readonly leaf: string
  readonly atMs: number
  readonly statement: ParsedStatement
}
