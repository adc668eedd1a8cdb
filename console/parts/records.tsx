import type { LedgerRecord } from '../../sdk/generated/api.ts'
import { SUMMARY_CHARS_MAX } from '../limits.ts'
import { linkTo } from '../router.ts'
import type { Session } from '../session.ts'
import { Agent, type Column, Id, State, Table, Time } from './basics.tsx'

/** Records as rows. `more`: further columns. */
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
    { name: 'Record', cell: ({ id }) => <Id id={id} to={linkTo('record', id)} short /> },
    { name: 'State', cell: ({ state }) => <State state={state} /> },
    { name: 'Type', cell: ({ type }) => <code class="type">{type}</code> },
    { name: 'By', cell: ({ actor }) => <Agent id={actor} names={session.names} /> },
    { name: 'What', cell: (record) => <Summary record={record} /> },
    ...more,
    { name: 'When', cell: ({ recordedAt }) => <Time at={recordedAt} /> },
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

/** One line of a payload: for built-in types what matters there. */
export function Summary({ record }: { record: LedgerRecord }) {
  const { payload, erasure } = record
  if (payload === null) return <i class="quiet">{erasure === null ? 'not shared' : 'erased'}</i>
  const word = wordOf(record)
  return (
    <span class="summary">
      {word !== null && (
        <>
          <State state={word} />{' '}
        </>
      )}
      {summaryOf(record)}
    </span>
  )
}

/** How it ended, or was decided; null of other types. */
export function wordOf({ type, payload }: LedgerRecord): string | null {
  const { status, decision } = (payload ?? {}) as { status?: unknown; decision?: unknown }
  if (type === 'agent-outcome/1' || type === 'mcp-call/1') return text(status)
  return type === 'approval/1' ? text(decision) : null
}

export function summaryOf({ type, payload }: LedgerRecord): string {
  const said = (payload ?? {}) as Record<string, unknown>
  const parts = SUMMARIES[type]?.(said) ?? [JSON.stringify(payload)]
  return shorten(parts.filter((part) => part !== null).join(' · '))
}

type Parts = (said: Record<string, unknown>) => (string | null)[]

const SUMMARIES: Readonly<Record<string, Parts>> = {
  'agent-action/1': ({ kind, name, server, arguments: given }) => [
    text(kind),
    text(name),
    text(server),
    given === undefined ? null : JSON.stringify(given),
  ],
  'agent-outcome/1': ({ name, errorType, error, durationMs, result }) => [
    text(name),
    text(errorType),
    text(error),
    typeof durationMs === 'number' ? `${durationMs} ms` : null,
    result === undefined ? null : JSON.stringify(result),
  ],
  'approval/1': ({ by, name, why }) => [approverOf(by), text(name), text(why)],
  'mcp-call/1': ({ method, name, error }) => [text(method), text(name), text(error)],
  'otel-span/1': ({ name, kind }) => [text(name), text(kind)],
  'otel-log/1': ({ eventName, body }) => [text(eventName), body === undefined ? null : JSON.stringify(body)],
}

/** Name of the party that decided, by an `approval/1`. */
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
