-- Webhooks: a ledger's endpoints, their secrets and progress, and deliveries.
--
-- No row here is evidence. Events are derived from the chain (src/outside/events/), and a receiver that moves money
-- must verify the signed envelope.

set local search_path = tallystick;

create table webhooks (
  ledger_id uuid not null references ledgers,
  webhook_id uuid not null,
  url text not null check (length(url) between 1 and 2048),
  description text check (length(description) between 1 and 200),
  events text[] not null check (cardinality(events) between 1 and 32),     -- names of events; {*} means all events
  types text[] not null default '{}' check (cardinality(types) <= 32),     -- types of records, as name or name/version; empty means all types
  include text[] not null default '{}' check (include <@ '{documents,envelope}'),
  created_by uuid not null,
  created_at timestamptz not null default clock_timestamp(),
  state text not null default 'active' check (state in ('active', 'paused', 'disabled', 'deleted')),
  reason text check (reason in ('requested', 'failing', 'gone')),
  state_at timestamptz not null default clock_timestamp(),
  primary key (ledger_id, webhook_id),
  constraint webhooks_reason check ((reason is null) = (state in ('active', 'deleted')))
);
comment on table webhooks is
  'Endpoints of webhooks, with the tenant''s settings and their state.';

create table webhook_secrets (
  ledger_id uuid not null,
  webhook_id uuid not null,
  secret_id uuid not null,                -- UUIDv7, so that ids are in order of creation
  sealed bytea not null check (length(sealed) <= 256),
  public_key bytea not null check (length(public_key) = 32),
  expires_at timestamptz,
  primary key (ledger_id, webhook_id, secret_id),
  foreign key (ledger_id, webhook_id) references webhooks
);
comment on table webhook_secrets is
  'Signing secrets of endpoints: an HMAC key and the seed of an Ed25519 key, sealed under the master key. While a secret is rotated, two of them are valid.';

create table webhook_cursors (
  ledger_id uuid not null,
  webhook_id uuid not null,
  next_seq bigint not null check (next_seq >= 0),
  checkpoint_size bigint not null check (checkpoint_size >= 0),
  -- Time before which no pending delivery is due; `infinity` if there is no pending delivery.
  due_at timestamptz not null default 'infinity',
  -- Lease of the endpoint: the pg-boss job that delivers its events, and the time at which the lease ends.
  job_id uuid,
  leased_until timestamptz,
  served_at timestamptz not null default '-infinity',
  -- Results of the endpoint's answers. Nothing is sent before `resume_at`.
  failures int4 not null default 0 check (failures >= 0),  -- number of consecutive failures
  failing_since timestamptz,
  failing_days int4 not null default 0 check (failing_days >= 0),  -- number of days since failing_since on which an attempt failed
  resume_at timestamptz,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  -- A requested recovery: the entries from recover_seq to recover_end - 1 are delivered again.
  recover_seq bigint,
  recover_end bigint,
  recover_delivered boolean not null default false,        -- true: the recovery also repeats events that were delivered
  primary key (ledger_id, webhook_id),
  foreign key (ledger_id, webhook_id) references webhooks,
  constraint webhook_cursors_recover check ((recover_seq is null) = (recover_end is null))
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
comment on table webhook_cursors is
  'Progress of each endpoint. It is a table of its own, because it is written continuously. Entries before next_seq and checkpoints up to checkpoint_size are processed: they did not match, or have a row in webhook_deliveries.';

create table webhook_deliveries (
  ledger_id uuid not null,
  webhook_id uuid not null,
  event_id uuid not null,                 -- value of the webhook-id header; ids are in the order of the events' times
  event text not null check (length(event) <= 64),
  seq bigint,                             -- entry of the event, or the last entry that the event's checkpoint covers; null if the event is a notice
  place int2 not null default 0,          -- index among the events of the entry
  record_id uuid,
  notice text check (length(notice) <= 4096),  -- subject of the event in JSON; set only if neither an entry nor a checkpoint contains it
  state text not null check (state in ('pending', 'held', 'delivered', 'dead')),
  tries int2 not null check (tries >= 0), -- number of attempts in the current round of the retry schedule
  attempts int4 not null check (attempts >= 0),
  attempt_log jsonb not null,             -- list of the newest attempts
  due_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  primary key (ledger_id, webhook_id, event_id),
  constraint webhook_deliveries_due check ((state = 'pending') = (due_at is not null)),
  constraint webhook_deliveries_finished check ((state in ('delivered', 'dead')) = (finished_at is not null)),
  constraint webhook_deliveries_notice check ((seq is null) = (notice is not null))
) with (autovacuum_vacuum_scale_factor = 0.02);
comment on table webhook_deliveries is
  'Deliveries: one event for one endpoint. Events that did not match have no row.';

create index webhook_deliveries_due on webhook_deliveries (ledger_id, webhook_id, due_at) where state = 'pending';
-- Finds, in order, a record's pending events and the events that wait for them.
create index webhook_deliveries_open on webhook_deliveries (ledger_id, webhook_id, record_id, seq, place)
  where state in ('pending', 'held');
create index webhook_deliveries_dead on webhook_deliveries (ledger_id, webhook_id, event_id) where state = 'dead';
