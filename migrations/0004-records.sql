-- Records: their properties at creation, their references and their erasures.

set local search_path = tallystick;

create table records (
  ledger_id uuid not null,
  record_id uuid not null,
  type text not null check (length(type) <= 80),
  first_seq bigint not null,
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
  subject bytea check (length(subject) = 16),
  other_members jsonb check (jsonb_typeof(other_members) = 'object' and length(other_members::text) between 8 and 4096),
  -- This bit is 0 in ids of batch records (batch_chunks_ids). The id therefore shows in which table its record is
  -- stored, and a record cannot be in both tables.
  constraint records_ids check (get_byte(uuid_send(record_id), 14) & 8 = 8),
  constraint records_payload_or_erased check ((payload is null) = (salt is null)
    and (payload is not null or payload_erased_seq is not null))
);
comment on table records is
  'Records with an entry of their own, as they were created. Records of batches are in batch_chunks. A row never changes, except that an erasure removes its documents.';
comment on column records.first_seq is 'Entry that made the record.';
comment on column records.digest is 'Salted SHA-256 of the payload (docs/formats/documents.md).';
comment on column records.payload is 'Canonical JSON; null once an erasure has removed it.';
comment on column records.subject is 'Data subject of the record: keyed hash of the label (src/records/subjects/label.ts). Unsigned; null once the last document is erased.';
comment on column records.payload_erased_seq is 'Entry that erased the payload.';
comment on column records.other_members is 'Signed members without a column of their own, as the entry signs them (src/proof/statement/record-members.ts); null: the record has none.';

-- Index for exports, and for lists in chain order.
create unique index records_by_seq on records (ledger_id, first_seq);

-- The primary key is created after the index records_by_seq. While the table is empty, the planner estimates the same
-- cost of a look-up by id for both, and takes the index that was created last. A session keeps that plan. With
-- records_by_seq, a step took 5 to 10 ms after 100,000 rows.
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
  'References of records, one row for each, for searches.';
create index record_references_by_record on record_references (ledger_id, record_id);

-- A row has up to 64 records of a batch. The layouts were measured with 400-byte payloads and batches of 1,000. The
-- figures are for one record: CPU of the backend, bytes on disk, bytes of log, CPU of Node.
--
-- - A row for each record: 9.8 µs, 736, 965, 2.4 µs.
-- - Chunks of 64, lz4 by Postgres: 2.6 µs, 167, 171, 1.8 µs.
-- - Chunks of 64, zstd by Node: 1.25 µs, 113, 109, 2.5 µs.
-- - Chunks of 256, zstd by Node: 1.1 µs, 106, 98, 3.6 µs. Reading one record decompresses four times as much.
create table batch_chunks (
  ledger_id uuid not null,
  seq bigint not null,
  chunk int4 not null check (chunk between 0 and 31),
  first_record_id uuid not null,
  count int4 not null check (count between 1 and 64),
  content bytea check (length(content) between 1 and 5242880),
  erased_seq bigint check (erased_seq > seq),
  released_bytes int4 check (released_bytes > 0),
  metadata bytea check (length(metadata) between 1 and 5242880),
  -- The ids of a batch are consecutive. The low 12 bits of the first id of the batch are zero, so that an id shows
  -- which chunk contains its record.
  constraint batch_chunks_ids check (
    (get_byte(uuid_send(first_record_id), 14) & 15) * 256 + get_byte(uuid_send(first_record_id), 15) = 64 * chunk),
  constraint batch_chunks_released check ((content is null) = (released_bytes is not null) and (content is null or metadata is null))
) with (autovacuum_vacuum_scale_factor = 0.02);
-- External storage, because the contents are already compressed.
alter table batch_chunks alter column content set storage external, alter column metadata set storage external;
comment on table batch_chunks is
  'Records of batches, 64 in a row. A row never changes, except that the erasure of a payload rewrites its content, and that its content leaves for the archive.';
