-- Gated records: work that is agreed, delivered, checked and judged, one entry a step.

set local search_path = tallystick;

create table gated_records (
  ledger_id uuid not null,
  record_id uuid not null,
  first_seq bigint not null,
  -- the terms, fixed at creation; the performer at the latest when the work begins
  principal_id uuid not null,
  performer_id uuid,
  gate text not null check (gate in ('principal', 'auto')),
  deadline timestamptz check (isfinite(deadline)),
  max_revisions int4 not null check (max_revisions >= 0),
  tolerances bytea check (length(tolerances) between 2 and 16384),  -- canonical JSON
  -- where it stands
  state text not null,
  version int4 not null check (version >= 1),
  last_seq bigint not null check (last_seq >= first_seq),
  revisions int4 not null default 0 check (revisions >= 0),
  verification_job uuid,                  -- the job of pg-boss that verifies its completion; no evidence
  -- name (led_…/agt_…) of a performer of another ledger, whose performer_id no agent of this one can have
  -- (src/proof/statement/remote-agents.ts)
  performer_remote text check (performer_remote like 'led\_%/agt\_%'),
  constraint gated_records_parties check (performer_id <> principal_id),
  constraint gated_records_performer check (performer_id is not null or state in ('CREATED', 'CANCELLED', 'EXPIRED')),
  constraint gated_records_revisions check (revisions <= max_revisions)
) with (autovacuum_vacuum_scale_factor = 0.02);
comment on table gated_records is
  'Standing of gated records. Apart from records, because it is written at every step: there each step would have written to eight indexes. A notarized record stays RECORDED and has no row.';
comment on column gated_records.performer_remote is 'Name (led_…/agt_…) of a performer of another ledger; performer_id is then an id that no agent of this ledger can have (src/proof/statement/remote-agents.ts).';
comment on column gated_records.verification_job is 'Job of pg-boss that verifies the completion; no evidence.';

create index gated_records_by_state on gated_records (ledger_id, state collate "C", first_seq nulls first);
create index gated_records_by_performer on gated_records (ledger_id, performer_id, first_seq nulls first)
  where performer_id is not null;
-- Work that waits for the worker, first what has no job, ledger by ledger: empty when there is nothing to do. It includes an
-- `auto` gate that was verified without its verdict: a call was taken apart because of another item, and the worker was killed
-- in between.
create index gated_records_unverified on gated_records (verification_job nulls first, ledger_id, last_seq)
  where state = 'SUBMITTED' or gate = 'auto' and state in ('VERIFIED', 'DISCREPANT');
create index gated_records_by_deadline on gated_records (deadline)
  where deadline is not null and state in ('CREATED', 'ACTIVE');
-- Made last, for the reason at `records` (0004-records.sql).
alter table gated_records add primary key (ledger_id, record_id);

create trigger gated_records_begin after insert on gated_records
  referencing new table as added for each statement execute function gated_records_begin();
create trigger gated_records_change after update on gated_records
  referencing old table as before new table as after for each statement execute function gated_records_change();
create trigger gated_records_no_delete before delete on gated_records
  for each row execute function refuse_change();
create trigger gated_records_no_truncate before truncate on gated_records
  for each statement execute function refuse_change();

create table documents (
  ledger_id uuid not null,
  seq bigint not null,                    -- the entry that digests it
  document text not null check (document in ('evidence', 'values', 'reason')),
  subject_id uuid not null,               -- the completion, or the record
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
