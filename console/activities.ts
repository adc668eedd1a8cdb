import type { LedgerRecord } from '../sdk/generated/api.ts'

/* Groups records into activities. An action, its outcomes and the decisions about it form one activity. */

/** A record with its outcomes and decisions, and the activities below it, in the order of their start. */
export type Activity = {
  readonly record: LedgerRecord
  readonly outcomes: readonly LedgerRecord[]
  readonly decisions: readonly LedgerRecord[]
  /** The action's status, or another word for its end. null if the record is not an action. */
  readonly ending: string | null
  readonly beganMs: number
  /** Time when the activity ended, in ms, or null if no record contains it. */
  readonly endedMs: number | null
  readonly below: readonly Activity[]
  /**
   * Number of activities below this one, at any depth. `troubles`: number of those activities that did not end well.
   */
  readonly inside: number
  readonly troubles: number
}

/** Endings in addition to the statuses of outcomes. */
export const NO_OUTCOME = 'no outcome'
export const NOT_READ = 'not read yet'
export const ERASED = 'outcome erased'
export const NO_STATUS = 'no status'

/** Endings that do not count as troubles. */
const FINE = new Set<string | null>(['ok', NO_STATUS, NOT_READ, null])

export function isAction({ type }: LedgerRecord): boolean {
  return type === 'agent-action/1'
}

export function isOutcome({ type }: LedgerRecord): boolean {
  return type === 'agent-outcome/1'
}

export function isDecision({ type }: LedgerRecord): boolean {
  return type === 'approval/1'
}

/**
 * Returns the top activities, which are those whose parent is not among the records. `isRead` returns whether all
 * records below a record were read.
 */
export function activitiesOf(
  records: readonly LedgerRecord[],
  isRead: (id: string) => boolean = () => true,
): readonly Activity[] {
  const known = new Map(records.map((record) => [record.id, record]))
  const byParent = new Map<string | null, LedgerRecord[]>()
  for (const record of records) {
    const parent = record.parent !== null && known.has(record.parent) ? record.parent : null
    const list = byParent.get(parent)
    if (list === undefined) byParent.set(parent, [record])
    else list.push(record)
  }
  const activity = (record: LedgerRecord): Activity => {
    const [outcomes, decisions, rest]: [LedgerRecord[], LedgerRecord[], LedgerRecord[]] = [[], [], []]
    // Calls itself, because a decision may be about another decision.
    const sort = ({ id }: LedgerRecord) => {
      for (const child of byParent.get(id) ?? []) {
        const part = !isAction(record)
          ? null
          : isOutcome(child)
            ? outcomes
            : isDecision(child)
              ? decisions
              : null
        ;(part ?? rest).push(child)
        if (part !== null) sort(child)
      }
    }
    sort(record)
    const below = rest.map(activity).sort((one, other) => one.beganMs - other.beganMs)
    return {
      record,
      outcomes,
      decisions,
      ending: endingOf(record, outcomes, decisions, isRead(record.id)),
      ...timesOf(record, outcomes),
      below,
      inside: below.reduce((sum, { inside }) => sum + inside + 1, 0),
      troubles: below.reduce((sum, { ending, troubles }) => sum + troubles + (FINE.has(ending) ? 0 : 1), 0),
    }
  }
  return (byParent.get(null) ?? []).map(activity)
}

/**
 * Returns the word for the end of an activity. A known status takes precedence over an earlier unknown status. Without
 * an outcome, the last decision counts if it is a denial. `isRead`: true if all records about the activity were read.
 */
export function endingOf(
  record: LedgerRecord,
  outcomes: readonly LedgerRecord[],
  decisions: readonly LedgerRecord[],
  isRead: boolean,
): string | null {
  if (isAction(record)) {
    const words = outcomes.map(statusOf)
    const wasDenied = decisions.at(-1)?.payload?.['decision'] === 'deny'
    const without = !isRead ? NOT_READ : wasDenied ? 'denied' : NO_OUTCOME
    return words.find((word) => word !== 'unknown') ?? words[0] ?? without
  }
  if (isOutcome(record) || record.type === 'mcp-call/1') return statusOf(record)
  if (record.type !== 'otel-span/1') return null
  if (record.payload === null) return ERASED
  const { code } = (record.payload['status'] ?? {}) as { code?: unknown }
  return code === 'ERROR' ? 'error' : code === 'OK' ? 'ok' : NO_STATUS
}

function statusOf({ payload }: LedgerRecord): string {
  if (payload === null) return ERASED
  const status = payload['status']
  return typeof status === 'string' ? status : 'unknown'
}

