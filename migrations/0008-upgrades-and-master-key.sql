-- serves: 0007
-- Two things about the deployment as a whole, neither of them evidence: which versions of the code a schema serves, and when the
-- master key was replaced.

set local search_path = tallystick;

-- A migration that servers from before it can go on with says from which one on: `-- serves: 0007` in its first lines. While a new
-- version is rolled out, those of the version before run, restart, and may be gone back to (docs/upgrading.md). One that has no
-- row serves only the code that knows it. A table of its own: a column would have been a lock on what every /readyz reads.
create table schema_serves (
  version int4 primary key,
  serves_from int4 not null check (serves_from <= version)
);

-- Each run of `npm run rotate-master-key` that sealed something anew. The ids name keys and tell nothing about them.
create table master_key_changes (
  changed_at timestamptz primary key default clock_timestamp(),
  changed_by text not null default session_user,
  previous_id bytea not null check (length(previous_id) = 8),
  current_id bytea not null check (length(current_id) = 8),
  server_keys int4 not null,
  webhook_secrets int4 not null,
  api_key_secrets int4 not null,
  refused int4 not null                   -- rows that neither key had sealed: left as they were
);

create trigger master_key_changes_append_only before update or delete on master_key_changes
  for each row execute function refuse_change();
create trigger master_key_changes_no_truncate before truncate on master_key_changes
  for each statement execute function refuse_change();

grant select on schema_serves to tallystick_api, tallystick_worker;
