-- Records: their properties at creation, their references, and their erasures.

set local search_path = tallystick;

create table records (
  ledger_id uuid not null,
  record_id uuid not null,
  type text not null check (length(type) <= 80),
  first_seq bigint not null,
  item_index int4 check (item_index >= 0),  -- place in its batch; null: notarized by an entry of its own
  actor_id uuid not null,
  on_behalf_of uuid,
  occurred_at timestamptz,
  traceparent text check (length(traceparent) <= 64),
  digest bytea not null check (length(digest) = 32),
  salt bytea check (length(salt) = 16),
  payload bytea check (length(payload) between 2 and 65536),
  metadata bytea check (length(metadata) between 2 and 4096),
  payload_erased_seq bigint constraint records_check1 check (payload_erased_seq > first_seq),
  parent_id uuid,
  reference_list bytea check (length(reference_list) between 2 and 4096),  -- canonical JSON
  constraint records_payload_or_erased check ((payload is null) = (salt is null)
    and (payload is not null or payload_erased_seq is not null))
);
comment on table records is
  'Records as they were made. A row never changes, except that an erasure removes its documents.';
comment on column records.first_seq is 'Entry that made the record.';
comment on column records.item_index is 'Place in its batch; null: an entry of its own.';
comment on column records.digest is 'Salted SHA-256 of the payload (docs/formats/documents.md).';
comment on column records.payload is 'Canonical JSON; null once erased.';
comment on column records.payload_erased_seq is 'Entry that erased the payload.';

-- Serves exports, answers to batches, and lists in the order of the chain.
create unique index records_by_seq on records (ledger_id, first_seq, item_index) nulls not distinct;

-- Made after the other index: while the table is empty a lookup by id costs the planner the same with both, the planner takes
-- the younger one, and a session keeps its plan (steps took 5 to 10 ms each after 100,000 rows).
alter table records add primary key (ledger_id, record_id);

create trigger records_begin after insert on records
  referencing new table as added for each statement execute function records_begin();
create trigger records_change after update on records
  referencing old table as before new table as after for each statement execute function records_change();
create trigger records_no_delete before delete on records
  for each row execute function refuse_change();
create trigger records_no_truncate before truncate on records
  for each statement execute function refuse_change();

create table record_references (
  ledger_id uuid not null,
  reference text not null check (length(reference) between 1 and 256),
  first_seq bigint not null,
  record_id uuid not null,
  primary key (ledger_id, reference, first_seq, record_id)
);
comment on table record_references is
  'References of records, one row each, for searches.';
create index record_references_by_record on record_references (ledger_id, record_id);

create table erasures (
  ledger_id uuid not null references ledgers,
  subject_id uuid not null,
  document text not null check (document in ('payload', 'evidence', 'values', 'reason')),
  seq bigint not null,
  reason text check (length(reason) between 1 and 1000),
  erased_at timestamptz,
  document_seq bigint not null check (document_seq < seq),  -- the entry that digests the document
  primary key (ledger_id, subject_id, document, document_seq)
);
comment on table erasures is
  'Erasures. The signed entry comes first; the worker then removes the document. An erasure names the entry that digests the document, because a record has many reasons. The reason is free text and unsigned.';
create index erasures_pending on erasures (ledger_id, seq) where erased_at is null;
create unique index erasures_by_seq on erasures (ledger_id, seq);

-- ---------------------------------------------------------------------------------------------------------
-- Searches (src/db/records/search-streams.ts) walk one of these indexes in the order of the chain, and look at the other
-- conditions row by row, within a budget: they never sort and never count.
--
-- Each index holds the records of one value in order, but not their place in the batch: equal keys of a batch are folded into
-- one (10 bytes a record instead of 71), and a search sorts at most the 2,000 records of a batch.
--
-- `nulls first` although nothing is null: no other index has this order, so the planner cannot take `records_by_seq` and
-- filter, which for a value that was common once reads everything since (test/system/plans/search-plans.test.ts: 3,600 blocks
-- instead of 600, of 50,000 records).
--
-- Cost in Postgres (CPU of the backend, on a busy machine; docs/BENCHMARKS.md): a batched record 10.2 us without them and 15.2
-- with all, most of it records_by_digest, because each leaf is another one; a single record 51.9 and 61.5. Partial indexes
-- cost only the records that have a value.
-- ---------------------------------------------------------------------------------------------------------

-- Partial, because on empty tables a lookup by id would cost the planner the same with an index of every row, and the session
-- would keep that plan. A query that does not ask for `first_seq >= 0` cannot use it.
create index records_by_type on records (ledger_id, type collate "C", first_seq nulls first) where first_seq >= 0;

create index records_by_on_behalf_of on records (ledger_id, on_behalf_of, first_seq nulls first)
  where on_behalf_of is not null;
create index records_by_parent on records (ledger_id, parent_id, first_seq nulls first) where parent_id is not null;
create index records_by_trace on records (ledger_id, substr(traceparent, 4, 32) collate "C", first_seq nulls first)
  where traceparent is not null;

-- By day, because a range of times has no order of the chain: a search merges as many days as it covers.
create index records_by_day on records
  (ledger_id, date_trunc('day', occurred_at at time zone 'UTC'), first_seq nulls first) where occurred_at is not null;

-- 40 to 54 bytes a record. Rejected: (ledger_id, digest), 106 bytes and the same time. A hash index (36 bytes): if somebody
-- notarizes one digest again and again, each insert walks all of them, and others wait for the lock. BRIN with bloom filters
-- costs nothing to write, but a lookup reads 3.7 bytes of every record of every ledger: 37 MB of 10 million.
-- hash_record_extended is no secret function, but a collision with another ledger's digest takes 2^64 hashes.
create index records_by_digest on records (hash_record_extended(row(ledger_id, digest), 0), first_seq nulls first);
