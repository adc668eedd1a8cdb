import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { CHUNK_RECORDS } from '../chunks/chunk-content.ts'
import { chunkKey, dayOf } from '../chunks/chunk-keys.ts'
import { type BatchRecord, recordsOfChunk } from '../chunks/read-chunks.ts'
import { PACKED_TYPES } from '../connect/packed-bytes.ts'
import {
  SEARCH_CHUNKS_MAX,
  SEARCH_CHUNKS_WALKED_MAX,
  SEARCH_DAYS_MAX,
  SEARCH_PROBE_CANDIDATES,
} from '../limits.ts'
import { BATCH_COLUMNS, BATCH_TABLES, type BatchRecordOfRow, type BatchRow } from './read-records.ts'
import type { Place, RecordSearch, Stretch } from './search.ts'
import type { RecordFilters, TimeRange } from './search-streams.ts'
import { query } from './search-text.ts'

/*
 * Searches among the records of batches. Postgres finds chunks by their keys, in the order of the chain; the records in them are held
 * to the filters here.
 */

/** In the order of the search, one more than the page at most. `next`: how far was looked; null at the end. */
export type FoundItems = { readonly items: readonly BatchRecordOfRow[]; readonly next: Place | null }

const NONE: FoundItems = { items: [], next: null }

/** Keys of which a chunk has at least one. */
type AnyOf = readonly Buffer[]

export async function searchBatches(
  pool: pg.Pool,
  ledger: Uuid,
  search: RecordSearch,
  stretch: Stretch,
): Promise<FoundItems> {
  const { filters, limit, after, candidatesMax = SEARCH_CHUNKS_MAX } = search
  if (!canHold(filters)) return NONE
  const wanted = await listWanted(pool, ledger, filters)
  if (wanted === null) return NONE
  const walk = await chooseWalk(pool, ledger, search, stretch, wanted)
  const items: BatchRecordOfRow[] = []
  let from = after && { seq: after.seq, chunk: chunkOf(after) }
  let left = Math.min(candidatesMax, SEARCH_CHUNKS_MAX)
  for (let count = 1 + Math.floor(limit / CHUNK_RECORDS); ; count *= 2) {
    const read = Math.min(count, left)
    left -= read
    const step = await readChunks(pool, ledger, { search, stretch, walk, from, count: read })
    for (const row of step.rows) items.push(...listItems(row, search))
    if (items.length > limit) return { items: items.slice(0, limit + 1), next: items[limit]!.record }
    if (step.stop === null) return { items, next: null }
    if (left === 0 || step.rows.length < read) return { items, next: lastOf(step.stop, search) }
    from = beyond(step.stop, search)
  }
}

/** No record of a batch is gated, or in another state than the one that it was made in. */
function canHold({ performer, principal, state = 'RECORDED' }: RecordFilters): boolean {
  return performer === undefined && principal === undefined && state === 'RECORDED'
}

/** Groups of keys, of each of which a chunk has one; null: there can't be any. */
async function listWanted(pool: pg.Pool, ledger: Uuid, filters: RecordFilters): Promise<AnyOf[] | null> {
  const { reference, parent, traceId, onBehalfOf, actor, type, ownAgent, occurred } = filters
  const wanted: AnyOf[] = []
  if (reference !== undefined) wanted.push([chunkKey.reference(reference)])
  if (parent !== undefined) wanted.push([chunkKey.parent(parent)])
  if (traceId !== undefined) wanted.push([chunkKey.traceId(traceId)])
  if (onBehalfOf !== undefined) wanted.push([chunkKey.onBehalfOf(onBehalfOf)])
  if (actor !== undefined) wanted.push([chunkKey.actor(actor)])
  if (ownAgent !== undefined) wanted.push([chunkKey.actor(ownAgent), chunkKey.onBehalfOf(ownAgent)])
  if (type !== undefined) wanted.push([chunkKey.type(type)])
  if (occurred === undefined) return wanted
  const days = await listDays(pool, ledger, occurred)
  if (days.length === 0) return null
  return days.length > SEARCH_DAYS_MAX ? wanted : [...wanted, days]
}

