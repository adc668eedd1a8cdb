import type { Db } from '../connect/client.ts'
import { SEARCH_DAYS_MAX, SEARCH_PROBE_CANDIDATES } from '../limits.ts'
import { BATCH_FILTERS, canBeOfBatch, dayKeysOf } from './batch-filters.ts'
import type { RecordSearch, SeqRange } from './search.ts'
import { type ChunkWalk, keysText, walkText } from './search-chunks.ts'
import {
  type Bind,
  daysText,
  FILTERS,
  type Stream,
  type TimeRange,
  WHOLE_LEDGER,
  walkDays,
} from './search-streams.ts'
import { entriesOf, orderOf, runShared, walksOf, within } from './search-text.ts'
import type { Searches } from './searches.ts'

/**
 * Makes the SQL of one or more index walks. `bind` makes a placeholder for each value of the walks, so that one
 * statement can contain several walks.
 */
type MakeStreams = (bind: Bind) => readonly Stream[]

/**
 * The chosen index walks of a search.
 *
 * - `makeStreams`: makes walks over the table `records`. null if no record with its own entry can match.
 * - `walk`: the walk over chunks of batches. null if no record of a batch can match.
 */
export type Choice = { readonly makeStreams: MakeStreams | null; readonly walk: ChunkWalk | null }

/** The index walks that could serve a search, one for each filter that has an index. null if no record can match. */
type Choices<T> = readonly T[] | null

/**
 * Chooses one index walk over `records` and one over chunks: those that probably read the fewest rows that do not
 * match.
 *
 * If a walk ends within its first candidates, this walk is chosen. Otherwise the walk whose first candidates reach
 * furthest along the chain is chosen. So a search for a rare and a common value costs no more than a search for the
 * rare value alone.
 */
export async function chooseWalks(
  searches: Searches,
  ledger: string,
  search: RecordSearch,
  range: SeqRange,
): Promise<Choice> {
  const [own, ofBatches] = await Promise.all([
    listOwn(searches, ledger, search),
    listOfBatches(searches, ledger, search),
  ])
  const toProbe = [own ?? [], ofBatches ?? []].map((choices) => (choices.length < 2 ? [] : choices)) as [
    readonly MakeStreams[],
    readonly (readonly Buffer[])[],
  ]
  const reach = await probe(searches, ledger, search, range, toProbe)
  return {
    makeStreams: own && (own[furthest(reach.slice(0, toProbe[0].length))] ?? (() => [WHOLE_LEDGER])),
    walk: ofBatches && walkOf(ofBatches, furthest(reach.slice(toProbe[0].length))),
  }
}

function walkOf(lists: readonly (readonly Buffer[])[], chosen: number): ChunkWalk {
  return { keys: lists[chosen] ?? null, others: lists.filter((_, i) => i !== chosen) }
}

function furthest(reach: readonly number[]): number {
  return Math.max(0, reach.indexOf(Math.max(...reach)))
}

/**
 * Returns, for each index walk, how far its first candidates reach along the chain. A larger number means further in
 * search order. The number is infinite if the walk has no more than these first candidates.
 */
async function probe(
  searches: Searches,
  ledger: string,
  search: RecordSearch,
  range: SeqRange,
  [own, ofBatches]: readonly [readonly MakeStreams[], readonly (readonly Buffer[])[]],
): Promise<number[]> {
  if (own.length + ofBatches.length === 0) return []
  const [row] = await runShared<Record<string, number | null>>(searches, ledger, search, (bind) => {
    const texts = [
      ...own.map((make) => reachText(make(bind), search, range, bind)),
      ...ofBatches.map((keys) => chunkReachText(keys, search, range, bind)),
    ]
    return `select ${texts.map((text, i) => `${text} as reach${i}`).join(', ')}`
  })
  const sign = search.order === 'desc' ? -1 : 1
  return [...own, ...ofBatches].map((_, i) => {
    const seq = row![`reach${i}`]!
    return seq === null ? Number.POSITIVE_INFINITY : sign * seq
  })
}

