import type { Uuid } from '../../proof/ids.ts'
import { OPEN_STATES } from '../../proof/statement/kinds.ts'
import { mapSearched, type SearchedName } from '../../proof/statement/record-members.ts'
import { SEARCH_DAYS_MAX } from '../limits.ts'

/*
 * A walk reads an index in chain order and finds candidates: records that may match. The walks in this file find
 * records with their own entry (migrations/0004-records.sql, 0005-gated-records.sql).
 *
 * All SQL text is in this file. A caller's values are passed only as bound parameters.
 */

/** Filters of a search. A record must match all of them. */
export type RecordFilters = { readonly [Name in SearchedName]?: string } & {
  readonly reference?: string
  readonly parent?: Uuid
  readonly traceId?: string
  readonly onBehalfOf?: Uuid
  readonly actor?: Uuid
  readonly performer?: Uuid
  /** Principal of a gated record: the actor that created it, or the agent for which that actor acted. */
  readonly principal?: Uuid
  /**
   * Finds records of which the agent is the actor, the agent for which the actor acts, or the performer. Used for keys
   * that may only see records of their own agent.
   */
  readonly ownAgent?: Uuid
  readonly occurred?: TimeRange
  readonly recorded?: TimeRange
  readonly type?: string
  readonly state?: string
}

/**
 * A range of times in ms: from `fromMs` up to, but not including, `beforeMs`. null means that the range has no bound on
 * this side. At most one of the two is null.
 */
export type TimeRange = { readonly fromMs: number | null; readonly beforeMs: number | null }

/** Binds a value and returns its placeholder. */
export type Bind = (value: unknown, type: string) => string

/** The SQL of an index walk over records `r` of the ledger `q.ledger_id`. */
export type Stream = {
  /** SQL of the days `v.day`, and the number of these days. The index is read once for each day. */
  readonly days?: { readonly list: string; readonly count: number }
  /**
   * FROM clause with a WHERE condition. The index MUST skip the rows that the condition excludes, because Postgres does
   * not count such rows against the limit of candidates.
   */
  readonly from: string
  /** Condition that excludes candidates which another index walk of the same filter also finds. */
  readonly exclusion?: string
  readonly seq: string
  /** Whether the index that this SQL should use sorts nulls first. */
  readonly nullsFirst: boolean
}

type Filter<T> = {
  /**
   * Returns SQL of the condition on a record `r`. The planner must not be able to turn the condition into a join,
   * because a join would change the order of the walk.
   */
  condition(value: T, bind: Bind): string
  /**
   * Returns index walks that together find every matching record exactly once. Absent if no index serves the filter.
   */
  readonly streams?: (value: T, bind: Bind) => readonly Stream[]
}

/** Filters that compare the exact text of a member without a column of its own. Each such member has an index. */
const OF_OTHERS = mapSearched((name) => {
  const value = `r.other_members ->> '${name}'`
  return byColumn<string>(
    (text, bind) => `(${value}) collate "C" = ${bind(text, 'text')} and ${value} is not null`,
  )
})

