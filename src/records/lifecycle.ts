import type { GatedColumns, GatedRecordRow, RecordRowRead } from '../db/records/read-records.ts'
import { ApiError } from '../errors.ts'
import type { Uuid } from '../proof/ids.ts'
import { type EntryKind, LIFECYCLE, STEP_PARTIES, type StepKind } from '../proof/statement/kinds.ts'

/** State of a gated record that determines which steps may come next. */
export type LifecycleState = {
  readonly state: string
  readonly version: number
  readonly gate: 'principal' | 'auto'
  readonly revisionsLeft: number
  readonly hasDeadline: boolean
}

/**
 * Returns the kinds of entries that may come next, for the member `nextEvents`. They have the order of the lifecycle.
 */
export function nextEvents({ state, gate, revisionsLeft, hasDeadline }: LifecycleState): EntryKind[] {
  const kinds = new Set(LIFECYCLE.filter(({ from }) => from === state).map(({ kind }) => kind))
  if (revisionsLeft === 0 || gate === 'auto') kinds.delete('revision-requested')
  if (!hasDeadline) kinds.delete('record-expired')
  return [...kinds]
}

type LifecycleColumns = Pick<GatedColumns, 'gate' | 'maxRevisions' | 'revisions' | 'deadline'>

type LifecycleRow = Pick<RecordRowRead, 'state' | 'version'> &
  (LifecycleColumns | { readonly [Name in keyof LifecycleColumns]: null })

/** Returns the lifecycle state of a gated record. Returns null if the record is not gated. */
export function lifecycleStateOf(row: LifecycleRow): LifecycleState | null {
  if (row.gate === null) return null
  return {
    state: row.state,
    version: row.version,
    gate: row.gate,
    revisionsLeft: row.maxRevisions - row.revisions,
    hasDeadline: row.deadline !== null,
  }
}

/** Returns true if only the worker can take the next step: a verification, or the verdict of an `auto` gate. */
export function waitsForWorker({
  state,
  gate,
}: {
  readonly state: string
  readonly gate: string | null
}): boolean {
  return state === 'SUBMITTED' || (gate === 'auto' && (state === 'VERIFIED' || state === 'DISCREPANT'))
}

type StepAttempt = {
  readonly kind: StepKind
  readonly partyId: Uuid
  /** Agent whose API key is used. It may act on behalf of another agent, which is then the party. */
  readonly actorId: Uuid
  /** Versions that the record may have. null if any version is allowed. */
  readonly ifVersions: readonly number[] | null
}

/**
 * Throws ApiError if the step is not allowed. The codes are, in the order of the checks: `not_entitled`,
 * `version_mismatch`, `state_conflict`. Deadlines are not checked here, because the database's clock decides about
 * them.
 */
export function refuseStep(row: RecordRowRead, wanted: StepAttempt): asserts row is GatedRecordRow {
  const lifecycle = lifecycleStateOf(row)
  if (lifecycle && row.gate !== null) refuseParty(row, wanted)
  refuseMove(row, lifecycle, wanted)
}

/**
 * Makes the checks of refuseStep, except the check of the party. The record may belong to any ledger. `lifecycle`: null
 * if the record is not gated.
 */
export function refuseMove(
  { state, version }: Pick<RecordRowRead, 'state' | 'version'>,
  lifecycle: LifecycleState | null,
  { kind, ifVersions }: Pick<StepAttempt, 'kind' | 'ifVersions'>,
): void {
  if (ifVersions?.includes(version) === false) {
    throw new ApiError(
      'version_mismatch',
      `the record has version ${version}, but If-Match does not name it`,
      {
        members: { state, version },
      },
    )
  }
  const next = lifecycle ? nextEvents(lifecycle) : []
  if (next.includes(kind)) return
  // The worker may verify the completion a moment later, and then the step is allowed. So the error is retryable.
  const waits = state === 'SUBMITTED' && (kind === 'verdict-rendered' || kind === 'revision-requested')
  throw new ApiError('state_conflict', `${kind} cannot come next: the record is ${state}`, {
    members: { state, version, nextEvents: next },
    ...(waits && { retryable: true, retryAfterMs: 1_000 }),
  })
}

/**
 * Returns the error for a step that the database refused because of the deadline. The error contains the record's
 * current state.
 */
export function deadlineError(row: RecordRowRead): ApiError {
  const { state, version } = row
  const lifecycle = lifecycleStateOf(row)
  const next = lifecycle ? nextEvents(lifecycle) : []
  const late: readonly EntryKind[] = ['record-activated', 'completion-submitted']
  const when = row.deadline?.toISOString()
  return new ApiError('deadline_passed', `nothing was written: the deadline of the record was ${when}`, {
    members: { state, version, nextEvents: next.filter((kind) => !late.includes(kind)) },
  })
}

/**
 * Returns the error for a step that was refused although the current state of the record allows the step. Other
 * requests took steps in between.
 */
export function overtakenError(row: RecordRowRead): ApiError {
  const { state, version } = row
  const lifecycle = lifecycleStateOf(row)
  return new ApiError('state_conflict', 'other requests changed the record at the same time', {
    retryable: true,
    members: { state, version, nextEvents: lifecycle ? nextEvents(lifecycle) : [] },
  })
}

/** Values of `role` in a problem document. The role is the party that may take the refused step. */
export const STEP_ROLES = ['principal', 'performer', 'worker', 'other than the performer'] as const

const WHOSE = {
  principal: 'the principal',
  performer: 'the performer',
  worker: 'the worker, because the gate is auto',
  'other than the performer': 'any agent except the performer',
} as const satisfies Record<(typeof STEP_ROLES)[number], string>

/**
 * Steps for which the performer's key must not be used, whoever the party is. Otherwise a performer with the scope
 * `agents:act` could judge its own work on behalf of the principal.
 */
const VERDICTS: ReadonlySet<StepKind> = new Set(['verdict-rendered', 'verdict-overturned'])

function refuseParty(row: GatedRecordRow, { kind, partyId: party, actorId }: StepAttempt): void {
  const role = kind === 'verdict-rendered' && row.gate === 'auto' ? 'worker' : STEP_PARTIES[kind]
  const isEntitled =
    (role === 'principal' && party === row.principalId) ||
    (role === 'performer' && party === row.performerId) ||
    (kind === 'record-activated' && row.performerId === null && party !== row.principalId) ||
    (role === 'other than the performer' && party !== row.performerId)
  const judgesItself = VERDICTS.has(kind) && actorId === row.performerId
  if (isEntitled && judgesItself) {
    throw new ApiError(
      'not_entitled',
      `the performer cannot take the step ${kind}, not even on behalf of another agent`,
      {
        members: { role: 'other than the performer' },
      },
    )
  }
  if (isEntitled) return
  throw new ApiError('not_entitled', `the step ${kind} can only be taken by ${WHOSE[role]}`, {
    members: { role },
  })
}
