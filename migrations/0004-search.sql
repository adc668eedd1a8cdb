-- Indexes that records are searched by (src/db/records/search-streams.ts). A search walks one of them in the order of the chain, and
-- looks at the other conditions row by row, within a budget: it never sorts and never counts.
--
-- Each index holds the records of one value in order, but not the place in the batch: a batch's equal keys are folded into
-- one (10 bytes a record instead of 71), and a search sorts the 2,000 records of a batch at most.
--
-- `nulls first` although nothing is null: so no other index has this order, and the planner can't take `records_by_seq` and
-- filter, which for a value that was common once reads all that came since (test/db/search-plans.test.ts: 3,600 blocks
-- instead of 600, of 50,000 records).
--
-- What a record costs in Postgres (CPU of the backend, on a busy machine; docs/BENCHMARKS.md): a batched one 10.2 us without
-- them and 15.2 with all, most of it records_by_digest, because each leaf is another one; a single one 51.9 and 61.5.
-- Partial indexes cost the records that have a value.

set local search_path = tallystick;

-- Not `(ledger_id, …)` for every row: on empty tables a lookup by id would cost the planner the same with it, and the session
-- would keep that plan (0001, `records`). Whoever does not ask for `first_seq >= 0` can't use it.
create index records_by_type on records (ledger_id, type collate "C", first_seq nulls first) where first_seq >= 0;

-- A record that was notarized stays as it is; those that were not are few in each of the states that matter.
create index records_by_state on records (ledger_id, state collate "C", first_seq nulls first)
  where state <> 'RECORDED';

create index records_by_on_behalf_of on records (ledger_id, on_behalf_of, first_seq nulls first)
  where on_behalf_of is not null;

create index records_by_parent on records (ledger_id, parent_id, first_seq nulls first) where parent_id is not null;

create index records_by_trace on records (ledger_id, substr(traceparent, 4, 32) collate "C", first_seq nulls first)
  where traceparent is not null;

-- By day, because a range of times has no order of the chain: a search merges as many days as it covers.
create index records_by_day on records
  (ledger_id, date_trunc('day', occurred_at at time zone 'UTC'), first_seq nulls first) where occurred_at is not null;

-- 40 to 54 bytes a record. Rejected: (ledger_id, digest), 106 bytes and the same time. A hash index (36 bytes): of one digest that
-- somebody notarizes again and again, each insert walks all that there are, and others wait for the lock. BRIN with bloom
-- filters costs nothing to write, but a lookup reads 3.7 bytes of every record of every ledger: 37 MB of 10 million.
-- hash_record_extended is no secret function: but to collide with another ledger's digest takes 2^64 hashes.
create index records_by_digest on records (hash_record_extended(row(ledger_id, digest), 0), first_seq nulls first);

-- All records of an entry have its actor: one row a batch instead of one a record. Later events of a record don't count.
create index entries_by_actor on entries (ledger_id, actor_id, seq nulls first) where version = 1;
