import type { Uuid } from '../../proof/ids.ts'
import { PAGE_BYTES_MAX, PAGE_INLINE_BYTES_MAX, SEARCH_CANDIDATES_MAX, SEARCH_CHUNKS_MAX } from '../limits.ts'
import { RECORD_TABLES, type RenderedRow, SHOWN_COLUMNS } from './read-records.ts'
import type { RecordPosition, RecordSearch, SeqRange } from './search.ts'
import type { Choice } from './search-choice.ts'
import {
  type ChunkCandidate,
  type ChunkWalk,
  countText,
  keysText,
  othersText,
  positionAfter,
  walkText,
} from './search-chunks.ts'
import type { Bind, Stream } from './search-streams.ts'
import { conditionsOf, entriesOf, orderOf, runShared, walksOf, within } from './search-text.ts'
import type { Searches } from './searches.ts'

/**
 * A record with its own entry that matches all filters. `bytes` is the size of its documents on a page. `own` is null
 * if the row was not read yet, because the documents of the page would exceed PAGE_INLINE_BYTES_MAX.
 */
export type OwnMatch = {
  readonly position: RecordPosition
  readonly bytes: number
  readonly recordId: Uuid
  readonly own: RenderedRow | null
}

/**
 * Results of the walks (search-streams.ts). `end` is the position up to which the walks are complete. It is null if the
 * walks were not stopped: they have found all matches, or enough for a full page.
 */
export type FoundCandidates = {
  readonly own: { readonly found: readonly OwnMatch[]; readonly end: RecordPosition | null }
  readonly chunks: {
    readonly found: readonly ChunkCandidate[]
    readonly end: RecordPosition | null
    /** True if the search has no filters. In this case all records of the chunks match. */
    readonly allMatch: boolean
  }
}

/**
 * Finds the candidates of a page in one statement: records with their own entry, and chunks that may contain more
 * matches.
 */
export async function findCandidates(
  searches: Searches,
  ledger: Uuid,
  search: RecordSearch,
  range: SeqRange,
  { makeStreams, walk }: Choice,
): Promise<FoundCandidates> {
  // Without filters, the text depends only on the order and on whether there is a cursor.
  const key = hasFilters(search) ? undefined : `page ${search.order} ${search.after !== null}`
  const makeText = (bind: Bind) => candidatesText(search, range, makeStreams?.(bind) ?? [], walk, bind)
  const rows = await runShared<CandidateRow>(searches, ledger, search, makeText, key)
  const [first] = rows.sort((a, b) => a.nth - b.nth)
  if (!first) throw new Error('the candidates of a page always are one row')
  const found = rows
    .filter((row) => row.foundId !== null)
    .map((row) => ({
      position: { seq: row.firstSeq, index: 0 },
      bytes: row.bytes,
      recordId: row.foundId!,
      own: row.recordId === null ? null : row,
    }))
  const stop = first.stopSeq === null ? null : { seq: first.stopSeq, index: 0 }
  return {
    own: { found, end: found.length < first.found ? found.at(-1)!.position : stop },
    chunks: {
      found: (first.chunks ?? []).map(([seq, chunk, before]) => ({ seq, chunk, before })),
      end:
        first.chunkStopSeq === null
          ? null
          : positionAfter(first.chunkStopSeq, first.chunkStop!, search.order),
      allMatch: !hasFilters(search),
    },
  }
}

type CandidateRow = RenderedRow & {
  /** Id of the found record. null if no record with its own entry was found. */
  foundId: Uuid | null
  nth: number
  firstSeq: number
  bytes: number
  found: number
  stopSeq: number | null
  /** All found chunks in the first row. null in all other rows. */
  chunks: [seq: number, chunk: number, before: number][] | null
  chunkStopSeq: number | null
  chunkStop: number | null
}

function hasFilters({ filters }: RecordSearch): boolean {
  return entriesOf(filters).length > 0
}

/**
 * Returns the SQL of findCandidates.
 *
 * Each walk reads a limited number of candidates and returns the matches among them. If a walk has more candidates, but
 * not enough matches for a page, it stops at its last candidate. All walks of the same kind then stop at this position
 * too, because they have found all matches up to there. The matches are sorted and limited to the page. If the found
 * records fill the page, chunks are searched only up to the position of the last found record.
 */
