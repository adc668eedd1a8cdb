-- Webhooks: endpoints of a ledger, what they are signed with, how far each has heard, and what was delivered. Nothing here is
-- evidence: events are derived from the chain (src/outside/events/), and whoever moves money checks the signed envelope.

set local search_path = tallystick;

-- What a tenant says of an endpoint, and whether it is delivered to.
create table webhooks (
  ledger_id uuid not null references ledgers,
  webhook_id uuid not null,
  url text not null check (length(url) between 1 and 2048),
  description text check (length(description) between 1 and 200),
  events text[] not null check (cardinality(events) between 1 and 32),     -- {*}: all
  types text[] not null default '{}' check (cardinality(types) <= 32),     -- name, or name/version; none: all
  include text[] not null default '{}' check (include <@ '{documents,envelope}'),
  created_by uuid not null,
  created_at timestamptz not null default clock_timestamp(),
  state text not null default 'active' check (state in ('active', 'paused', 'disabled', 'deleted')),
  reason text check (reason in ('requested', 'failing', 'gone')),
  state_at timestamptz not null default clock_timestamp(),
  primary key (ledger_id, webhook_id),
  constraint webhooks_reason check ((reason is null) = (state in ('active', 'deleted')))
);

-- An HMAC key and the seed of an Ed25519 key, sealed under TALLYSTICK_MASTER_KEY. Two that overlap, while one is rotated.
create table webhook_secrets (
  ledger_id uuid not null,
  webhook_id uuid not null,
  secret_id uuid not null,                -- UUIDv7: in the order in which they were made
  sealed bytea not null check (length(sealed) <= 256),
  public_key bytea not null check (length(public_key) = 32),
  expires_at timestamptz,
  primary key (ledger_id, webhook_id, secret_id),
  foreign key (ledger_id, webhook_id) references webhooks
);