/** Keys of the days, in order, on which records of batches occurred: jumps from one to the next. One more than counts at most. */
async function listDays(pool: pg.Pool, ledger: Uuid, { fromMs, beforeMs }: TimeRange): Promise<Buffer[]> {
  const first = fromMs === null ? Buffer.from('D') : chunkKey.day(dayOf(fromMs))
  const end = beforeMs === null ? Buffer.from('E') : chunkKey.day(dayOf(beforeMs - 1) + 1)
  const rows = await query<{ key: Buffer }>(pool, ledger, (bind) => {
    const until = bind(end, 'bytea')
    const next = (condition: string) => `select k.key from tallystick.batch_keys k
      where k.ledger_id = $1 and ${condition} and k.key < ${until} order by k.key limit 1`
    return `with recursive days as (
        (${next(`k.key >= ${bind(first, 'bytea')}`)})
        union all
        select (${next('k.key > days.key')}) from days where days.key is not null
      )
      select key from days where key is not null limit ${SEARCH_DAYS_MAX + 1}`
  })
  return rows.map(({ key }) => key)
}

/** Groups of keys: along the first one it is walked, and the chunks are asked for the others. None: all chunks are walked. */
type Walk = readonly AnyOf[]

/** The walk that ends first, or whose first candidates reach furthest, comes first (search-choice.ts). */
async function chooseWalk(
  pool: pg.Pool,
  ledger: Uuid,
  search: RecordSearch,
  stretch: Stretch,
  wanted: readonly AnyOf[],
): Promise<Walk> {
  if (wanted.length < 2) return wanted
  const [probe] = await query<Record<string, number | null>>(pool, ledger, (bind) => {
    const about = {
      search,
      stretch,
      from: search.after && { seq: search.after.seq, chunk: chunkOf(search.after) },
    }
    const reached = wanted.map(
      (keys, i) =>
        `(select w.seq from (${walkText(keys, about, SEARCH_PROBE_CANDIDATES, bind)}) w limit 1 offset ${SEARCH_PROBE_CANDIDATES - 1}) as reach${i}`,
    )
    return `select ${reached.join(', ')}`
  })
  const sign = search.order === 'desc' ? -1 : 1
  const reach = wanted.map((_, i) => {
    const seq = probe![`reach${i}`]
    return seq === null || seq === undefined ? Number.POSITIVE_INFINITY : sign * seq
  })
  const first = reach.indexOf(Math.max(...reach))
  return [wanted[first]!, ...wanted.toSpliced(first, 1)]
}

type ChunkPlace = { readonly seq: number; readonly chunk: number }

/** `from`: the first chunk that is looked at; null: the first of the stretch. */
type Walked = { readonly search: RecordSearch; readonly stretch: Stretch; readonly from: ChunkPlace | null }

type Bind = (value: unknown, type: string) => string

/** SQL: places of at most `limit` chunks that have one of the keys, or of all, in the order of the search. */
function walkText(keys: AnyOf | undefined, about: Walked, limit: number, bind: Bind): string {
  const { order } = about.search
  const inOrder = `k.seq ${order}, k.chunk ${order} limit ${limit}`
  if (keys === undefined) {
    return `select k.seq, k.chunk from tallystick.batch_chunks k
      where k.ledger_id = $1 ${boundsText(about, bind)} order by ${inOrder}`
  }
  const walk = (key: string) => `select k.seq, k.chunk from tallystick.batch_keys k
    where k.ledger_id = $1 and k.key = ${key} ${boundsText(about, bind)} order by ${inOrder}`
  if (keys.length === 1) return walk(bind(keys[0], 'bytea'))
  return `select distinct k.seq, k.chunk from unnest(${bind(keys, 'bytea[]')}) v (key)
    cross join lateral (${walk('v.key')}) k order by ${inOrder}`
}

function boundsText({ search: { order }, stretch, from }: Walked, bind: Bind): string {
  const bounds = [`and k.seq >= ${bind(stretch.from, 'int8')} and k.seq < ${bind(stretch.end, 'int8')}`]
  if (from) {
    const toward = order === 'desc' ? '<=' : '>='
    bounds.push(`and (k.seq, k.chunk) ${toward} (${bind(from.seq, 'int8')}, ${bind(from.chunk, 'int4')})`)
  }
  return bounds.join(' ')
}

type Step = {
  readonly rows: readonly BatchRow[]
  /** The last chunk that was walked past; null: there are no more. */
  readonly stop: ChunkPlace | null
}

type StepRow = BatchRow & { stopSeq: number | null; stopChunk: number | null; walked: number }