/** Returns start and end of an activity: the writer's times if the records have them, otherwise the server's times. */
function timesOf(
  record: LedgerRecord,
  outcomes: readonly LedgerRecord[],
): { readonly beganMs: number; readonly endedMs: number | null } {
  const atMs = timeOf(record)
  const { payload } = record
  if (record.type === 'otel-span/1') {
    const [began, ended] = [nanoMs(payload?.['startTimeUnixNano']), nanoMs(payload?.['endTimeUnixNano'])]
    return { beganMs: began ?? ended ?? atMs, endedMs: ended }
  }
  if (record.type === 'mcp-call/1') return { beganMs: atMs - (durationOf(record) ?? 0), endedMs: atMs }
  if (record.gated !== null) return { beganMs: atMs, endedMs: endOfGated(record) }
  const outcome = outcomes.at(-1)
  if (outcome === undefined) return { beganMs: atMs, endedMs: isAction(record) ? null : atMs }
  const durationMs = durationOf(outcome)
  if (durationMs === null) return { beganMs: atMs, endedMs: Math.max(atMs, timeOf(outcome)) }
  // An action with `told: after` was recorded when it ended, so its time is the end.
  if (payload?.['told'] === 'after' && record.occurredAt === null) {
    const endedMs = timeOf(outcome)
    return { beganMs: endedMs - durationMs, endedMs }
  }
  return { beganMs: atMs, endedMs: atMs + durationMs }
}

function timeOf({ occurredAt, recordedAt }: LedgerRecord): number {
  return Date.parse(occurredAt ?? recordedAt)
}

function durationOf({ payload }: LedgerRecord): number | null {
  const ms = payload?.['durationMs']
  return typeof ms === 'number' && ms >= 0 ? ms : null
}

function nanoMs(value: unknown): number | null {
  return typeof value === 'string' && /^\d{1,20}$/.test(value) ? Number(value) / 1e6 : null
}

function endOfGated({ gated, nextEvents }: LedgerRecord): number | null {
  if (nextEvents.length > 0) return null
  const { overturn, verdict, cancellation, verification, completion } = gated!
  const last = overturn ?? verdict ?? cancellation ?? verification ?? completion
  return last === null ? null : Date.parse(last.recordedAt)
}

const RUN_SPANS: readonly unknown[] = ['invoke_agent', 'invoke_workflow', 'create_agent']

/**
 * Returns whether a record is a run of an agent, or an agent's call of another agent. Such records are counted
 * separately, because a run fails if a call in it fails.
 */
export function isRun({ type, payload }: LedgerRecord): boolean {
  if (type !== 'otel-span/1') return payload?.['kind'] === 'agent'
  const { attributes } = (payload ?? {}) as { attributes?: Record<string, unknown> }
  return RUN_SPANS.includes(attributes?.['gen_ai.operation.name'])
}

/** Yields all activities, each before the activities below it. */
export function* everyActivity(activities: readonly Activity[]): Generator<Activity, void, undefined> {
  for (const activity of activities) {
    yield activity
    yield* everyActivity(activity.below)
  }
}

/** Totals of the activities of one kind and name. */
export type Sum = {
  readonly name: string
  readonly kind: string
  count: number
  /** Maps an ending to the number of activities with this ending. */
  readonly endings: Map<string, number>
  inAllMs: number
  longestMs: number
}

/** Returns the totals of actions by kind and name, longest total time first. */
export function sumsOf(activities: readonly Activity[]): readonly Sum[] {
  const sums = new Map<string, Sum>()
  for (const { record, ending, beganMs, endedMs } of everyActivity(activities)) {
    if (ending === null) continue
    const { name, kind } = namesOf(record)
    const of = JSON.stringify([kind, name])
    const sum = sums.get(of) ?? { name, kind, count: 0, endings: new Map(), inAllMs: 0, longestMs: 0 }
    sums.set(of, sum)
    const ms = endedMs === null ? 0 : endedMs - beganMs
    sum.count++
    sum.endings.set(ending, (sum.endings.get(ending) ?? 0) + 1)
    sum.inAllMs += ms
    sum.longestMs = Math.max(sum.longestMs, ms)
  }
  return [...sums.values()].sort((one, other) => other.inAllMs - one.inAllMs)
}

/** Returns the name and the kind of an activity. The kind is `tool`, `model`, or the record's type. */
export function namesOf({ type, payload }: LedgerRecord): { readonly name: string; readonly kind: string } {
  const { name, kind, method } = (payload ?? {}) as Record<string, unknown>
  const given = typeof name === 'string' ? name : typeof method === 'string' ? method : null
  return {
    name: given ?? type,
    kind: typeof kind === 'string' && type === 'agent-action/1' ? kind : type,
  }
}