/** All filters, ordered by how many records they probably find, fewest first. */
export const FILTERS: { readonly [Name in keyof RecordFilters]-?: Filter<NonNullable<RecordFilters[Name]>> } =
  {
    reference: {
      condition: (reference, bind) => `exists (select from tallystick.record_references x
      where x.ledger_id = q.ledger_id and x.reference = ${bind(reference, 'text')} and x.first_seq = r.first_seq
        and x.record_id = r.record_id offset 0)
      -- Erased references find nothing, though they may still be stored for a moment.
      and not exists (select from tallystick.erasures d
      where d.ledger_id = q.ledger_id and d.subject_id = r.record_id and d.document = 'payload'
        and d.document_seq = r.first_seq offset 0)`,
      streams: (reference, bind) => [
        {
          from: `tallystick.record_references x cross join lateral (
            select * from tallystick.records c where c.ledger_id = q.ledger_id and c.record_id = x.record_id offset 0
          ) r
          where x.ledger_id = q.ledger_id and x.reference = ${bind(reference, 'text')}`,
          seq: 'x.first_seq',
          nullsFirst: false,
        },
      ],
    },
    ...OF_OTHERS,
    parent: byColumn((parent, bind) => `r.parent_id = ${bind(parent, 'uuid')}`),
    traceId: byColumn(
      (traceId, bind) => `substr(r.traceparent, 4, 32) collate "C" = ${bind(traceId, 'text')}
      and r.traceparent is not null`,
    ),
    onBehalfOf: byColumn((agent, bind) => `r.on_behalf_of = ${bind(agent, 'uuid')}`),
    actor: {
      condition: (agent, bind) => `r.actor_id = ${bind(agent, 'uuid')}`,
      streams: (agent, bind) => [walkActor(bind(agent, 'uuid'))],
    },
    performer: byGated((agent, bind) => `x.performer_id = ${bind(agent, 'uuid')}`),
    principal: {
      condition: (agent, bind) => whereGated(`x.principal_id = ${bind(agent, 'uuid')}`),
      streams: (agent, bind) => walksOfMaker(bind(agent, 'uuid')),
    },
    ownAgent: {
      condition: (agent, bind) => {
        const own = bind(agent, 'uuid')
        return `(r.actor_id = ${own} or r.on_behalf_of = ${own} or ${whereGated(`x.performer_id = ${own}`)})`
      },
      streams: (agent, bind) => {
        const own = bind(agent, 'uuid')
        const exclusion = `r.actor_id <> ${own} and r.on_behalf_of is distinct from ${own}`
        return [...walksOfMaker(own), { ...walkGated(`x.performer_id = ${own}`), exclusion }]
      },
    },
    // This filter has no `streams`. Its index is read by day, and search-choice.ts must first find the days that exist.
    occurred: { condition: (range, bind) => inRange('r.occurred_at', range, bind) },
    // This filter has no `streams`. Times of recording are almost in chain order, so search-range.ts limits every
    // search to a range of entries.
    recorded: {
      condition: (range, bind) => `exists (select from tallystick.entries x
      where x.ledger_id = q.ledger_id and x.seq = r.first_seq and ${inRange('x.recorded_at', range, bind)}
      offset 0)`,
    },
    type: byColumn((type, bind) => `r.type collate "C" = ${bind(type, 'text')}`),
    state: {
      condition: (state, bind) =>
        state === 'RECORDED' ? NOTARIZED : whereGated(`x.state = ${bind(state, 'text')}`),
      streams: (state, bind) => (state === 'RECORDED' ? [WHOLE_LEDGER] : [walkState(state, bind)]),
    },
  }

export const WHOLE_LEDGER: Stream = {
  from: 'tallystick.records r where r.ledger_id = q.ledger_id',
  seq: 'r.first_seq',
  nullsFirst: false,
}

const NOTARIZED = `not ${whereGated('true')}`

const DAY = "date_trunc('day', r.occurred_at at time zone 'UTC')"

/**
 * Returns one index walk for all days. The days are passed as an array, because planning 31 separate queries would take
 * 20 ms.
 */
export function walkDays(days: readonly string[], bind: Bind): Stream {
  const list = `unnest(${bind(days, 'timestamp[]')}) v (day)`
  return {
    ...walkRecords(`${DAY} = v.day and r.occurred_at is not null`),
    days: { list, count: days.length },
  }
}

/**
 * Returns SQL of the days on which the ledger's records occurred, in order, at most SEARCH_DAYS_MAX + 1 days. The query
 * jumps from one day to the next, so it does not read every record.
 */
