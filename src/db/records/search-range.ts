import type { Db } from '../connect/client.ts'
import { SEARCH_CLOCK_SLACK_MS, SEARCH_ENTRIES_SKIPPED_MAX } from '../limits.ts'
import type { RecordSearch, SeqRange } from './search.ts'

/**
 * Returns the range of entries that a search has to read, or null if the range is empty. Without a filter by
 * `recorded`, the range is the whole chain.
 *
 * `recordedAt` is a claim. But append_entries refuses an entry if its claim differs from the database's clock by more
 * than 30 s, and the database's clock advances with `seq`. So if an entry was recorded more than 60 s before the
 * searched times, all earlier entries are too old as well.
 *
 * Bisection finds the last such entry among 10 million entries in 24 steps. The entries of the remaining 60 s are
 * skipped one by one. One request skips a limited number of entries, and the next request continues there.
 */
export async function findSeqRange(
  pool: Db,
  ledger: string,
  { filters: { recorded }, order, after, candidatesMax = SEARCH_ENTRIES_SKIPPED_MAX }: RecordSearch,
): Promise<SeqRange | null> {
  if (!recorded) return { from: 0, end: Number.MAX_SAFE_INTEGER }
  const { fromMs, beforeMs } = recorded
  const { rows } = await pool.query<{ from: number; end: number }>(
    `with recursive lower_bound (known, unknown) as (
       select -1::int8, h.size from tallystick.chain_heads h where h.ledger_id = $1
       union all
       select case when x.is_before then m.middle else m.known end, case when x.is_before then m.unknown else m.middle end
       from (select known, unknown, (known + unknown) / 2 as middle from lower_bound where unknown - known > 1) m
       cross join lateral (
         select e.recorded_at < $2::timestamptz - $4::interval as is_before from tallystick.entries e
         where $2 is not null and e.ledger_id = $1 and e.seq = m.middle offset 0
       ) x
     ), upper_bound (unknown, known) as (
       select -1::int8, h.size from tallystick.chain_heads h where h.ledger_id = $1
       union all
       select case when x.is_after then m.unknown else m.middle end, case when x.is_after then m.middle else m.known end
       from (select unknown, known, (unknown + known) / 2 as middle from upper_bound where known - unknown > 1) m
       cross join lateral (
         select e.recorded_at >= $3::timestamptz + $4::interval as is_after from tallystick.entries e
         where $3 is not null and e.ledger_id = $1 and e.seq = m.middle offset 0
       ) x
     ), bounds as (
       select greatest((select max(known) + 1 from lower_bound), case when $5 = 'asc' then $6::int8 else 0 end) as low,
         least((select min(known) from upper_bound), case when $5 = 'desc' then $6::int8 + 1 end) as high
     )
     select coalesce((
         select s.seq from (
           select e.seq, e.recorded_at from tallystick.entries e
           where $2 is not null and e.ledger_id = $1 and e.seq >= b.low and e.seq < b.high order by e.seq limit $7
         ) s where s.recorded_at >= $2 order by s.seq limit 1
       ), case when $2 is null then b.low else least(b.low + $7, b.high) end) as "from",
       coalesce((
         select s.seq + 1 from (
           select e.seq, e.recorded_at from tallystick.entries e
           where $3 is not null and e.ledger_id = $1 and e.seq >= b.low and e.seq < b.high order by e.seq desc limit $7
         ) s where s.recorded_at < $3 order by s.seq desc limit 1
       ), case when $3 is null then b.high else greatest(b.high - $7, b.low) end) as "end"
     from bounds b`,
    [
      ledger,
      timeOf(fromMs),
      timeOf(beforeMs),
      `${SEARCH_CLOCK_SLACK_MS} milliseconds`,
      order,
      after?.seq ?? null,
      candidatesMax,
    ],
  )
  const [row] = rows
  if (!row) return null
  const range = { from: row.from, end: row.end }
  return range.from < range.end ? range : null
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
