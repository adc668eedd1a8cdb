import type pg from 'pg'
import { mapSearched, type SearchedName } from '../../proof/statement/record-members.ts'
import type { Order, RecordSearch, SeqRange } from './search.ts'
import { type Bind, FILTERS, type RecordFilters, type Stream } from './search-streams.ts'
import type { Searches, Sharing } from './searches.ts'

/* SQL fragments that all search statements share. */

/**
 * Returns SQL of the days of an index walk, and the number of these days. A walk that is not by day gets a list with
 * one value.
 */
export function walksOf({ days }: Stream) {
  return days ?? { list: '(values (0)) v (day)', count: 1 }
}

export function conditionsOf(filters: RecordFilters, bind: Bind): string {
  const conditions = entriesOf(filters).map(([name, value]) => FILTERS[name].condition(value as never, bind))
  return conditions.length === 0 ? 'true' : conditions.join(' and ')
}

/** Returns the filters that are set, in the order of FILTERS. */
export function entriesOf(filters: RecordFilters) {
  const names = Object.keys(FILTERS) as (keyof RecordFilters)[]
  return names.flatMap((name) => (filters[name] === undefined ? [] : [[name, filters[name]] as const]))
}

/**
 * Returns SQL that restricts a walk to the range, and to entries that may have records beyond `after`. The position
 * `after` may be within a batch.
 */
export function within({ seq }: Stream, { order, after }: RecordSearch, { from, end }: SeqRange, bind: Bind) {
  const first = after && order === 'asc' ? Math.max(from, after.seq + 1) : from
  const last = after && order === 'desc' ? Math.min(end, after.seq) : end
  return `and ${seq} >= ${bind(first, 'int8')} and ${seq} < ${bind(last, 'int8')}`
}

export function orderOf({ seq, nullsFirst }: Stream, order: Order): string {
  const nulls = nullsFirst === (order === 'asc') ? 'first' : 'last'
  return `${seq} ${order} nulls ${nulls}`
}

/**
 * Runs the SQL that `makeText` returns for the ledger `q.ledger_id`. Concurrent callers with the same text may share
 * one statement. Each row of `q` then has the values of one caller. `key`: as in `Searches.query`.
 */
export function runShared<Row extends pg.QueryResultRow>(
  searches: Searches,
  ledger: string,
  { filters, limit }: Pick<RecordSearch, 'filters' | 'limit'>,
  makeText: (bind: Bind) => string,
  key?: string,
): Promise<Row[]> {
  const values: unknown[] = [ledger]
  const types = ['uuid']
  const page = makeText((value, type) => {
    const isList = type.endsWith('[]')
    // A value that is a list is sent as one text, because unnest would flatten an array of arrays.
    values.push(isList ? listText(value as readonly (string | Buffer)[]) : value)
    types.push(isList ? 'text' : type)
    return isList ? `q.v${values.length}::${type}` : `q.v${values.length}`
  })
  const lists = types.map((type, i) => `$${i + 1}::${type}[]`)
  const names = types.map((_, i) => (i === 0 ? 'ledger_id' : `v${i + 1}`))
  const text = `select q.ix, p.* from unnest(${lists}) with ordinality q (${names}, ix) cross join lateral (${page}) p`
  return searches.query<Row>({ text, key, values, rowsMax: limit, sharing: sharingOf(filters) })
}

function listText(list: readonly (string | Buffer)[]): string {
  return `{${list.map((one) => (typeof one === 'string' ? one : `"\\\\x${one.toString('hex')}"`))}}`
}

/**
 * Returns whether the statement of a search is prepared, and whether it is shared.
 *
 * A search with at most one filter is prepared: there are few different texts of such searches, and planning takes
 * longer than everything else. The statement is also shared if the index finds only matching records. In that case no
 * search delays the others by more than one page.
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
