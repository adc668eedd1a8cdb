import type pg from 'pg'
import { mapSearched, type SearchedName } from '../../proof/statement/record-members.ts'
import type { Order, RecordSearch, Stretch } from './search.ts'
import { type Bind, FILTERS, type RecordFilters, type Stream } from './search-streams.ts'
import type { Searches, Sharing } from './searches.ts'

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
 * Asks what `makeText` says of the ledger `q.ledger_id`. The values of several who ask the same are bound in one statement, as rows
 * of `q`.
 */
export function query<Row extends pg.QueryResultRow>(
  searches: Searches,
  ledger: string,
  { filters, limit }: Pick<RecordSearch, 'filters' | 'limit'>,
  makeText: (bind: Bind) => string,
): Promise<Row[]> {
  const values: unknown[] = [ledger]
  const types = ['uuid']
  const page = makeText((value, type) => {
    const isList = type.endsWith('[]')
    // Postgres takes one-dimensional arrays apart: a list within one is a text.
    values.push(isList ? listText(value as readonly (string | Buffer)[]) : value)
    types.push(isList ? 'text' : type)
    return isList ? `q.v${values.length}::${type}` : `q.v${values.length}`
  })
  const lists = types.map((type, i) => `$${i + 1}::${type}[]`)
  const names = types.map((_, i) => (i === 0 ? 'ledger_id' : `v${i + 1}`))
  const text = `select q.ix, p.* from unnest(${lists}) with ordinality q (${names}, ix) cross join lateral (${page}) p`
  return searches.ask<Row>({ text, values, rowsMax: limit, sharing: sharingOf(filters) })
}

function listText(list: readonly (string | Buffer)[]): string {
  return `{${list.map((one) => (typeof one === 'string' ? one : `"\\\\x${one.toString('hex')}"`))}}`
}

/**
 * Searches by one filter at most are prepared: these are few texts, and planning one takes longer than the rest of it. Those of which
 * every candidate matches are asked together: none makes the others wait for more than a page.
 */
function sharingOf(filters: RecordFilters): Sharing {
  const [first, second] = entriesOf(filters)
  if (second) return 'none'
  return first === undefined || MATCHED.has(first[0]) ? 'shared' : 'prepared'
}

const MATCHED: ReadonlySet<keyof RecordFilters> = new Set([
  'reference',
  'parent',
  'traceId',
  'onBehalfOf',
  'actor',
  'performer',
  'type',
  ...(Object.keys(mapSearched(() => null)) as SearchedName[]),
])
