-- Gated records: work that is agreed, delivered, verified and judged, with one entry for each step.

set local search_path = tallystick;

create table gated_records (
  ledger_id uuid not null,
  record_id uuid not null,
  first_seq bigint not null,
  -- The terms. They are fixed when the record is created. Only the performer may be fixed later, when the work begins.
  principal_id uuid not null,
  performer_id uuid,
  gate text not null check (gate in ('principal', 'auto')),
  deadline timestamptz check (isfinite(deadline)),
  max_revisions int4 not null check (max_revisions >= 0),
  tolerances bytea check (length(tolerances) between 2 and 16384),  -- canonical JSON
  -- current state
  state text not null,
  version int4 not null check (version >= 1),
  last_seq bigint not null check (last_seq >= first_seq),
  revisions int4 not null default 0 check (revisions >= 0),
  -- Final state, for searches; '' while the record is open. The column `state` itself has no index, because an update
  -- of an indexed column, or of a column in an index's condition, writes to every index of the table.
  ended_as text not null generated always as (
    case when state in ('ACCEPTED', 'REJECTED', 'CANCELLED', 'EXPIRED') then state else '' end) stored,
  -- Name (led_…/agt_…) of a performer in another ledger. performer_id then has an id that no agent of this ledger can
  -- have (src/proof/statement/remote-agents.ts).
  performer_remote text check (performer_remote like 'led\_%/agt\_%'),
  constraint gated_records_parties check (performer_id <> principal_id),
  constraint gated_records_performer check (performer_id is not null or state in ('CREATED', 'CANCELLED', 'EXPIRED')),
  constraint gated_records_revisions check (revisions <= max_revisions)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
comment on table gated_records is
  'State of gated records. Separate from records, because every step writes it: there each step would have written to eight indexes. A notarized record stays RECORDED and has no row. All steps but the last are heap-only updates, because no index contains what they change.';
comment on column gated_records.performer_remote is 'Name (led_…/agt_…) of a performer in another ledger; performer_id is then an id that no agent of this ledger can have (src/proof/statement/remote-agents.ts).';
comment on column gated_records.ended_as is 'Final state; empty while the record is open. An overturned verdict changes REJECTED to ACCEPTED.';

create index gated_records_by_end on gated_records (ledger_id, ended_as collate "C", first_seq nulls first);
create index gated_records_by_performer on gated_records (ledger_id, performer_id, first_seq nulls first)
  where performer_id is not null;
-- The primary key is created last, because on an empty table the planner takes the index that was created last
-- (0004-records.sql, `records`).
alter table gated_records add primary key (ledger_id, record_id);

create trigger gated_records_begin after insert on gated_records
  referencing new table as added for each statement execute function gated_records_begin();
create trigger gated_records_change after update on gated_records
  referencing old table as before new table as after for each statement execute function gated_records_change();
create trigger gated_records_no_delete before delete on gated_records
  for each row execute function refuse_change();
create trigger gated_records_no_truncate before truncate on gated_records
  for each statement execute function refuse_change();

-- Work that waits for the worker: waiting_completions and open_deadlines. Triggers of gated_records add and remove the
-- rows as the state changes. The rows are no evidence. If there is nothing to do, both tables are empty.

create table waiting_completions (
  ledger_id uuid not null,
  seq bigint not null,                    -- last_seq of the record's row in gated_records
  record_id uuid not null,
  verification_job uuid,                  -- pg-boss job that verifies the completion; null if there is no job yet
  primary key (ledger_id, seq)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
comment on table waiting_completions is
  'Completions that are not verified yet. They include verified records with an `auto` gate that have no verdict yet. That happens if a call was split because of another item, and the worker was killed between the two calls.';
create index waiting_completions_free on waiting_completions (ledger_id, seq) where verification_job is null;

create table open_deadlines (
  ledger_id uuid not null,
  record_id uuid not null,
  deadline timestamptz not null,
  primary key (ledger_id, record_id)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
comment on table open_deadlines is 'Deadlines of gated records without a delivery.';
create index open_deadlines_due on open_deadlines (deadline, ledger_id, record_id);

create table documents (
  ledger_id uuid not null,
  seq bigint not null,                    -- entry that contains the document's digest
  document text not null check (document in ('evidence', 'values', 'reason')),
  subject_id uuid not null,               -- id of the completion; if the document is a reason, id of the record
  digest bytea not null check (length(digest) = 32),
  salt bytea check (length(salt) = 16),
  content bytea check (length(content) between 2 and 65536),  -- canonical JSON
  erased_seq bigint check (erased_seq > seq),
  primary key (ledger_id, seq),
  constraint documents_content_or_erased check ((content is null) = (salt is null)
    and (content is null) = (erased_seq is not null))
);
comment on table documents is
  'Documents of steps. The payload of a record is in its row of records.';

create trigger documents_keep before insert or update on documents
  for each row execute function documents_keep();
create trigger documents_no_delete before delete on documents
  for each row execute function refuse_change();
create trigger documents_no_truncate before truncate on documents
  for each statement execute function refuse_change();