function candidatesText(
  search: RecordSearch,
  range: SeqRange,
  streams: readonly Stream[],
  walk: ChunkWalk | null,
  bind: Bind,
): string {
  const { order } = search
  const limit = bind(search.limit, 'int8')
  const own = ownText(search, range, streams, bind)
  const chunks = walk && chunksText(search, range, walk, own.stops, bind)
  return `with ${own.text}, ${chunks ? chunks.text : NO_CHUNKS},
    line as materialized (
      select l.*, sum(l.records) over (order by l.seq ${order}, l.chunk ${order} rows unbounded preceding) - l.records as before
      from (
        select record_id, first_seq as seq, 0 as chunk, 1 as records, nth, bytes, bytes_sum from own
        union all select null, seq, chunk, records, null, null, null from chunk
      ) l
    )
    select w.*, l.record_id as found_id, l.nth, l.seq as first_seq, l.bytes, (select count(*) from own) as found,
      ${own.stops ? '(select s.first_seq from stop s)' : 'null::int8'} as stop_seq,
      case when l.nth is null or l.nth = 1 then (
        select json_agg(json_build_array(c.seq, c.chunk, c.before) order by c.seq ${order}, c.chunk ${order})
        from line c where c.record_id is null
      ) end as chunks,
      ${chunks?.stops ? '(select t.seq from chunk_stop t)' : 'null::int8'} as chunk_stop_seq,
      ${chunks?.stops ? '(select t.chunk from chunk_stop t)' : 'null::int4'} as chunk_stop
    from (select) one
    left join line l on l.record_id is not null
      and (l.nth = 1 or l.before < ${limit} and l.bytes_sum <= ${PAGE_BYTES_MAX})
    left join lateral (
      select ${SHOWN_COLUMNS} from ${RECORD_TABLES}
      where r.ledger_id = q.ledger_id and r.record_id = l.record_id and l.bytes_sum <= ${PAGE_INLINE_BYTES_MAX} offset 0
    ) w on true`
}

/** SQL of walks. `stops` is true if the SQL defines `stop`, the position where the walks stopped. */
type Walks = { readonly text: string; readonly stops: boolean }

/**
 * Returns SQL of two CTEs. `own` has the matching records, at most one more than fits on a page. `stop` has the
 * position where the walks stopped.
 */
function ownText(search: RecordSearch, range: SeqRange, streams: readonly Stream[], bind: Bind): Walks {
  const { filters, order, candidatesMax = SEARCH_CANDIDATES_MAX } = search
  const beyond = order === 'desc' ? '<' : '>'
  const more = bind(search.limit + 1, 'int8')
  // Without filters every candidate matches, so every walk fills the page or reaches its end.
  const stops = hasFilters(search) && streams.length > 0
  const conditions = streams.length === 0 ? '' : conditionsOf(filters, bind)
  const parts = streams.map((stream, i) => {
    const walks = walksOf(stream)
    const budget = stops ? bind(budgetOf(candidatesMax, streams.length * walks.count), 'int8') : more
    const candidates = `select r.*, ${stream.seq} as walked_seq from ${stream.from} ${within(stream, search, range, bind)}
      order by ${orderOf(stream, order)}`
    const found = `found_${i} as materialized (
      select v.day, r.* from ${walks.list} cross join lateral (
        select r.first_seq, r.record_id,
          coalesce(length(r.payload), 0) + coalesce(length(r.metadata), 0) + coalesce(length(r.reference_list), 0) as bytes
        from (${candidates} limit ${budget}) r where ${conditions} and ${stream.exclusion ?? 'true'}
        order by ${orderOf({ ...stream, seq: 'r.walked_seq' }, order)} limit ${more}
      ) r
    )`
    const stop = `stop_${i} as materialized (
      select r.first_seq from ${walks.list} cross join lateral (
        select r.first_seq from (${candidates} limit 1 offset ${budget} - 1) r
        where (select count(*) from found_${i} f where f.day = v.day) < ${more}
      ) r
    )`
    return stops ? [found, stop] : [found]
  })
  const all = (name: string, columns: string) =>
    streams.map((_, i) => `select ${columns} from ${name}_${i}`).join(' union all ')
  if (stops)
    parts.push([
      `stop as materialized (select s.first_seq from (${all('stop', 'first_seq')}) s order by s.first_seq ${order} limit 1)`,
    ])
  const own = `own as materialized (
      select f.*, row_number() over w as nth, sum(f.bytes) over w as bytes_sum
      from (
        select f.record_id, f.first_seq, (f.bytes + ${STEP_BYTES})::int4 as bytes
        from (${all('found', 'record_id, first_seq, bytes') || NO_RECORDS}) f
        ${stops ? `where not exists (select from stop s where f.first_seq ${beyond} s.first_seq)` : ''}
        order by f.first_seq ${order} limit ${more}
      ) f
      window w as (order by f.first_seq ${order} rows unbounded preceding)
    )`
  return { text: [...parts.flat(), own].join(', '), stops }
}

