import type pg from 'pg'
import { PREFLIGHT_HISTORY_MS_MIN, PREFLIGHT_LEDGERS_MAX, PREFLIGHT_RECORDS_COUNTED_MAX } from '../limits.ts'

export type VolumeFacts = {
  /** Size of all tables of the schema `tallystick`, with their indexes. */
  readonly bytes: number
  readonly records: number
  /** Counted, or estimated from the size of the table. */
  readonly isCounted: boolean
  readonly entries: number
  /** null: there is less than an hour of them. */
  readonly entriesPerDay: { readonly lastDay: number; readonly lastWeek: number } | null
}

const DAY_MS = 86_400_000

/** Nothing of it reads a large table whole. Throws 42501 for a login that may not read the chain. */
export async function readVolume(
  client: pg.ClientBase,
  recordsCountedMax = PREFLIGHT_RECORDS_COUNTED_MAX,
): Promise<VolumeFacts> {
  const { rows } = await client.query<{ bytes: number; entries: number; counted: number }>(
    `select
       (select coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 from pg_class c
        where c.relnamespace = 'tallystick'::regnamespace and c.relkind = 'r') as bytes,
       (select coalesce(sum(size), 0)::float8 from tallystick.chain_heads) as entries,
       (select count(*)::int from (select from tallystick.records limit $1 + 1) as first_ones) as counted`,
    [recordsCountedMax],
  )
  const { bytes, entries, counted } = rows[0]!
  const isCounted = counted <= recordsCountedMax
  return {
    bytes,
    records: isCounted ? counted : await estimateRecords(client, counted),
    isCounted,
    entries,
    entriesPerDay: entries === 0 ? null : await readRates(client, entries),
  }
}

/** As the planner does: rows a page, as they were when the table was analyzed last, by the pages that it has now. */
async function estimateRecords(client: pg.ClientBase, atLeast: number): Promise<number> {
  const { rows } = await client.query<{ records: number | null }>(
    `select (reltuples / nullif(relpages, 0)
       * (pg_relation_size(oid) / current_setting('block_size')::int))::float8 as records
     from pg_class where oid = 'tallystick.records'::regclass and reltuples > 0`,
  )
  return Math.max(atLeast, Math.round(rows[0]?.records ?? 0))
}

/** Rates of an installation younger than a week, or a day, are what it wrote divided by its age. */
async function readRates(client: pg.ClientBase, entries: number): Promise<VolumeFacts['entriesPerDay']> {
  const { rows } = await client.query<{ days: number; written: number; covered: number; ageMs: number }>(
    ENTRIES_SINCE,
    [PREFLIGHT_LEDGERS_MAX, [1, 7]],
  )
  const perDay = (days: number) => {
    const row = rows.find((each) => each.days === days)
    if (!row || row.covered === 0) return 0
    const spanDays = Math.min(days, row.ageMs / DAY_MS)
    return (row.written / spanDays) * (entries / row.covered)
  }
  if ((rows[0]?.ageMs ?? 0) < PREFLIGHT_HISTORY_MS_MIN) return null
  return { lastDay: perDay(1), lastWeek: perDay(7) }
}

/**
 * How many entries the largest ledgers have from so many days ago on: a binary search by time along each chain, because there
 * is no index by time. The clock of an entry may be half a minute off, which is nothing here. 24 look-ups a ledger of ten million.
 *
 * A scalar subquery, which is done once a row and along the primary key: of a join the planner could make a scan of all entries.
 */
const ENTRIES_SINCE = `
  with recursive heads as (
    select ledger_id, size from tallystick.chain_heads where size > 0 order by size desc limit $1
  ), search as (
    select h.ledger_id, h.size, d.days, now() - d.days * interval '1 day' as since, 0::bigint as lo, h.size as hi
    from heads h cross join unnest($2::int[]) as d(days)
    union all
    select s.ledger_id, s.size, s.days, s.since,
      case when m.recorded_at < s.since then (s.lo + s.hi) / 2 + 1 else s.lo end,
      case when m.recorded_at < s.since then s.hi else (s.lo + s.hi) / 2 end
    from search s
    cross join lateral (
      select (select e.recorded_at from tallystick.entries e
              where e.ledger_id = s.ledger_id and e.seq = (s.lo + s.hi) / 2) as recorded_at offset 0
    ) m
    where s.lo < s.hi
  )
  select s.days, sum(s.size - s.lo)::float8 as written, sum(s.size)::float8 as covered,
    (select extract(epoch from now() - min(e.recorded_at)) * 1000 from heads h
     join tallystick.entries e on e.ledger_id = h.ledger_id and e.seq = 0)::float8 as "ageMs"
  from search s where s.lo = s.hi group by s.days`