comment on column batch_chunks.seq is 'Entry that notarized the batch.';
comment on column batch_chunks.chunk is 'Number of the chunk in its batch. All but the last chunk have 64 records.';
comment on column batch_chunks.first_record_id is 'Id of the first record; each next one is greater by one.';
comment on column batch_chunks.content is 'Everything that cannot be derived from the entry, in zstd (docs/formats/chunks.md); null: only the archive has it.';
comment on column batch_chunks.released_bytes is 'Length of the content that has left for the archive.';
comment on column batch_chunks.metadata is 'Metadata of the records in zstd, which the archive lacks; null while the content is in Postgres, or if no record has metadata.';
comment on column batch_chunks.erased_seq is 'Entry that erased the payload that was removed last.';
create unique index batch_chunks_by_record on batch_chunks (ledger_id, first_record_id);
alter table batch_chunks add primary key (ledger_id, seq, chunk);

create trigger batch_chunks_begin after insert on batch_chunks
  referencing new table as added for each statement execute function batch_chunks_begin();
create trigger batch_chunks_change before update on batch_chunks
  for each row execute function batch_chunks_change();
create trigger batch_chunks_no_delete before delete on batch_chunks
  for each row execute function refuse_change();
create trigger batch_chunks_no_truncate before truncate on batch_chunks
  for each statement execute function refuse_change();

-- Values for searches. A chunk has a row for each distinct type, actor, represented agent, trace, parent, reference and
-- day of its records (src/db/chunks/chunk-keys.ts). A server searches these rows, and then reads the chunks that they
-- name.
create table batch_keys (
  ledger_id uuid not null,
  key bytea not null check (length(key) between 2 and 1100),
  seq bigint not null,
  chunk int4 not null
);
comment on table batch_keys is
  'Values by which searches find chunks of batches. An index: audits compare it with the chunks.';
-- `nulls first` prevents the planner from using this index for a search along one key. Such a search must use the
-- primary key, because with this index it would filter all rows of the ledger.
create index batch_keys_by_seq on batch_keys (ledger_id, seq nulls first, chunk);
alter table batch_keys add primary key (ledger_id, key, seq, chunk);

create table erasures (
  ledger_id uuid not null references ledgers,
  subject_id uuid not null,
  document text not null check (document in ('payload', 'evidence', 'values', 'reason')),
  seq bigint not null,
  reason text check (length(reason) between 1 and 1000),
  erased_at timestamptz,
  document_seq bigint not null check (document_seq < seq)  -- the entry with the document's digest
);
comment on table erasures is
  'Erasures. The signed entry is written first; the worker then removes the document. An erasure names the entry with the document''s digest, because a record may have several documents of the kind `reason`. The reason of the erasure is unsigned free text.';
create index erasures_pending on erasures (ledger_id, seq) where erased_at is null;
create unique index erasures_by_seq on erasures (ledger_id, seq);
-- The primary key is created last, because on an empty table the planner takes the index that was created last. With
-- another index, a look-up of a record's erasure would read all erasures of the ledger.
alter table erasures add primary key (ledger_id, subject_id, document, document_seq);

create table retention_rules (
  ledger_id uuid not null references ledgers,
  seq bigint not null,                    -- the entry that set the rule
  type text check (length(type) <= 80),
  agent_id uuid,
  days int4 check (days between 1 and 36500),
  primary key (ledger_id, seq)
);
comment on table retention_rules is
  'Rules of retention, from retention-set entries: for all records, or those of a type, of an agent, or of both. A rule replaces the previous one for the same records (retention_of).';
comment on column retention_rules.days is 'Retention of a record''s documents after its end, in days; null: forever.';
create trigger retention_rules_change before update or delete on retention_rules
  for each row execute function keeping_change();
create trigger retention_rules_no_truncate before truncate on retention_rules
  for each statement execute function refuse_change();

create table holds (
  ledger_id uuid not null references ledgers,
  seq bigint not null,                    -- the entry that set the hold
  case_id text not null check (length(case_id) between 1 and 63),
  type text check (length(type) <= 80),
  agent_id uuid,
  record_ids uuid[] check (cardinality(record_ids) between 1 and 500),
  lifted_seq bigint check (lifted_seq > seq),
  primary key (ledger_id, seq)
);
comment on table holds is
  'Holds: while a hold stands, no document of its records is erased. A record must match all conditions of the hold. A hold without conditions applies to all records.';