/**
 * Returns SQL of the seq that the index walks `streams` have reached after their first SEARCH_PROBE_CANDIDATES
 * candidates. The SQL yields null if all walks have ended by then.
 */
function reachText(streams: readonly Stream[], search: RecordSearch, range: SeqRange, bind: Bind): string {
  const [first, firstOf] = search.order === 'desc' ? ['max', 'greatest'] : ['min', 'least']
  const reaches = streams.map((stream) => {
    const { list, count } = walksOf(stream)
    const skipped = Math.ceil(SEARCH_PROBE_CANDIDATES / (streams.length * count))
    return `(select ${first}(r.first_seq) from ${list} cross join lateral (
        select r.first_seq from ${stream.from} ${within(stream, search, range, bind)}
        order by ${orderOf(stream, search.order)} limit 1 offset ${skipped}
      ) r)`
  })
  // max, min, greatest and least ignore nulls. So the result is null only if all index walks have ended.
  return `${firstOf}(${reaches.join(', ')})`
}

function chunkReachText(keys: readonly Buffer[], search: RecordSearch, range: SeqRange, bind: Bind): string {
  const skipped = Math.ceil(SEARCH_PROBE_CANDIDATES / keys.length)
  return `(select ${search.order === 'desc' ? 'max' : 'min'}(k.seq) from ${keysText(keys, bind)} cross join lateral (
      ${walkText(keys, search, range, bind)} limit 1 offset ${skipped}
    ) k)`
}

async function listOwn(
  searches: Searches,
  ledger: string,
  search: RecordSearch,
): Promise<Choices<MakeStreams>> {
  const { filters } = search
  const choices: MakeStreams[] = []
  for (const [name, value] of entriesOf(filters)) {
    const { streams } = FILTERS[name]
    if (streams) choices.push((bind) => streams(value as never, bind))
  }
  const { occurred } = filters
  if (occurred) {
    const rows = await runShared<{ day: string }>(searches, ledger, search, (bind) =>
      daysText(occurred, bind),
    )
    const days = rows.map(({ day }) => day)
    if (days.length === 0) return null
    if (days.length <= SEARCH_DAYS_MAX) choices.push((bind) => [walkDays(days, bind)])
  }
  return choices
}

async function listOfBatches(
  searches: Searches,
  ledger: string,
  { filters }: RecordSearch,
): Promise<Choices<readonly Buffer[]>> {
  if (!canBeOfBatch(filters)) return null
  const lists: (readonly Buffer[])[] = []
  for (const [name, value] of entriesOf(filters)) {
    const { keys } = BATCH_FILTERS[name]
    if (keys) lists.push(keys(value as never))
  }
  if (filters.occurred) {
    const days = await listDayKeys(searches.pool, ledger, filters.occurred)
    if (days.length === 0) return null
    if (days.length <= SEARCH_DAYS_MAX) lists.push(days)
  }
  return lists
}

/**
 * Lists the keys of the days on which batch records occurred, in order. Returns at most SEARCH_DAYS_MAX + 1 keys. The
 * query jumps from one day to the next, so it does not read every record.
 */
export async function listDayKeys(pool: Db, ledger: string, range: TimeRange): Promise<Buffer[]> {
  const { rows } = await pool.query<{ key: Buffer }>({
    name: 'list_day_keys',
    text: `with recursive days (key) as (
        (select k.key from tallystick.batch_keys k
        where k.ledger_id = $1 and k.key >= $2 and k.key <= $3 order by k.key limit 1)
        union all
        select (select k.key from tallystick.batch_keys k
          where k.ledger_id = $1 and k.key > days.key and k.key <= $3 order by k.key limit 1)
        from days where days.key is not null
      )
      select key from days where key is not null limit ${SEARCH_DAYS_MAX + 1}`,
    values: [ledger, ...dayKeysOf(range)],
  })
  return rows.map(({ key }) => key)
}
