-- Tables with the rules of the lifecycle, and keys of the deployment. append_entries and the triggers read the rules.
--
-- Functions are in functions/. They exist before the first migration runs.

set local search_path = tallystick;

create table entry_kinds (
  kind text primary key,
  record_event boolean not null,          -- true: the kind creates or changes records, so record_transitions must have a row for the kind
  worker_only boolean not null            -- true: entries of the kind are accepted only from the worker's login
);
comment on table entry_kinds is
  'Kinds of entries. record_event: the kind creates or changes records, so record_transitions has a row for it. worker_only: accepted only from the login of the worker.';

create table record_states (
  state text primary key,
  terminal boolean not null
);
comment on table record_states is
  'States of records. No step leaves a terminal state, except verdict-overturned.';

create table record_transitions (
  from_state text not null,
  kind text not null references entry_kinds,
  to_state text not null references record_states,
  primary key (from_state, kind, to_state)
);
comment on table record_transitions is
  'Steps that append_entries allows. from_state is empty for a record that does not exist yet. Generated from the machine `record` in src/proof/statement/machines.ts.';

-- Made by `npm run docs` of the tables in src/proof/statement; not to be edited.
insert into entry_kinds (kind, record_event, worker_only) values
  ('ledger-created', false, false),
  ('server-key-rotated', false, true),
  ('agent-registered', false, false),
  ('agent-disabled', false, false),
  ('agent-key-registered', false, false),
  ('agent-key-revoked', false, false),
  ('key-created', false, false),
  ('key-revoked', false, false),
  ('type-registered', false, false),
  ('record-notarized', true, false),
  ('batch-notarized', true, false),
  ('record-created', true, false),
  ('record-activated', true, false),
  ('completion-submitted', true, false),
  ('completion-verified', true, true),
  ('verdict-rendered', true, false),
  ('verdict-overturned', true, false),
  ('revision-requested', true, false),
  ('record-cancelled', true, false),
  ('record-expired', true, true),
  ('payload-erased', false, false),
  ('ledger-restored', false, false),
  ('peer-added', false, false),
  ('peer-suspended', false, false),
  ('peer-resumed', false, false),
  ('peer-revoked', false, false),
  ('peer-key-rotated', false, false),
  ('record-shared', false, false),
  ('entry-received', false, false),
  ('step-offered', false, false),
  ('offer-refused', false, false),
  ('registration-policy-set', false, false),
  ('statement-registered', false, false),
  ('retention-set', false, false),
  ('hold-set', false, false),
  ('hold-lifted', false, false),
  ('subject-erased', false, false),
  ('export-made', false, false),
  ('statement', false, false);

insert into record_states (state, terminal) values
  ('RECORDED', true),
  ('CREATED', false),
  ('ACTIVE', false),
  ('SUBMITTED', false),
  ('VERIFIED', false),
  ('DISCREPANT', false),
  ('ACCEPTED', true),
  ('REJECTED', false),
  ('CANCELLED', true),
  ('EXPIRED', true);

insert into record_transitions (from_state, kind, to_state) values
  ('', 'batch-notarized', 'RECORDED'),
  ('', 'record-notarized', 'RECORDED'),
  ('', 'record-created', 'CREATED'),
  ('CREATED', 'record-activated', 'ACTIVE'),
  ('ACTIVE', 'completion-submitted', 'SUBMITTED'),
  ('SUBMITTED', 'completion-verified', 'VERIFIED'),
  ('SUBMITTED', 'completion-verified', 'DISCREPANT'),
  ('VERIFIED', 'verdict-rendered', 'ACCEPTED'),
  ('DISCREPANT', 'verdict-rendered', 'ACCEPTED'),
  ('VERIFIED', 'verdict-rendered', 'REJECTED'),
  ('DISCREPANT', 'verdict-rendered', 'REJECTED'),
  ('VERIFIED', 'revision-requested', 'ACTIVE'),
  ('DISCREPANT', 'revision-requested', 'ACTIVE'),
  ('CREATED', 'record-cancelled', 'CANCELLED'),
  ('ACTIVE', 'record-cancelled', 'CANCELLED'),
  ('CREATED', 'record-expired', 'EXPIRED'),
  ('ACTIVE', 'record-expired', 'EXPIRED'),
  ('REJECTED', 'verdict-overturned', 'ACCEPTED');
-- End of what is made.

create table server_keys (
  kid bytea primary key check (length(kid) = 32),
  use text not null check (use in ('envelope', 'note')),
  alg text not null check (alg in ('EdDSA', 'ES256')),
  spki bytea not null,
  activated_at timestamptz not null default now(),
  retired_at timestamptz,
  compromised_at timestamptz
);
comment on table server_keys is
  'The deployment''s own keys: several envelope keys, one current note key. A reference table where the database is distributed, because it belongs to no ledger.';
create unique index server_keys_current_note on server_keys (use) where use = 'note' and retired_at is null;

create table envelope_key_secrets (
  kid bytea primary key references server_keys,
  sealed bytea not null
);
comment on table envelope_key_secrets is
  'Private envelope keys, sealed under the master key. Separate from note_key_secrets, because the login of the API must not read the note key.';

create table note_key_secrets (
  kid bytea primary key references server_keys,
  sealed bytea not null
);
comment on table note_key_secrets is
  'Private note keys, sealed under the master key. Only the worker reads them.';

create table mac_keys (
  key_id bytea primary key check (length(key_id) = 8),
  inner_pad bytea not null check (length(inner_pad) = 64),
  outer_pad bytea not null check (length(outer_pad) = 64),
  installed_at timestamptz not null default clock_timestamp()
);
comment on table mac_keys is
  'Keys that prove a writer, one for each master key in use: the two padded blocks of HMAC-SHA256 (RFC 2104), because Postgres has sha256 but no HMAC. migrate and rotate-master-key write them as the owner; no other login may read them.';

create table master_key_changes (
  changed_at timestamptz primary key default clock_timestamp(),
  changed_by text not null default session_user,
  previous_id bytea not null check (length(previous_id) = 8),
  current_id bytea not null check (length(current_id) = 8),
  server_keys int4 not null,
  webhook_secrets int4 not null,
  api_key_secrets int4 not null,
  refused int4 not null,                  -- number of rows that were sealed under neither the old nor the new key; they stay unchanged
  peer_keys int4 not null default 0
);
comment on table master_key_changes is
  'Runs of rotate-master-key that sealed something again. The ids name keys and reveal nothing about them.';

create trigger master_key_changes_append_only before update or delete on master_key_changes
  for each row execute function refuse_change();
create trigger master_key_changes_no_truncate before truncate on master_key_changes
  for each statement execute function refuse_change();

create table schema_serves (
  version int4 primary key,
  serves_from int4 not null check (serves_from <= version)
);
comment on table schema_serves is
  'Oldest version of the code that works with a migration, from its line "-- serves: NNNN" (docs/operate/operations.md#upgrading). A migration without a row serves only code that knows it. It is a table of its own, because a new column would have locked schema_migrations, which every /readyz reads.';

create table guards (
  relation text not null,
  name text not null,
  always boolean not null,                -- true: the trigger also fires in sessions that disable ordinary triggers (session_replication_role)
  primary key (relation, name)
);
comment on table guards is
  'Triggers of this schema, as stored by migrate. missing_guards compares them with the catalog. A migration that drops a trigger deletes its row.';
