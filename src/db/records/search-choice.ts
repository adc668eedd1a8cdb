import type pg from 'pg'
import { SEARCH_DAYS_MAX, SEARCH_PROBE_CANDIDATES } from '../limits.ts'
import type { RecordSearch, Stretch } from './search.ts'
import {
  type Bind,
  daysText,
  FILTERS,
  type RecordFilters,
  type Stream,
  WHOLE_LEDGER,
  walkDays,
} from './search-streams.ts'
import { entriesOf, orderOf, query, walksOf, within } from './search-text.ts'

/** Makes the streams' SQL, in a statement's own numbering of values. */
export type MakeStreams = (bind: Bind) => readonly Stream[]

/**
 * The walk that probably looks at the fewest records in vain: the one that ends first, or whose first candidates reach
 * furthest along the chain. One that ends makes the page complete, so a rare value beside a common one costs no more
 * than alone. null: there can't be any record.
 */
export async function chooseStreams(
  pool: pg.Pool,
  ledger: string,
  search: RecordSearch,
  stretch: Stretch,
): Promise<MakeStreams | null> {
  const choices = await listChoices(pool, ledger, search.filters)
  if (choices === null) return null
  if (choices.length < 2) return choices[0] ?? (() => [WHOLE_LEDGER])
  const [probe] = await query<Record<string, number | null>>(pool, ledger, (bind) => {
    const reached = choices.map((make, i) => `${reachText(make(bind), search, stretch, bind)} as reach${i}`)
    return `select ${reached.join(', ')}`
  })
  const sign = search.order === 'desc' ? -1 : 1
  const reach = choices.map((_, i) => {
    const seq = probe![`reach${i}`]!
    return seq === null ? Number.POSITIVE_INFINITY : sign * seq
  })
  return choices[reach.indexOf(Math.max(...reach))]!
}

/** How far the first candidates of the walks together reach; null: there are no more than these. */
function reachText(streams: readonly Stream[], search: RecordSearch, stretch: Stretch, bind: Bind): string {
  // All walks must have ended, or the first one that has not counts: max, min, greatest and least pass over nulls.
  const [first, firstOf] = search.order === 'desc' ? ['max', 'greatest'] : ['min', 'least']
  const reaches = streams.map((stream) => {
    const { list, count } = walksOf(stream)
    const skipped = Math.ceil(SEARCH_PROBE_CANDIDATES / (streams.length * count))
    return `(select ${first}(r.first_seq) from ${list} cross join lateral (
        select r.first_seq from ${stream.from} ${within(stream, search, stretch, bind)}
        order by ${orderOf(stream, search.order)} limit 1 offset ${skipped}
      ) r)`
  })
  return `${firstOf}(${reaches.join(', ')})`
}

async function listChoices(
  pool: pg.Pool,
  ledger: string,
  filters: RecordFilters,
): Promise<MakeStreams[] | null> {
  const choices: MakeStreams[] = []
  for (const [name, value] of entriesOf(filters)) {
    const { streams } = FILTERS[name]
    if (streams) choices.push((bind) => streams(value as never, bind))
  }
  const { occurred } = filters
  if (occurred) {
    const days = await query<{ day: string }>(
      pool,
      ledger,
      (bind) => `${daysText(occurred, bind)} limit ${SEARCH_DAYS_MAX + 1}`,
    )
    if (days.length === 0) return null
    if (days.length <= SEARCH_DAYS_MAX)
      choices.push((bind) => [
        walkDays(
          days.map(({ day }) => day),
          bind,
        ),
      ])
  }
  return choices
}
