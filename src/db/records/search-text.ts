import { hash } from 'node:crypto'
import type pg from 'pg'
import type { Order, RecordSearch, Stretch } from './search.ts'
import { type Bind, FILTERS, type RecordFilters, type Stream } from './search-streams.ts'

/* Pieces of SQL that all statements of a search are made of. */

/** One walk, where it is not taken for several days. */
export function walksOf({ days }: Stream) {
  return days ?? { list: '(values (0)) v (day)', count: 1 }
}

export function conditionsOf(filters: RecordFilters, bind: Bind): string {
  const conditions = entriesOf(filters).map(([name, value]) => FILTERS[name].condition(value as never, bind))
  return conditions.length === 0 ? 'true' : conditions.join(' and ')
}

/** In the order of FILTERS. */
export function entriesOf(filters: RecordFilters) {
  const names = Object.keys(FILTERS) as (keyof RecordFilters)[]
  return names.flatMap((name) => (filters[name] === undefined ? [] : [[name, filters[name]] as const]))
}

/** `after` is the place of one such record, or of one of a batch. */
export function within({ seq }: Stream, { order, after }: RecordSearch, { from, end }: Stretch, bind: Bind) {
  const first = after && order === 'asc' ? Math.max(from, after.seq + 1) : from
  const last = after && order === 'desc' ? Math.min(end, after.seq) : end
  return `and ${seq} >= ${bind(first, 'int8')} and ${seq} < ${bind(last, 'int8')}`
}

export function orderOf({ seq, nullsFirst }: Stream, order: Order): string {
  const nulls = nullsFirst === (order === 'asc') ? 'first' : 'last'
  return `${seq} ${order} nulls ${nulls}`
}

/**
 * Asks what `makeText` says. Searches by one filter at most are prepared: these are few texts, and planning one takes longer than
 * the rest of it. A name says its text, so that no two have one.
 */
export async function query<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  ledger: string,
  filters: RecordFilters,
  makeText: (bind: Bind) => string,
): Promise<Row[]> {
  const values: unknown[] = [ledger]
  const text = makeText((value, type) => `$${values.push(value)}::${type}`)
  const isPrepared = entriesOf(filters).length < 2
  const name = isPrepared ? { name: `search_${hash('sha256', text, 'hex').slice(0, 16)}` } : null
  return (await pool.query<Row>({ ...name, text, values })).rows
}
