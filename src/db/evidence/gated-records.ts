import { toHex, utf8Encode } from '../../proof/bytes.ts'
import type { Sha256 } from '../../proof/crypto.ts'
import { ProofError } from '../../proof/error.ts'
import { parseId, type Uuid } from '../../proof/ids.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import { OPEN_STATES, STEP_PARTIES, type StepKind } from '../../proof/statement/kinds.ts'
import { type ParsedStatement, partyOf } from '../../proof/statement/statement.ts'
import { compare, compareRows } from './compare.ts'
import { contradiction } from './contradiction.ts'
import { agentUuid, microseconds, partyUuid, versionOf } from './signed.ts'
import { microsecondsOf } from './table.ts'

/*
 * Compares the state of a gated record with one entry. Every step rewrites the state, which is a single row. So one
 * entry can prove only part of the row.
 *
 * The number of revisions and the order of performer changes need earlier entries (src/verify/gated-states.ts).
 */

/**
 * State of a gated record. It has no column names, because they would be repeated for each entry of the record.
 * `tolerances` is hex.
 */
export type AuditedGatedRecord = [
  firstSeq: number,
  principalId: Uuid,
  performerId: Uuid | null,
  performerRemote: string | null,
  gate: string,
  deadlineUs: string | null,
  maxRevisions: number,
  tolerances: string | null,
  state: string | null,
  version: number,
  lastSeq: number,
  lastSubjectId: Uuid | null,
  revisions: number,
]

const OPEN = OPEN_STATES.map((state) => `'${state}'`).join(', ')

/**
 * SQL that selects the row with the record's state, and the subject of the record's last entry. `state` is null if
 * searches would not find the record by its state.
 */
export const GATED_ROW = `json_build_array(g.first_seq, g.principal_id, g.performer_id, g.performer_remote, g.gate,
  ${microsecondsOf('g.deadline')}, g.max_revisions, encode(g.tolerances, 'hex'),
  case when g.ended_as in (g.state, '') and (g.ended_as = '') = (g.state in (${OPEN}))
    then g.state end, g.version,
  g.last_seq, l.subject_id, g.revisions)`

export type GatedColumns = {
  readonly firstSeq: number
  readonly principalId: string
  readonly performerId: string | null
  readonly performerRemote: string | null
  readonly gate: string
  readonly deadlineUs: string | null
  readonly maxRevisions: number
  /** Tolerances in hex. */
  readonly tolerances: string | null
  /** State of the record. null if searches do not find the record by its state. */
  readonly state: string | null
  readonly version: number
  readonly lastSeq: number
  readonly lastSubjectId: string | null
  readonly revisions: number
}

export function gatedColumns([
  firstSeq,
  principalId,
  performerId,
  performerRemote,
  gate,
  deadlineUs,
  maxRevisions,
  tolerances,
  state,
  version,
  lastSeq,
  lastSubjectId,
  revisions,
]: AuditedGatedRecord): GatedColumns {
  return {
    firstSeq,
    principalId,
    performerId,
    performerRemote,
    gate,
    deadlineUs,
    maxRevisions,
    tolerances,
    state,
    version,
    lastSeq,
    lastSubjectId,
    revisions,
  }
}

/** Verifies the row of the gated record against the entry at `seq`. Throws `columns_contradict_entries`. */
export function verifyGatedRows(
  statement: ParsedStatement,
  seq: number,
  { gated: rows, prevSeq, earlierStepSeq }: Rows,
  sha256: Sha256,
): void {
  const isCreation = statement.kind === 'record-created'
  if (!isCreation && (versionOf(statement) ?? 1) === 1) return
  const [row] = rows
  if (!row || rows.length > 1)
    throw contradiction(`gated_records: ${rows.length} rows of ${statement.subjects[0].name}`)
  compare('entries', 'prev_seq', prevSeq, isCreation ? null : (earlierStepSeq ?? row.firstSeq))
  if (isCreation) {
    if (earlierStepSeq !== null)
      throw contradiction(`entries: the record was created before its step at seq ${earlierStepSeq}`)
    compareRows<Partial<GatedColumns>>('gated_records', [row], [termsOf(statement, seq, sha256)])
  }
  verifyParty(statement, row, sha256)
  verifyLast(statement, seq, row)
}

/** Rows to verify. `prevSeq` and `earlierStepSeq` come from the entry's row. */
type Rows = {
  readonly gated: readonly GatedColumns[]
  readonly prevSeq: number | null
  readonly earlierStepSeq: number | null
}

function termsOf(statement: ParsedStatement, firstSeq: number, sha256: Sha256): Partial<GatedColumns> {
  const { gate, deadline, maxRevisions, tolerances } = statement.predicate as Terms
  return {
    firstSeq,
    principalId: partyUuid(statement, sha256)!,
    gate,
    deadlineUs: deadline === undefined ? null : microseconds(deadline),
    maxRevisions,
    tolerances: tolerances === undefined ? null : toHex(utf8Encode(canonicalize(tolerances))),
  }
}

type Terms = {
  readonly gate: string
  readonly deadline?: string
  readonly maxRevisions: number
  readonly tolerances?: JsonObject
}

/**
 * Verifies the step's party against the parties in the row. This is needed because append_entries trusts the party
 * that the appender states, and does not read the signed statement.
 */
function verifyParty(
  statement: ParsedStatement,
  { principalId, performerId, gate }: GatedColumns,
  sha256: Sha256,
): void {
  const { kind, predicate } = statement
  const party = partyUuid(statement, sha256)
  const named = predicate['performer'] as string | undefined
  if (named !== undefined) compare('gated_records', 'performer_id', performerId, agentUuid(named, sha256))
  if (kind === 'verdict-rendered') compare('gated_records', 'gate', gate, predicate['by'])
  if (kind === 'verdict-overturned' && party === performerId)
    throw new ProofError(
      'actor_not_entitled',
      `the performer ${partyOf(statement)} overturned the verdict, but only another agent may do this`,
    )
  const role = STEP_PARTIES[kind as StepKind]
  if (role === 'performer') compare('gated_records', 'performer_id', performerId, party)
  if (role === 'principal' && predicate['by'] !== 'auto')
    compare('gated_records', 'principal_id', principalId, party)
}

/**
 * Verifies that nobody has set the record's row back to an earlier step. Compares the state in the row only if this
 * step is the newest step.
 */
function verifyLast(statement: ParsedStatement, seq: number, row: GatedColumns): void {
  if (row.lastSeq < seq) {
    throw contradiction(`gated_records.last_seq is ${row.lastSeq}, but the record has a step at seq ${seq}`)
  }
  compare('gated_records', 'last_seq', row.lastSubjectId, parseId('rec', statement.subjects[0].name))
  if (row.lastSeq !== seq) return
  compare('gated_records', 'state', row.state, statement.predicate['to'])
  compare('gated_records', 'version', row.version, versionOf(statement))
}
