import type pg from 'pg'
import type { RecordSearch, Stretch } from './search.ts'
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

export function within(
  { seq }: Stream,
  { order, after }: RecordSearch,
  { from, end }: Stretch,
  bind: Bind,
): string {
  const bounds = [`and ${seq} >= ${bind(from, 'int8')} and ${seq} < ${bind(end, 'int8')}`]
  if (after) {
    const [at, index] = [bind(after.seq, 'int8'), bind(after.index, 'int4')]
    const beyond = order === 'desc' ? '<' : '>'
    bounds.push(
      `and ${seq} ${beyond}= ${at} and (${seq} ${beyond} ${at} or coalesce(r.item_index, 0) ${beyond} ${index})`,
    )
  }
  return bounds.join(' ')
}

export function orderOf({ seq, nullsFirst }: Stream, order: 'asc' | 'desc'): string {
  const nulls = nullsFirst === (order === 'asc') ? 'first' : 'last'
  return `${seq} ${order} nulls ${nulls}, r.item_index ${order}`
}

export async function query<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  ledger: string,
  makeText: (bind: Bind) => string,
): Promise<Row[]> {
  const values: unknown[] = [ledger]
  const text = makeText((value, type) => `$${values.push(value)}::${type}`)
  return (await pool.query<Row>(text, values)).rows
}