-- How far an endpoint has heard. Written all the time, so apart from what it is. Entries before next_seq, and checkpoints up to
-- checkpoint_size, are dealt with: they did not match, or have a row in webhook_deliveries. What comes after them is dealt with
-- only if it has a row.
create table webhook_cursors (
  ledger_id uuid not null,
  webhook_id uuid not null,
  next_seq bigint not null check (next_seq >= 0),
  checkpoint_size bigint not null check (checkpoint_size >= 0),
  -- When the first of its pending deliveries is due; not later than that, and infinity when there is none.
  due_at timestamptz not null default 'infinity',
  -- Whose turn it is: the job of pg-boss that delivers, and until when that is believed of it.
  job_id uuid,
  leased_until timestamptz,
  served_at timestamptz not null default '-infinity',
  -- How it answers. `resume_at`: nothing is sent before.
  failures int4 not null default 0 check (failures >= 0),  -- in a row
  failing_since timestamptz,
  resume_at timestamptz,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  -- What is to be delivered (again) because somebody asked: entries from recover_seq up to recover_end.
  recover_seq bigint,
  recover_end bigint,
  recover_delivered boolean not null default false,        -- what was delivered, too
  primary key (ledger_id, webhook_id),
  foreign key (ledger_id, webhook_id) references webhooks,
  constraint webhook_cursors_recover check ((recover_seq is null) = (recover_end is null))
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

-- One event for one endpoint: what became of it. Events that did not match have no row.
create table webhook_deliveries (
  ledger_id uuid not null,
  webhook_id uuid not null,
  event_id uuid not null,                 -- the webhook-id; in the order of the events' times
  event text not null check (length(event) <= 64),
  seq bigint,                             -- of its entry; of a checkpoint, its last one's; null: of a notice
  place int2 not null default 0,          -- among the events of its entry
  record_id uuid,
  notice text check (length(notice) <= 4096),  -- what it is about, where neither entry nor checkpoint says it: JSON
  state text not null check (state in ('pending', 'held', 'delivered', 'dead')),
  tries int2 not null check (tries >= 0), -- of this round of the retry schedule
  attempts int4 not null check (attempts >= 0),
  attempt_log jsonb not null,             -- the newest ones
  due_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  primary key (ledger_id, webhook_id, event_id),
  constraint webhook_deliveries_due check ((state = 'pending') = (due_at is not null)),
  constraint webhook_deliveries_finished check ((state in ('delivered', 'dead')) = (finished_at is not null)),
  constraint webhook_deliveries_notice check ((seq is null) = (notice is not null))
) with (autovacuum_vacuum_scale_factor = 0.02);

create index webhook_deliveries_due on webhook_deliveries (ledger_id, webhook_id, due_at) where state = 'pending';
-- What holds a record's later events, and what is held.
create index webhook_deliveries_open on webhook_deliveries (ledger_id, webhook_id, record_id, seq, place)
  where state in ('pending', 'held');
create index webhook_deliveries_dead on webhook_deliveries (ledger_id, webhook_id, event_id) where state = 'dead';

-- ---------------------------------------------------------------------------------------------------------
-- Privileges
-- ---------------------------------------------------------------------------------------------------------

grant select on webhooks, webhook_cursors, webhook_deliveries to tallystick_api, tallystick_worker;
-- A server seals a secret and never reads it again.
grant select (ledger_id, webhook_id, secret_id, public_key, expires_at) on webhook_secrets to tallystick_api;
grant select on webhook_secrets to tallystick_worker;

grant update (state, reason, state_at) on webhooks to tallystick_worker;
grant update on webhook_cursors to tallystick_worker;
grant insert, update, delete on webhook_deliveries to tallystick_worker;
grant delete on webhooks, webhook_secrets, webhook_cursors to tallystick_worker;

-- ---------------------------------------------------------------------------------------------------------
-- What the API's login may ask for. Whoever changes rows of an endpoint takes them in the order webhook_cursors, webhooks,
-- webhook_secrets, webhook_deliveries: so none waits for another in a circle.
-- ---------------------------------------------------------------------------------------------------------

-- Whether the ledger has such an endpoint, which then stays as it is until the transaction ends.
create function lock_webhook(ledger uuid, webhook uuid) returns boolean
language plpgsql set search_path = tallystick, pg_temp as $$
begin
  perform from webhook_cursors c where c.ledger_id = ledger and c.webhook_id = webhook for update;
  perform from webhooks w
  where w.ledger_id = ledger and w.webhook_id = webhook and w.state <> 'deleted' for update;
  return found;
end $$;

-- How far the ledger has come, and its newest checkpoint.
create function ledger_ends(ledger uuid, out size bigint, out checkpoint bigint)
language sql stable set search_path = tallystick, pg_temp as $$
  select h.size, coalesce((select max(c.size) from checkpoints c where c.ledger_id = h.ledger_id), 0)
  from chain_heads h where h.ledger_id = ledger
$$;

-- Answers the endpoint; or one that is just like it, because a client that got no answer asks again; or null where the ledger
-- has `webhooks_max` of them. It hears of what is appended from now on.
create function create_webhook(
  ledger uuid, webhook uuid, new_url text, new_description text, new_events text[], new_types text[], new_include text[],
  creator uuid, secret uuid, new_sealed bytea, new_public_key bytea, webhooks_max int4
) returns uuid
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  twin uuid;
begin
  -- One after another for each ledger: none comes between the look at the others and the new one.
  perform pg_advisory_xact_lock(hashtextextended('webhooks ' || ledger, 0));
  select w.webhook_id into twin from webhooks w
  where w.ledger_id = ledger and w.state <> 'deleted' and w.url = new_url and w.events = new_events and w.types = new_types
    and w.include = new_include
  limit 1;
  if found then return twin; end if;
  if (select count(*) from webhooks w where w.ledger_id = ledger and w.state <> 'deleted') >= webhooks_max then
    return null;
  end if;
  insert into webhooks (ledger_id, webhook_id, url, description, events, types, include, created_by)
  values (ledger, webhook, new_url, new_description, new_events, new_types, new_include, creator);
  insert into webhook_secrets (ledger_id, webhook_id, secret_id, sealed, public_key)
  values (ledger, webhook, secret, new_sealed, new_public_key);
  insert into webhook_cursors (ledger_id, webhook_id, next_seq, checkpoint_size)
  select ledger, webhook, e.size, e.checkpoint from ledger_ends(ledger) e;
  return webhook;
end $$;

-- null: leaves it as it is. Answers `missing`; `documents` where it would send documents, and `with_documents` says that it must
-- not at this caller's word; else `changed`.
create function change_webhook(
  ledger uuid, webhook uuid, new_url text, new_description text, keeps_description boolean, new_events text[],
  new_types text[], new_include text[], with_documents boolean
) returns text
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  if not lock_webhook(ledger, webhook) then return 'missing'; end if;
  update webhooks w set url = coalesce(new_url, w.url),
    description = case when keeps_description then w.description else new_description end,
    events = coalesce(new_events, w.events), types = coalesce(new_types, w.types), include = coalesce(new_include, w.include)
  where w.ledger_id = ledger and w.webhook_id = webhook
    and (with_documents or not 'documents' = any (coalesce(new_include, w.include)));
  return case when found then 'changed' else 'documents' end;
end $$;

-- What is paused or disabled already stays so, with its reason. false here and below: there is no such endpoint.
create function pause_webhook(ledger uuid, webhook uuid) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  if not lock_webhook(ledger, webhook) then return false; end if;
  update webhooks w set state = 'paused', reason = 'requested', state_at = clock_timestamp()
  where w.ledger_id = ledger and w.webhook_id = webhook and w.state = 'active';
  return true;
end $$;

-- It begins anew, as if it had never failed, and what waits for a retry is due; `skips`: with what is appended from now on.
create function resume_webhook(ledger uuid, webhook uuid, skips boolean) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  if not lock_webhook(ledger, webhook) then return false; end if;
  update webhooks w set state = 'active', reason = null, state_at = clock_timestamp()
  where w.ledger_id = ledger and w.webhook_id = webhook and w.state <> 'active';
  update webhook_deliveries d set due_at = clock_timestamp()
  where d.ledger_id = ledger and d.webhook_id = webhook and d.state = 'pending';
  -- What is due is read anew: whoever delivers to it just now can't say it any more.
  update webhook_cursors c set failures = 0, failing_since = null, resume_at = null, job_id = null, leased_until = null,
    due_at = clock_timestamp(),
    next_seq = case when skips then greatest(c.next_seq, e.size) else c.next_seq end,
    checkpoint_size = case when skips then greatest(c.checkpoint_size, e.checkpoint) else c.checkpoint_size end
  from ledger_ends(ledger) e where c.ledger_id = ledger and c.webhook_id = webhook;
  return true;
end $$;

-- Its secrets are gone at once; the worker removes what else is left of it.
create function delete_webhook(ledger uuid, webhook uuid) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  if not lock_webhook(ledger, webhook) then return false; end if;
  update webhooks w set state = 'deleted', reason = null, state_at = clock_timestamp()
  where w.ledger_id = ledger and w.webhook_id = webhook;
  delete from webhook_secrets s where s.ledger_id = ledger and s.webhook_id = webhook;
  return true;
end $$;

-- Those before end after `overlap`, or when they would have ended anyway. Answers `missing`, `full` where `secrets_max` of them
-- have not ended, else `rotated`.
create function rotate_webhook_secret(
  ledger uuid, webhook uuid, secret uuid, new_sealed bytea, new_public_key bytea, overlap interval, secrets_max int4
) returns text
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  overlap_end constant timestamptz := clock_timestamp() + overlap;
begin
  if not lock_webhook(ledger, webhook) then return 'missing'; end if;
  delete from webhook_secrets s where s.ledger_id = ledger and s.webhook_id = webhook
    and least(s.expires_at, overlap_end) <= clock_timestamp();
  if (select count(*) from webhook_secrets s where s.ledger_id = ledger and s.webhook_id = webhook) >= secrets_max then
    return 'full';
  end if;
  update webhook_secrets s set expires_at = least(s.expires_at, overlap_end)
  where s.ledger_id = ledger and s.webhook_id = webhook;
  insert into webhook_secrets (ledger_id, webhook_id, secret_id, sealed, public_key)
  values (ledger, webhook, secret, new_sealed, new_public_key);
  -- Whoever delivers to it reads it anew where this row was written.
  update webhooks w set url = w.url where w.ledger_id = ledger and w.webhook_id = webhook;
  return 'rotated';
end $$;

-- Answers `missing`, `inactive`, `full` where `open_max` are waiting, else `requested`.
create function request_webhook_test(ledger uuid, webhook uuid, new_event uuid, about text, open_max int4) returns text
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  if not lock_webhook(ledger, webhook) then return 'missing'; end if;
  if not exists (select from webhooks w
    where w.ledger_id = ledger and w.webhook_id = webhook and w.state = 'active') then
    return 'inactive';
  end if;
  if (select count(*) from webhook_deliveries d
    where d.ledger_id = ledger and d.webhook_id = webhook and d.state in ('pending', 'held') and d.record_id is null
      and d.seq is null and d.event = 'webhook.test') >= open_max then
    return 'full';
  end if;
  insert into webhook_deliveries
    (ledger_id, webhook_id, event_id, event, notice, state, tries, attempts, attempt_log, due_at)
  values (ledger, webhook, new_event, 'webhook.test', about, 'pending', 0, 0, '[]', clock_timestamp());
  update webhook_cursors c set due_at = clock_timestamp() where c.ledger_id = ledger and c.webhook_id = webhook;
  return 'requested';
end $$;

-- The schedule of each begins anew. What is due is read anew by whoever sees another time here (src/db/events/webhook-work.ts).
create function redeliver_events(ledger uuid, webhook uuid, events uuid[]) returns void
language plpgsql set search_path = tallystick, pg_temp as $$
begin
  update webhook_deliveries d set state = 'held', tries = 0, due_at = null, finished_at = null
  where d.ledger_id = ledger and d.webhook_id = webhook and d.event_id = any (events);
  -- Of each record in order.
  update webhook_deliveries d set state = 'pending', due_at = clock_timestamp()
  where d.ledger_id = ledger and d.webhook_id = webhook and d.event_id = any (events) and not exists (
    select from webhook_deliveries e
    where e.ledger_id = ledger and e.webhook_id = webhook and e.record_id = d.record_id and e.state in ('pending', 'held')
      and (e.seq, e.place) < (d.seq, d.place));
  update webhook_cursors c set due_at = clock_timestamp() where c.ledger_id = ledger and c.webhook_id = webhook;
end $$;

-- Answers `missing`; `held` where it waits for an earlier event of its record already; else `redelivered`.
create function redeliver_webhook_event(ledger uuid, webhook uuid, that_event uuid) returns text
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  was text;
begin
  if not lock_webhook(ledger, webhook) then return 'missing'; end if;
  select d.state into was from webhook_deliveries d
  where d.ledger_id = ledger and d.webhook_id = webhook and d.event_id = that_event for update;
  if not found then return 'missing'; end if;
  if was = 'held' then return 'held'; end if;
  perform redeliver_events(ledger, webhook, array[that_event]);
  return 'redelivered';
end $$;

-- Of what was given up, oldest first, from the id `first_event` on and at most `deliveries_max`: how many, and whether there
-- are more. No row: there is no such endpoint.
create function redeliver_dead_webhook_events(
  ledger uuid, webhook uuid, first_event uuid, deliveries_max int4
) returns table (redelivered int4, more boolean)
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  events uuid[];
begin
  if not lock_webhook(ledger, webhook) then return; end if;
  events = array(select d.event_id from webhook_deliveries d
    where d.ledger_id = ledger and d.webhook_id = webhook and d.state = 'dead' and d.event_id >= first_event
    order by d.event_id limit deliveries_max);
  redelivered = cardinality(events);
  if redelivered > 0 then perform redeliver_events(ledger, webhook, events); end if;
  more = exists (select from webhook_deliveries d
    where d.ledger_id = ledger and d.webhook_id = webhook and d.state = 'dead' and d.event_id >= first_event);
  return next;
end $$;

-- Entries from `from_seq` up to, not including, `end_seq` (null: all that the endpoint is past) are delivered (again); what was
-- `delivered`, only if that is asked. Answers `missing`, `busy` where another recovery is under way, else
-- `recovering`.
create function recover_webhook(
  ledger uuid, webhook uuid, from_seq bigint, end_seq bigint, delivered boolean
) returns text
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  c webhook_cursors;
  last_seq bigint;
begin
  if not lock_webhook(ledger, webhook) then return 'missing'; end if;
  select * into c from webhook_cursors x where x.ledger_id = ledger and x.webhook_id = webhook;
  last_seq = least(end_seq, c.next_seq);  -- without nulls
  if c.recover_seq is not null then
    -- Where it began is not known any more: what is asked must be part of what is still to come.
    return case when c.recover_delivered = delivered and from_seq >= c.recover_seq
      and (end_seq is null or last_seq <= c.recover_end) then 'recovering' else 'busy' end;
  end if;
  if from_seq < last_seq then
    update webhook_cursors x set recover_seq = from_seq, recover_end = last_seq, recover_delivered = delivered
    where x.ledger_id = ledger and x.webhook_id = webhook;
    -- As above: whoever delivers to it looks anew.
    update webhooks w set url = w.url where w.ledger_id = ledger and w.webhook_id = webhook;
  end if;
  return 'recovering';
end $$;

revoke all on function lock_webhook, ledger_ends, create_webhook, change_webhook, pause_webhook, resume_webhook, delete_webhook,
  rotate_webhook_secret, request_webhook_test, redeliver_events, redeliver_webhook_event, redeliver_dead_webhook_events,
  recover_webhook from public;
grant execute on function create_webhook, change_webhook, pause_webhook, resume_webhook, delete_webhook, rotate_webhook_secret,
  request_webhook_test, redeliver_webhook_event, redeliver_dead_webhook_events, recover_webhook to tallystick_api;
