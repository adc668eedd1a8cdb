import type { GatedColumns, GatedRecordRow, RecordRowRead } from '../db/records/read-records.ts'
import { ApiError } from '../errors.ts'
import type { Uuid } from '../proof/ids.ts'
import { type EntryKind, LIFECYCLE, STEP_PARTIES, type StepKind } from '../proof/statement/kinds.ts'

/** State that decides about the next step of a gated record. */
export type Standing = {
  readonly state: string
  readonly version: number
  readonly gate: 'principal' | 'auto'
  readonly revisionsLeft: number
  readonly hasDeadline: boolean
}

/** The kinds of entries that may come next, in the order of the lifecycle, for `nextEvents`. */
export function nextEvents({ state, gate, revisionsLeft, hasDeadline }: Standing): EntryKind[] {
  const kinds = new Set(LIFECYCLE.filter(({ from }) => from === state).map(({ kind }) => kind))
  if (revisionsLeft === 0 || gate === 'auto') kinds.delete('revision-requested')
  if (!hasDeadline) kinds.delete('record-expired')
  return [...kinds]
}

type StandingColumns = Pick<GatedColumns, 'gate' | 'maxRevisions' | 'revisions' | 'deadline'>

/** Columns by which a record stands where it does. */
type StandingRow = Pick<RecordRowRead, 'state' | 'version'> &
  (StandingColumns | { readonly [Name in keyof StandingColumns]: null })

/** null: a record that is not gated. */
export function standingOf(row: StandingRow): Standing | null {
  if (row.gate === null) return null
  return {
    state: row.state,
    version: row.version,
    gate: row.gate,
    revisionsLeft: row.maxRevisions - row.revisions,
    hasDeadline: row.deadline !== null,
  }
}

/** Whether the worker alone can take the next step: a completion, or the verdict of an `auto` gate. */
export function waitsForWorker({
  state,
  gate,
}: {
  readonly state: string
  readonly gate: string | null
}): boolean {
  return state === 'SUBMITTED' || (gate === 'auto' && (state === 'VERIFIED' || state === 'DISCREPANT'))
}

type Wanted = {
  readonly kind: StepKind
  /** Party that takes the step. */
  readonly partyId: Uuid
  /** Agent whose key takes it: another one if it acts for the party. */
  readonly actorId: Uuid
  /** The version that the caller says the record has; null: any. */
  readonly ifVersions: readonly number[] | null
}

/**
 * Throws ApiError `not_entitled`, `version_mismatch`, `state_conflict`, in this order. The database's clock decides
 * whether the deadline has passed.
 */
export function refuseStep(row: RecordRowRead, wanted: Wanted): asserts row is GatedRecordRow {
  const standing = standingOf(row)
  if (standing && row.gate !== null) refuseParty(row, wanted)
  refuseMove(row, standing, wanted)
}

/** The same for a step of any ledger's record, whose party has been looked at. `standing` null: the record is not gated. */
export function refuseMove(
  { state, version }: Pick<RecordRowRead, 'state' | 'version'>,
  standing: Standing | null,
  { kind, ifVersions }: Pick<Wanted, 'kind' | 'ifVersions'>,
): void {
  if (ifVersions?.includes(version) === false) {
    throw new ApiError(
      'version_mismatch',
      `the record has version ${version}, which If-Match does not name`,
      {
        members: { state, version },
      },
    )
  }
  const next = standing ? nextEvents(standing) : []
  if (next.includes(kind)) return
  // A completion that waits for the worker can be judged a moment later.
  const waits = state === 'SUBMITTED' && (kind === 'verdict-rendered' || kind === 'revision-requested')
  throw new ApiError('state_conflict', `${kind} can't come next: the record is ${state}`, {
    members: { state, version, nextEvents: next },
    ...(waits && { retryable: true, retryAfterMs: 1_000 }),
  })
}

/** Error for a step that the database's clock refused, about the record as it is. */
export function deadlineError(row: RecordRowRead): ApiError {
  const { state, version } = row
  const standing = standingOf(row)
  const next = standing ? nextEvents(standing) : []
  const late: readonly EntryKind[] = ['record-activated', 'completion-submitted']
  const when = row.deadline?.toISOString()
  return new ApiError('deadline_passed', `nothing was written: the deadline of the record was ${when}`, {
    members: { state, version, nextEvents: next.filter((kind) => !late.includes(kind)) },
  })
}

/** Error for a refused step that the record as it is now would allow: others took their steps in between. */
export function overtakenError(row: RecordRowRead): ApiError {
  const { state, version } = row
  const standing = standingOf(row)
  return new ApiError('state_conflict', 'other requests changed the record at the same time', {
    retryable: true,
    members: { state, version, nextEvents: standing ? nextEvents(standing) : [] },
  })
}

/** Values of `role` in a problem document: the party whose step it is. */
export const STEP_ROLES = ['principal', 'performer', 'worker', 'other than the performer'] as const

const WHOSE = {
  principal: 'the principal',
  performer: 'the performer',
  worker: 'the rules to take, because the gate is auto',
  'other than the performer': 'anybody but the performer',
} as const satisfies Record<(typeof STEP_ROLES)[number], string>

/**
 * The performer gives no verdict, in any agent's name: with `agents:act` it could judge its own work for the principal.
 */
const VERDICTS: ReadonlySet<StepKind> = new Set(['verdict-rendered', 'verdict-overturned'])

function refuseParty(row: GatedRecordRow, { kind, partyId: party, actorId }: Wanted): void {
  const role = kind === 'verdict-rendered' && row.gate === 'auto' ? 'worker' : STEP_PARTIES[kind]
  const isEntitled =
    (role === 'principal' && party === row.principalId) ||
    (role === 'performer' && party === row.performerId) ||
    (kind === 'record-activated' && row.performerId === null && party !== row.principalId) ||
    (role === 'other than the performer' && party !== row.performerId)
  const judgesItself = VERDICTS.has(kind) && actorId === row.performerId
  if (isEntitled && judgesItself) {
    throw new ApiError('not_entitled', `${kind} is not the performer's, for whomever it acts`, {
      members: { role: 'other than the performer' },
    })
  }
  if (isEntitled) return
  throw new ApiError('not_entitled', `${kind} is for ${WHOSE[role]}`, {
    members: { role },
  })
}
