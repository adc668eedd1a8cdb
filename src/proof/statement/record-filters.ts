import { type ColumnlessMember, mapSearched } from './record-members.ts'

/*
 * Table of the filters of a record search. Each filter is defined only here. The query of `GET /v1/records`, the MCP
 * tool, the options of `tallystick list` and the console's fields are generated from this table.
 * src/db/records/search-streams.ts and batch-filters.ts search the database.
 */

export type RecordFilter = {
  /** Form of the filter's values. A regular expression stands for the texts that it matches. */
  readonly form: 'type' | 'state' | 'agent' | 'anyAgent' | 'record' | 'reference' | 'trace' | 'time' | RegExp
  /** Description in the API. Absent if the name alone is clear. */
  readonly description?: string
  /** Option of the command line: its name, the placeholder of its value, and its help text. */
  readonly option: readonly [name: string, value: string, help: string]
  /** Description for models. Absent for times, which have a common description. */
  readonly mcp?: string
  /** Label in the console. If absent, the console has no field for the filter. */
  readonly label?: string
}

const WITHOUT_TIME = 'records without occurredAt are left out'

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
    mcp: 'RECORDED: a notarized record; any other value: the current state of a gated record',
  },
  actor: {
    form: 'agent',
    option: ['actor', 'AGENT', 'the agent (agt_…) that wrote the record'],
    mcp: 'the agent (agt_…) that wrote the record',
    label: 'By agent',
  },
  onBehalfOf: {
    form: 'agent',
    option: ['on-behalf-of', 'AGENT', 'the agent on whose behalf the record was written'],
    mcp: 'the agent on whose behalf the record was written',
    label: 'On behalf of',
  },
  performer: {
    form: 'anyAgent',
    description: 'the performer of a gated record',
    option: ['performer', 'AGENT', 'the performer of a gated record'],
    mcp: 'the agent that delivers (gated records)',
    label: 'Performer',
  },
  principal: {
    form: 'agent',
    description: 'the principal of a gated record',
    option: ['principal', 'AGENT', 'the principal of a gated record'],
    mcp: 'the agent that judges (gated records)',
    label: 'Principal',
  },
  parent: {
    form: 'record',
    option: ['parent', 'RECORD', 'only children of this record'],
    mcp: 'the record (rec_…) whose children to find',
    label: 'Parent',
  },
  reference: {
    form: 'reference',
    description: 'exact text of one of the record’s references',
    option: ['reference', 'TEXT', 'exact text of one of the record’s references'],
    mcp: 'exact text of one of the record’s references, such as order:4711',
    label: 'Reference',
  },
  traceId: {
    form: 'trace',
    description: 'trace id of the record’s traceparent',
    option: ['trace-id', 'ID', 'trace id of the record’s traceparent'],
    mcp: 'trace id of the record’s traceparent, 32 hex digits',
    label: 'Trace id',
  },
} as const satisfies Record<string, RecordFilter>

const TIMES = {
  occurredAfter: {
    form: 'time',
    description: `earliest occurredAt, inclusive; ${WITHOUT_TIME}`,
    option: ['occurred-after', 'TIME', 'only records that happened at or after this time, RFC 3339, UTC'],
  },
  occurredBefore: {
    form: 'time',
    description: `latest occurredAt, exclusive; ${WITHOUT_TIME}`,
    option: ['occurred-before', 'TIME', 'only records that happened before this time'],
  },
  recordedAfter: {
    form: 'time',
    description: 'earliest recordedAt, inclusive',
    option: ['recorded-after', 'TIME', 'only records that were recorded at or after this time'],
    label: 'Recorded at or after (UTC)',
  },
  recordedBefore: {
    form: 'time',
    description: 'latest recordedAt, exclusive',
    option: ['recorded-before', 'TIME', 'only records that were recorded before this time'],
    label: 'Recorded before (UTC)',
  },
} as const satisfies Record<string, RecordFilter>

/** Returns the filter for a record member that has no database column of its own. */
export function filterOf(name: string, { pattern, description }: ColumnlessMember): RecordFilter {
  return { form: pattern, description, option: [name, 'TEXT', description], mcp: description, label: name }
}

export const RECORD_FILTERS = { ...TABLE, ...mapSearched(filterOf), ...TIMES }

export type FilterName = keyof typeof RECORD_FILTERS

export const FILTER_ENTRIES = Object.entries(RECORD_FILTERS) as [FilterName, RecordFilter][]