-- Finds the holds that are in force at a given seq: holds that were not lifted, or were lifted later.
create index holds_standing on holds (ledger_id, (coalesce(lifted_seq, 9223372036854775807)));
create trigger holds_change before update or delete on holds
  for each row execute function keeping_change();
create trigger holds_no_truncate before truncate on holds
  for each statement execute function refuse_change();

create table hold_records (
  ledger_id uuid not null references ledgers,
  record_id uuid not null,
  seq bigint not null,                    -- the entry that set the hold
  primary key (ledger_id, record_id, seq)
);
comment on table hold_records is
  'Records named by standing holds; finds the holds on a record. An index over the records of all holds would also find other ledgers'' holds, and lifted ones forever.';
create trigger hold_records_change before update or delete on hold_records
  for each row execute function keeping_change();
create trigger hold_records_no_truncate before truncate on hold_records
  for each statement execute function refuse_change();

create table retention_sweeps (
  ledger_id uuid primary key references ledgers,
  changed_seq bigint not null,            -- newest entry that may have made documents due for erasure
  next_seq bigint not null default 0,
  due_at timestamptz not null default now(),
  claimed_until timestamptz not null default '-infinity',
  failing boolean not null default false  -- true: the newest page failed, so nothing after that page is erased
);
comment on table retention_sweeps is
  'Progress of the worker, in ledgers with a rule, in its sweep for documents beyond their retention. The rows are no evidence.';
create index retention_sweeps_due on retention_sweeps (due_at);
create index retention_sweeps_failing on retention_sweeps (ledger_id) where failing;

-- ---------------------------------------------------------------------------------------------------------
-- Indexes for searches. A search (src/db/records/search-streams.ts) reads one of the following indexes in chain order
-- and checks its other conditions row by row, up to a limit. It never sorts and never counts.
--
-- The indexes have `nulls first` although no value is null. The index records_by_seq does not have this order, so the
-- planner cannot use it for a search with a filter. If all matching records are old, a search along records_by_seq
-- would first read all newer records (test/system/plans/search-plans.test.ts: 3,600 blocks instead of 600, of 50,000
-- records).
--
-- A partial index takes space only for records that have a value.
-- ---------------------------------------------------------------------------------------------------------

-- The index is partial, so that only queries with `first_seq >= 0` can use it. Otherwise, while the tables are empty,
-- the planner would estimate the same cost of a look-up by id for this index and for the primary key. A session would
-- keep the plan with this index.
create index records_by_type on records (ledger_id, type collate "C", first_seq nulls first) where first_seq >= 0;

create index records_by_on_behalf_of on records (ledger_id, on_behalf_of, first_seq nulls first)
  where on_behalf_of is not null;
create index records_by_subject on records (ledger_id, subject, first_seq nulls first) where subject is not null;
-- Finds records that still have a label of the data subject, although their payload is erased. forget_labels removes
-- the label when the record has ended and has no document any more.
create index records_labels_left on records (ledger_id, record_id) where subject is not null and payload_erased_seq is not null;
create index records_by_parent on records (ledger_id, parent_id, first_seq nulls first) where parent_id is not null;
create index records_by_trace on records (ledger_id, substr(traceparent, 4, 32) collate "C", first_seq nulls first)
  where traceparent is not null;
-- A searchable member of other_members has an index of this form:
--   create index records_by_label on records (ledger_id, (other_members ->> 'label') collate "C", first_seq nulls first)
--     where other_members ->> 'label' is not null;

-- Index by day of occurrence. The times of occurrence are not in chain order, so a search reads each day of its range
-- in chain order, and merges the days.
create index records_by_day on records
  (ledger_id, date_trunc('day', occurred_at at time zone 'UTC'), first_seq nulls first) where occurred_at is not null;