const NO_RECORDS = 'select null::uuid as record_id, null::int8 as first_seq, null::int4 as bytes where false'

/**
 * SQL for the bytes that a page shows of a record in addition to its own row. These are the documents of the newest
 * step of each kind. Few records have such steps.
 */
const STEP_BYTES = `case when (
    select g.version from tallystick.gated_records g where g.ledger_id = q.ledger_id and g.record_id = f.record_id
  ) > 1 then (
    select coalesce(sum(length(d.content)), 0) from (
      select distinct on (s.kind) s.seq from tallystick.entries s
      where s.ledger_id = q.ledger_id and s.subject_id = f.record_id and s.version > 1 order by s.kind, s.version desc
    ) n
    cross join lateral (
      select d.content from tallystick.documents d where d.ledger_id = q.ledger_id and d.seq = n.seq offset 0
    ) d
  ) else 0 end`

/**
 * Returns SQL of two CTEs. `chunk` has the found chunks, at most one more than may be read. `chunk_stop` has the
 * position where the walk stopped. The column `records` of `chunk` is the minimum number of matches in the chunk.
 */
function chunksText(
  search: RecordSearch,
  range: SeqRange,
  walk: ChunkWalk,
  ownStops: boolean,
  bind: Bind,
): Walks {
  const { order, limit, candidatesMax = SEARCH_CANDIDATES_MAX, chunksMax = SEARCH_CHUNKS_MAX } = search
  const { keys } = walk
  const beyond = order === 'desc' ? '<' : '>'
  const more = bind((hasFilters(search) ? chunksMax : limit) + 1, 'int8')
  const stops = walk.others.length > 0
  // If there are no other lists of keys to check, every chunk that the walk reads is a candidate. The limit is then the
  // number of wanted chunks.
  const budget = stops ? bind(budgetOf(candidatesMax, keys?.length ?? 1), 'int8') : more
  // The CTE `reach` uses none of the callers' values, which are in `q`. So Postgres evaluates it once and uses the
  // index.
  const reach = `reach as materialized (
      select coalesce((select o.first_seq from own o where o.nth = ${bind(limit + 1, 'int8')})${ownStops ? ', (select s.first_seq from stop s)' : ''}) as seq
    )`
  const walked = walkText(keys, search, range, bind, '(select reach.seq from reach)')
  const list = keysText(keys, bind)
  const records = hasFilters(search) ? '0' : countText(search, bind)
  // The chunks of a single walk are already sorted and distinct.
  if (!stops && (keys === null || keys.length === 1)) {
    const text = `${reach}, chunk as materialized (
      select k.seq, k.chunk, ${records} as records from ${list} cross join lateral (${walked} limit ${more}) k
    )`
    return { text, stops }
  }
  const stop = `chunk_stop as materialized (
      select k.seq, k.chunk from ${list} cross join lateral (
        select k.seq, k.chunk from (${walked} limit 1 offset ${budget} - 1) k
        where (select count(*) from met m where m.key = v.key) < ${more}
      ) k
      order by k.seq ${order}, k.chunk ${order} limit 1
    )`
  const text = `${reach}, met as materialized (
      select v.key, k.* from ${list} cross join lateral (
        select k.seq, k.chunk, ${records} as records
        from (${walked} limit ${budget}) k where ${othersText(walk, bind)}
        order by k.seq ${order}, k.chunk ${order} limit ${more}
      ) k
    ), ${stops ? `${stop}, ` : ''}chunk as materialized (
      select distinct m.seq, m.chunk, m.records from met m
      ${stops ? `where not exists (select from chunk_stop t where (m.seq, m.chunk) ${beyond} (t.seq, t.chunk))` : ''}
      order by m.seq ${order}, m.chunk ${order} limit ${more}
    )`
  return { text, stops }
}

const NO_CHUNKS = 'chunk as (select null::int8 as seq, null::int4 as chunk, 0 as records where false)'

/**
 * Returns the maximum number of candidates for each walk. It is at least a tenth of `candidatesMax`, even with many
 * walks, because most walks fill the page much earlier.
 */
function budgetOf(candidatesMax: number, walks: number): number {
  return Math.ceil(candidatesMax / Math.min(walks, SHARES_MAX))
}

const SHARES_MAX = 10
