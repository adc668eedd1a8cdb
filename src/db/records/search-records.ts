import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { PAGE_BYTES_MAX, SEARCH_CANDIDATES_MAX } from '../limits.ts'
import { RECORD_COLUMNS, RECORD_TABLES, type RecordRowRead } from './read-records.ts'
import type { Place, RecordSearch, Stretch } from './search.ts'
import { chooseStreams, type MakeStreams } from './search-choice.ts'
import type { Bind, Stream } from './search-streams.ts'
import { listStretch } from './search-stretch.ts'
import { conditionsOf, orderOf, query, walksOf, within } from './search-text.ts'

/** `next`: how far was looked; null at the end. A page may hold fewer records than asked for, or none, and not be the last. */
type RecordPage = { readonly rows: readonly RecordRowRead[]; readonly next: Place | null }

/**
 * One page of the records that all filters let through, in the order of the chain. A request looks at
 * SEARCH_CANDIDATES_MAX records at most; the page ends at the last of them.
 *
 * `pool` MUST be a search pool (pools.ts): each statement is planned anew, and its connections plan nothing but walks along
 * indexes.
 */
export async function searchRecords(pool: pg.Pool, ledger: Uuid, search: RecordSearch): Promise<RecordPage> {
  const stretch = await listStretch(pool, ledger, search)
  if (stretch === null) return { rows: [], next: null }
  const makeStreams = await chooseStreams(pool, ledger, search, stretch)
  if (makeStreams === null) return { rows: [], next: null }
  return readPage(pool, ledger, search, stretch, makeStreams)
}

type PageRow = RecordRowRead & {
  place: number | null
  found: number
  firstSeq: number
  stopSeq: number | null
  stopIndex: number | null
}

async function readPage(
  pool: pg.Pool,
  ledger: string,
  search: RecordSearch,
  stretch: Stretch,
  makeStreams: MakeStreams,
): Promise<RecordPage> {
  const result = await query<PageRow>(pool, ledger, (bind) =>
    pageText(search, stretch, makeStreams(bind), bind),
  )
  const [first] = result
  if (!first) throw new Error('a page always answers one row')
  const rows = result.filter((row) => row.place !== null && row.place <= search.limit)
  const last = rows.at(-1)
  if (last && rows.length < first.found)
    return { rows, next: { seq: last.firstSeq, index: last.itemIndex ?? 0 } }
  const next = first.stopSeq === null ? null : { seq: first.stopSeq, index: first.stopIndex! }
  return { rows, next }
}

/**
 * Each walk gives what it has among its first candidates; one that has more candidates, but did not fill the page, stops
 * all of them where its candidates ended. The remaining records are in order, complete, and cut to the page.
 */
function pageText(search: RecordSearch, stretch: Stretch, streams: readonly Stream[], bind: Bind): string {
  const { filters, order, limit, candidatesMax = SEARCH_CANDIDATES_MAX } = search
  const beyond = order === 'desc' ? '<' : '>'
  const conditions = conditionsOf(filters, bind)
  const parts = streams.map((stream, i) => {
    const walks = walksOf(stream)
    const budget = Math.ceil(candidatesMax / Math.min(streams.length * walks.count, SHARES_MAX))
    const candidates = `select r.*, ${stream.seq} as walked_seq from ${stream.from} ${within(stream, search, stretch, bind)}
      order by ${orderOf(stream, order)}`
    return `found_${i} as materialized (
      select v.day, r.* from ${walks.list} cross join lateral (
        select r.first_seq, coalesce(r.item_index, 0) as item_index, r.record_id,
          coalesce(length(r.payload), 0) + coalesce(length(r.metadata), 0) + coalesce(length(r.reference_list), 0) as bytes
        from (${candidates} limit ${budget}) r where ${conditions} and ${stream.besides ?? 'true'}
        order by ${orderOf({ ...stream, seq: 'r.walked_seq' }, order)} limit ${limit + 1}
      ) r
    ), stop_${i} as materialized (
      select r.first_seq, coalesce(r.item_index, 0) as item_index from ${walks.list} cross join lateral (
        select r.first_seq, r.item_index from (${candidates} limit 1 offset ${budget - 1}) r
        where (select count(*) from found_${i} f where f.day = v.day) <= ${limit}
      ) r
    )`
  })
  const all = (name: string, columns: string) =>
    streams.map((_, i) => `select ${columns} from ${name}_${i}`).join(' union all ')
  return `with ${parts.join(', ')}, stop as materialized (
      select s.first_seq, s.item_index from (${all('stop', 'first_seq, item_index')}) s
      order by s.first_seq ${order}, s.item_index ${order} limit 1
    ), page as materialized (
      select f.record_id, f.first_seq, f.place, sum(f.bytes + steps.bytes) over (order by f.place) as bytes
      from (
        select f.record_id, f.first_seq, f.bytes, row_number() over (
          order by f.first_seq ${order}, f.item_index ${order} rows unbounded preceding) as place
        from (${all('found', 'record_id, first_seq, item_index, bytes')}) f
        where not exists (
          select from stop s where (f.first_seq, f.item_index) ${beyond} (s.first_seq, s.item_index))
        order by place limit ${limit + 1}
      ) f
      cross join lateral (${STEP_BYTES} offset 0) steps
    )
    select p.place, p.first_seq, (select count(*) from page) as found, s.first_seq as stop_seq, s.item_index as stop_index, w.*
    from (select) one left join stop s on true
    left join page p on p.bytes <= ${PAGE_BYTES_MAX} or p.place = 1
    left join lateral (
      select ${RECORD_COLUMNS} from ${RECORD_TABLES}
      where r.ledger_id = $1 and r.record_id = p.record_id offset 0
    ) w on true
    order by p.place`
}

/** SQL: bytes that a record shows beside its own row: the documents of the newest step of each kind. */
const STEP_BYTES = `select coalesce(sum(length(d.content)), 0) as bytes from (
    select distinct on (s.kind) s.seq from tallystick.entries s
    where s.ledger_id = $1 and s.subject_id = f.record_id and s.version > 1 order by s.kind, s.version desc
  ) n
  cross join lateral (
    select d.content from tallystick.documents d where d.ledger_id = $1 and d.seq = n.seq offset 0
  ) d`

/** Each of many walks gets at least this share of the candidates: most fill the page long before. */
const SHARES_MAX = 10