/** The next `count` chunks of a walk. */
async function readChunks(
  pool: pg.Pool,
  ledger: Uuid,
  { walk: [along, ...others], count, ...about }: Walked & { readonly walk: Walk; readonly count: number },
): Promise<Step> {
  const { order } = about.search
  const walkedMax = others.length === 0 ? count : SEARCH_CHUNKS_WALKED_MAX
  const values: unknown[] = [ledger]
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`
  const text = `with walked as materialized (${walkText(along, about, walkedMax, bind)}), held as materialized (
      select w.seq, w.chunk from walked w
      where ${others.map((keys) => hasText(keys, bind)).join(' and ') || 'true'}
      order by w.seq ${order}, w.chunk ${order} limit ${count}
    ), stop as materialized (
      select w.seq, w.chunk from walked w order by w.seq ${opposite(order)}, w.chunk ${opposite(order)} limit 1
    )
    select s.seq as stop_seq, s.chunk as stop_chunk, (select count(*) from walked) as walked, b.*
    from (select) one left join stop s on true left join held h on true
    left join lateral (
      select ${BATCH_COLUMNS} from ${BATCH_TABLES}
      where c.ledger_id = $1 and c.seq = h.seq and c.chunk = h.chunk offset 0
    ) b on true
    order by h.seq ${order}, h.chunk ${order}`
  const result = await pool.query<StepRow>({ text, values, types: PACKED_TYPES })
  const rows = result.rows.filter(({ content }) => content !== null)
  const last = rows.at(-1)
  if (last && rows.length === count) return { rows, stop: { seq: last.seq, chunk: last.chunk } }
  const { walked, stopSeq, stopChunk } = result.rows[0]!
  return { rows, stop: walked < walkedMax ? null : { seq: stopSeq!, chunk: stopChunk! } }
}

/** SQL: whether the chunk `w` has one of the keys. */
function hasText(keys: AnyOf, bind: Bind): string {
  return `exists (select from unnest(${bind(keys, 'bytea[]')}) v (key) cross join lateral (
      select from tallystick.batch_keys x
      where x.ledger_id = $1 and x.key = v.key and x.seq = w.seq and x.chunk = w.chunk offset 0
    ) x)`
}

function opposite(order: 'asc' | 'desc'): string {
  return order === 'desc' ? 'asc' : 'desc'
}

function chunkOf({ index }: Place): number {
  return Math.floor(index / CHUNK_RECORDS)
}

/** Place of the chunk's last record in the order of the search. */
function lastOf({ seq, chunk }: ChunkPlace, { order }: RecordSearch): Place {
  return { seq, index: order === 'desc' ? chunk * CHUNK_RECORDS : (chunk + 1) * CHUNK_RECORDS - 1 }
}

function beyond({ seq, chunk }: ChunkPlace, { order }: RecordSearch): ChunkPlace {
  return { seq, chunk: order === 'desc' ? chunk - 1 : chunk + 1 }
}

/** The chunk's records that all filters let through, in the order of the search. */
function listItems(row: BatchRow, { filters, order, after }: RecordSearch): BatchRecordOfRow[] {
  const records = recordsOfChunk(row)
  if (order === 'desc') records.reverse()
  return records
    .filter((record) => isBeyond(record, order, after) && isWanted(record, row, filters))
    .map((record) => ({ row, record }))
}

function isBeyond({ seq, index }: BatchRecord, order: 'asc' | 'desc', after: Place | null): boolean {
  if (after === null || seq !== after.seq) return true
  return order === 'desc' ? index < after.index : index > after.index
}

function isWanted(record: BatchRecord, row: BatchRow, filters: RecordFilters): boolean {
  const { reference, parent, traceId, onBehalfOf, actor, type, ownAgent, occurred, recorded } = filters
  if (type !== undefined && record.type !== type) return false
  if (actor !== undefined && row.actorId !== actor) return false
  if (onBehalfOf !== undefined && record.onBehalfOf !== onBehalfOf) return false
  if (ownAgent !== undefined && row.actorId !== ownAgent && record.onBehalfOf !== ownAgent) return false
  if (parent !== undefined && record.parentId !== parent) return false
  if (traceId !== undefined && record.traceparent?.slice(3, 35) !== traceId) return false
  if (occurred && !isIn(record.occurredAtMs, occurred)) return false
  if (recorded && !isIn(row.recordedAt.getTime(), recorded)) return false
  return reference === undefined || hasReference(record, reference)
}

function isIn(ms: number | null, { fromMs, beforeMs }: TimeRange): boolean {
  return ms !== null && (fromMs === null || ms >= fromMs) && (beforeMs === null || ms < beforeMs)
}

/** An erased record is found by none. */
function hasReference({ references }: BatchRecord, reference: string): boolean {
  return references !== null && (JSON.parse(references.toString()) as string[]).includes(reference)
}
