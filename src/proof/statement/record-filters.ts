import { type ColumnlessMember, mapSearched } from './record-members.ts'

/*
 * Filters of a record search, each defined once. The query of `GET /v1/records`, the MCP tool, the options of
 * `tallystick list` and the console's fields are generated from this table. The database's search:
 * src/db/records/search-streams.ts and batch-filters.ts.
 */

export type RecordFilter = {
  /** Form of its values; a pattern: texts that match. */
  readonly form: 'type' | 'state' | 'agent' | 'anyAgent' | 'record' | 'reference' | 'trace' | 'time' | RegExp
  /** Description in the API, if the name alone is not clear. */
  readonly description?: string
  /** Option of the command line: name, placeholder of its value, help. */
  readonly option: readonly [name: string, value: string, help: string]
  /** Description for models; absent for times, which have a common one. */
  readonly mcp?: string
  /** Label in the console; absent: no field. */
  readonly label?: string
}

const WITHOUT_TIME = 'records without one are left out'

const TABLE = {
  type: {
    form: 'type',
    option: ['type', 'TYPE', 'name/version of a type'],
    mcp: 'name/version of a type, such as generic/1',
    label: 'Type, as agent-action/1',
  },
  state: {
    form: 'state',
    option: ['state', 'STATE', ''],
    mcp: 'RECORDED: notarized; the others: where a gated record stands now',
  },
  actor: {
    form: 'agent',
    option: ['actor', 'AGENT', 'who wrote it (agt_…)'],
    mcp: 'the agent (agt_…) that wrote it',
    label: 'By agent',
  },
  onBehalfOf: {
    form: 'agent',
    option: ['on-behalf-of', 'AGENT', 'for whom'],
    mcp: 'the agent in whose name it was written',
    label: 'On behalf of',
  },
  performer: {
    form: 'anyAgent',
    description: 'of a gated record: who delivers',
    option: ['performer', 'AGENT', 'of a gated record: who delivers'],
    mcp: 'of gated records: the agent that delivers',
    label: 'Performer',
  },
  principal: {
    form: 'agent',
    description: 'of a gated record: who judges',
    option: ['principal', 'AGENT', 'of a gated record: who judges'],
    mcp: 'of gated records: the agent that judges',
    label: 'Principal',
  },
  parent: {
    form: 'record',
    option: ['parent', 'RECORD', 'what follows from that record'],
    mcp: 'the record (rec_…) that they follow from',
    label: 'Parent',
  },
  reference: {
    form: 'reference',
    description: 'exactly one of its references',
    option: ['reference', 'TEXT', 'exactly one of its references'],
    mcp: 'exactly one of their references, such as order:4711',
    label: 'Reference',
  },
  traceId: {
    form: 'trace',
    description: 'of its traceparent',
    option: ['trace-id', 'ID', 'of its traceparent'],
    mcp: 'trace id of their traceparent, 32 hex digits',
    label: 'Trace id',
  },
} as const satisfies Record<string, RecordFilter>

const TIMES = {
  occurredAfter: {
    form: 'time',
    description: `occurredAt, inclusive; ${WITHOUT_TIME}`,
    option: ['occurred-after', 'TIME', 'from this time on, RFC 3339, UTC'],
  },
  occurredBefore: {
    form: 'time',
    description: `occurredAt, exclusive; ${WITHOUT_TIME}`,
    option: ['occurred-before', 'TIME', 'before this time'],
  },
  recordedAfter: {
    form: 'time',
    description: 'recordedAt, inclusive',
    option: ['recorded-after', 'TIME', 'from this time on'],
    label: 'Recorded at or after (UTC)',
  },
  recordedBefore: {
    form: 'time',
    description: 'recordedAt, exclusive',
    option: ['recorded-before', 'TIME', 'before this time'],
    label: 'Recorded before (UTC)',
  },
} as const satisfies Record<string, RecordFilter>

/** Returns the filter of a member without a column. */
export function filterOf(name: string, { pattern, description }: ColumnlessMember): RecordFilter {
  return { form: pattern, description, option: [name, 'TEXT', description], mcp: description, label: name }
}

export const RECORD_FILTERS = { ...TABLE, ...mapSearched(filterOf), ...TIMES }

export type FilterName = keyof typeof RECORD_FILTERS

export const FILTER_ENTRIES = Object.entries(RECORD_FILTERS) as [FilterName, RecordFilter][]
