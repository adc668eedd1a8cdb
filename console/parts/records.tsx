import type { LedgerRecord } from '../../sdk/generated/api.ts'
import { SUMMARY_CHARS_MAX } from '../limits.ts'
import { linkTo } from '../router.ts'
import type { Session } from '../session.ts'
import { duration } from '../times.ts'
import { Agent, type Column, Id, State, Table, Time } from './basics.tsx'
import { nameOf } from './json-tree.tsx'

/** Table of records. `more`: additional columns. */
export function Records({
  caption,
  records,
  session,
  more = [],
  empty,
}: {
  caption: string
  records: readonly LedgerRecord[]
  session: Session
  more?: readonly Column<LedgerRecord>[]
  empty?: string
}) {
  const columns: Column<LedgerRecord>[] = [
    { name: 'What', cell: (record) => <Summary record={record} /> },
    { name: 'When', cell: ({ recordedAt }) => <Time at={recordedAt} /> },
    { name: 'By', cell: ({ actor }) => <Agent id={actor} names={session.names} /> },
    ...more,
    { name: 'Type', cell: ({ type }) => <code class="type">{type}</code> },
    { name: 'Record', cell: ({ id }) => <Id id={id} to={linkTo('record', id)} short /> },
  ]
  return (
    <Table
      caption={caption}
      columns={columns}
      rows={records}
      keyOf={({ id }) => id}
      {...(empty && { empty })}
    />
  )
}

/**
 * Shows outcome or state of a record, and one line of its payload. For built-in types, the line contains only the most
 * important members.
 */
export function Summary({ record }: { record: LedgerRecord }) {
  const { payload, erasure, gated, state } = record
  // A notarized record can have only one state, so its state is not shown.
  const word = gated === null ? wordOf(record) : state
  return (
    <span class="summary">
      {word !== null && (
        <>
          <State state={word} />{' '}
        </>
      )}
      {payload === null ? (
        <i class="quiet">{erasure === null ? 'not shared' : 'erased'}</i>
      ) : (
        summaryOf(record)
      )}
    </span>
  )
}

/** Returns the status or the decision that a record contains, or null for records of other types. */
export function wordOf({ type, payload }: LedgerRecord): string | null {
  const { status, decision } = (payload ?? {}) as { status?: unknown; decision?: unknown }
  if (type === 'agent-outcome/1' || type === 'mcp-call/1') return text(status)
  return type === 'approval/1' ? text(decision) : null
}

export function summaryOf({ type, payload }: LedgerRecord): string {
  const said = (payload ?? {}) as Record<string, unknown>
  const parts = SUMMARIES[type]?.(said) ?? [membersOf(payload)]
  return shorten(parts.filter((part) => part !== null).join(' · '))
}

type Parts = (said: Record<string, unknown>) => (string | null)[]

const SUMMARIES: Readonly<Record<string, Parts>> = {
  'agent-action/1': ({ kind, name, server, arguments: given }) => [
    text(kind),
    text(name),
    text(server),
    given === undefined ? null : membersOf(given),
  ],
  'agent-outcome/1': ({ name, errorType, error, durationMs, result }) => [
    text(name),
    text(errorType),
    text(error),
    typeof durationMs === 'number' ? duration(durationMs) : null,
    result === undefined ? null : membersOf(result),
  ],
  'approval/1': ({ by, name, why }) => [approverOf(by), text(name), text(why)],
  'mcp-call/1': ({ method, name, error }) => [text(method), text(name), text(error)],
  'otel-span/1': ({ name, kind }) => [text(name), text(kind)],
  'otel-log/1': ({ eventName, body }) => [text(eventName), body === undefined ? null : JSON.stringify(body)],
}

/**
 * Returns a value in one line. Members of an object are listed: `boxes: 40, deliver: "wire"`. Strings are quoted, so
 * that a string cannot look like a member.
 */
export function membersOf(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${nameOf(name)}: ${JSON.stringify(member)}`)
  return members.join(', ') || '{}'
}

/**
 * Shows the decision of an `approval/1`. The name of the party that decided is only a claim of the record's writer. The
 * signature proves who wrote the record, or that the server accepted the record from that agent.
 */
export function Decision({ record, session }: { record: LedgerRecord; session: Session }) {
  const { actor, entry, payload } = record
  return (
    <div>
      <a href={linkTo('record', record.id)}>
        <State state={wordOf(record) ?? 'erased'} />
      </a>{' '}
      {approverOf(payload?.['by']) ?? 'nobody is named'}{' '}
      <small class="quiet">
        so claims <Agent id={actor} names={session.names} />, signed by the {entry.signedBy}
      </small>
    </div>
  )
}

/** Returns the name of the party that decided, from an `approval/1`. */
export function approverOf(by: unknown): string | null {
  const { kind, id } = (by ?? {}) as { kind?: unknown; id?: unknown }
  return [text(kind), text(id)].filter((part) => part !== null).join(' ') || null
}

export function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

export function shorten(line: string): string {
  return line.length > SUMMARY_CHARS_MAX ? `${line.slice(0, SUMMARY_CHARS_MAX)}…` : line
}