export function daysText(range: TimeRange, bind: Bind): string {
  const from = range.fromMs === null ? '' : `and ${DAY} >= date_trunc('day', ${bindTime(range.fromMs, bind)})`
  const before = range.beforeMs === null ? '' : `and ${DAY} < ${bindTime(range.beforeMs, bind)}`
  const first = (condition: string) => `select ${DAY} as day from tallystick.records r
    where r.ledger_id = q.ledger_id and r.occurred_at is not null ${condition} ${before} order by ${DAY} limit 1`
  return `with recursive days as (
      (${first(from)})
      union all
      select (${first(`and ${DAY} > days.day`)}) from days where days.day is not null
    )
    select to_char(day, 'YYYY-MM-DD') as day from days where day is not null limit ${SEARCH_DAYS_MAX + 1}`
}

function bindTime(ms: number, bind: Bind): string {
  return `(${bind(new Date(ms).toISOString(), 'timestamptz')} at time zone 'UTC')`
}

function byColumn<T>(condition: Filter<T>['condition']): Filter<T> {
  return { condition, streams: (value, bind) => [walkRecords(condition(value, bind))] }
}

/** Makes a filter with a condition on the row `x` of gated_records. */
function byGated<T>(condition: Filter<T>['condition']): Filter<T> {
  return {
    condition: (value, bind) => whereGated(condition(value, bind)),
    streams: (value, bind) => [walkGated(condition(value, bind))],
  }
}

function whereGated(condition: string): string {
  // Finds the row by primary key and then checks the condition. Without this order, a plan made while the table was
  // empty would use the index of the condition and read all matching rows.
  return `exists (select from (
        select * from tallystick.gated_records n where n.ledger_id = q.ledger_id and n.record_id = r.record_id offset 0
      ) x where ${condition} offset 0)`
}

function walkGated(condition: string): Stream {
  return {
    from: `tallystick.gated_records x cross join lateral (
        select * from tallystick.records c where c.ledger_id = q.ledger_id and c.record_id = x.record_id offset 0
      ) r
      where x.ledger_id = q.ledger_id and ${condition}`,
    seq: 'x.first_seq',
    nullsFirst: true,
  }
}

/**
 * Returns an index walk over records that ended in `state`. Records that have not ended are in no index by state,
 * because later steps change their state. So if `state` is a state of open records, the walk finds all open records.
 */
function walkState(state: string, bind: Bind): Stream {
  return walkGated(`x.ended_as collate "C" = ${bind(OPEN_STATES.includes(state) ? '' : state, 'text')}`)
}

/** Returns index walks over records that the agent made, or that were made on its behalf. */
function walksOfMaker(agent: string): Stream[] {
  const inItsName = { ...walkRecords(`r.on_behalf_of = ${agent}`), exclusion: `r.actor_id <> ${agent}` }
  return [walkActor(agent), inItsName]
}

function walkRecords(condition: string): Stream {
  return {
    from: `tallystick.records r where r.ledger_id = q.ledger_id and r.first_seq >= 0 and ${condition}`,
    seq: 'r.first_seq',
    nullsFirst: true,
  }
}

function walkActor(agent: string): Stream {
  return {
    // Finds the record by its id, which is the subject of the record's first entry. Without this order, a plan made
    // while the table was empty would read all matching rows.
    from: `tallystick.entries x cross join lateral (
        select * from tallystick.records c where c.ledger_id = q.ledger_id and c.record_id = x.subject_id offset 0
      ) r
      where x.ledger_id = q.ledger_id and x.actor_id = ${agent} and x.version = 1 and x.item_count is null`,
    seq: 'x.seq',
    nullsFirst: true,
  }
}

function inRange(column: string, { fromMs, beforeMs }: TimeRange, bind: Bind): string {
  const time = (ms: number) => bind(new Date(ms).toISOString(), 'timestamptz')
  const bounds = [
    ...(fromMs === null ? [] : [`${column} >= ${time(fromMs)}`]),
    ...(beforeMs === null ? [] : [`${column} < ${time(beforeMs)}`]),
  ]
  return bounds.length === 0 ? 'true' : bounds.join(' and ')
}
