-- Verification by the worker: audits of whole ledgers, a cursor behind which every entry has been verified as it came, and what
-- was found. No evidence, any of it: whoever doubts a ledger verifies it himself.

set local search_path = tallystick;

-- An audit waits (`queued`, and `job_id` once a job of pg-boss carries it), is at work, and ends. `ok` and `report` say what
-- it found; a `failed` one found nothing, because it could not read on.
create table audits (
  ledger_id uuid not null references ledgers,
  audit_id uuid not null,
  requested_by uuid,                      -- an agent; null: the schedule
  requested_at timestamptz not null default now(),
  state text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed')),
  job_id uuid,
  entries_total bigint,
  entries_done bigint not null default 0,
  started_at timestamptz,
  finished_at timestamptz,
  ok boolean,
  report jsonb,
  primary key (ledger_id, audit_id),
  constraint audits_outcome check ((state = 'done') = (ok is not null) and (state = 'done') = (report is not null)
    and (state in ('done', 'failed')) = (finished_at is not null))
);
-- An audit reads a whole ledger: more than one of it at a time would only be slower.
create unique index audits_open on audits (ledger_id) where state in ('queued', 'running');
create index audits_waiting on audits (requested_at) where state = 'queued' and job_id is null;
create index audits_done on audits (ok, finished_at) where state = 'done';

-- Answers the audit that is open, or begins this one; of those that ended, 100 are kept for each ledger.
create function request_audit(ledger uuid, audit uuid, agent uuid) returns uuid
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  found_id uuid;
begin
  -- One after another for each ledger: what is open can't end between the two looks at it.
  perform pg_advisory_xact_lock(hashtextextended('audit ' || ledger, 0));
  insert into audits (ledger_id, audit_id, requested_by) values (ledger, audit, agent)
  on conflict (ledger_id) where state in ('queued', 'running') do nothing
  returning audit_id into found_id;
  if found_id is null then
    select a.audit_id into found_id from audits a
    where a.ledger_id = ledger and a.state in ('queued', 'running');
    return coalesce(found_id, request_audit(ledger, audit, agent));
  end if;
  delete from audits a where a.ledger_id = ledger and a.audit_id in (
    select b.audit_id from audits b where b.ledger_id = ledger
    order by b.audit_id desc offset 101);
  return found_id;
end $$;

-- Up to here every entry was verified as it came; `chain` and `envelope_kid` are what the next one must continue. Here and below
-- without a foreign key: a ledger's row may be just what is missing.
create table audit_cursors (
  ledger_id uuid primary key,
  next_seq bigint not null check (next_seq > 0),
  chain bytea not null check (length(chain) = 32),
  envelope_kid bytea not null check (length(envelope_kid) = 32)
) with (fillfactor = 50);

-- A ledger with an open fault gets no checkpoints. The first fault stands until the operator clears it, by the owner's login:
-- no server and no worker may.
create table ledger_faults (
  ledger_id uuid not null,
  found_at timestamptz not null default clock_timestamp(),
  found_by text not null check (found_by in ('follower', 'audit')),
  seq bigint,                             -- null: of the ledger as a whole
  code text not null check (length(code) <= 64),
  reason text not null check (length(reason) <= 2000),
  cleared_at timestamptz,
  cleared_note text check (length(cleared_note) between 1 and 1000),
  primary key (ledger_id, found_at),
  constraint ledger_faults_cleared check ((cleared_at is null) = (cleared_note is null))
);
create unique index ledger_faults_open on ledger_faults (ledger_id) where cleared_at is null;

-- ---------------------------------------------------------------------------------------------------------
-- Privileges
-- ---------------------------------------------------------------------------------------------------------

revoke all on function request_audit from public;
grant execute on function request_audit to tallystick_api, tallystick_worker;
grant select on audits, ledger_faults to tallystick_api, tallystick_worker;
grant update on audits to tallystick_worker;
grant select, insert, update on audit_cursors to tallystick_worker;
grant insert on ledger_faults to tallystick_worker;
-- The worker reads what it audits. The keys' hashes say nothing of the keys, and it may read the payloads beside them anyway.
grant select on idempotency_keys to tallystick_worker;
