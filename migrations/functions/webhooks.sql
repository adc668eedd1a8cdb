-- Locks an endpoint until the end of the transaction. Returns false if the endpoint does not exist.
create or replace function lock_webhook(ledger uuid, webhook uuid) returns boolean
language plpgsql set search_path = tallystick, pg_temp as $$
begin
  perform from webhook_cursors c where c.ledger_id = ledger and c.webhook_id = webhook for update;
  perform from webhooks w
  where w.ledger_id = ledger and w.webhook_id = webhook and w.state <> 'deleted' for update;
  return found;
end $$;

-- Returns the size of the ledger and of its newest checkpoint.
create or replace function ledger_ends(ledger uuid, out size bigint, out checkpoint bigint)
language sql stable set search_path = tallystick, pg_temp as $$
  select h.size, coalesce((select max(c.size) from checkpoints c where c.ledger_id = h.ledger_id), 0)
  from chain_heads h where h.ledger_id = ledger
$$;

-- Returns the settings in `of_row`: all columns of `webhooks` that a tenant sets. The list in the code has the columns
-- that are not settings, so that a new setting needs no change here.
create or replace function webhook_settings(of_row jsonb) returns jsonb
language sql immutable set search_path = tallystick, pg_temp as $$
  select of_row - '{ledger_id,webhook_id,created_by,created_at,state,reason,state_at}'::text[]
$$;

-- Creates an endpoint for events that are appended from now on, and returns its id. Returns null if the ledger has
-- `webhooks_max` endpoints.
--
-- If an endpoint with the same settings exists, returns its id instead, because a client that got no answer tries
-- again. The description is not compared.
create or replace function create_webhook(
  ledger uuid, webhook uuid, settings jsonb, creator uuid, secret uuid, new_sealed bytea, new_public_key bytea, webhooks_max int4
) returns uuid
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  w constant webhooks := jsonb_populate_record(null::webhooks, webhook_settings(settings) || jsonb_build_object(
    'ledger_id', ledger, 'webhook_id', webhook, 'created_by', creator, 'created_at', clock_timestamp(),
    'state', 'active', 'state_at', clock_timestamp()));
  twin uuid;
begin
  -- Locks the creation of endpoints for this ledger. So no other endpoint is created between the check and the insert.
  perform pg_advisory_xact_lock(hashtextextended('webhooks ' || ledger, 0));
  select o.webhook_id into twin from webhooks o
  where o.ledger_id = ledger and o.state <> 'deleted'
    and webhook_settings(to_jsonb(o)) - 'description' = webhook_settings(to_jsonb(w)) - 'description'
  limit 1;
  if found then return twin; end if;
  if (select count(*) from webhooks o where o.ledger_id = ledger and o.state <> 'deleted') >= webhooks_max then
    return null;
  end if;
  insert into webhooks select w.*;
  insert into webhook_secrets (ledger_id, webhook_id, secret_id, sealed, public_key)
  values (ledger, webhook, secret, new_sealed, new_public_key);
  insert into webhook_cursors (ledger_id, webhook_id, next_seq, checkpoint_size)
  select ledger, webhook, e.size, e.checkpoint from ledger_ends(ledger) e;
  return webhook;
end $$;

-- Changes the settings that are in `settings`. Returns `changed`, or `missing` if the endpoint does not exist, or
-- `documents` if the endpoint would get documents although `with_documents` is false.
create or replace function change_webhook(ledger uuid, webhook uuid, settings jsonb, with_documents boolean) returns text
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  w webhooks;
begin
  if not lock_webhook(ledger, webhook) then return 'missing'; end if;
  select * into w from webhooks o where o.ledger_id = ledger and o.webhook_id = webhook;
  w = jsonb_populate_record(w, webhook_settings(settings));
  if 'documents' = any (w.include) and not with_documents then return 'documents'; end if;
  -- Updates all columns, because a statement with the names of the changed columns would have to be extended for each
  -- new setting. The row is locked, so no other change is overwritten.
  execute (
    select format('update webhooks set (%1$s) = (select %1$s from (select ($1).*) n) where ledger_id = $2 and webhook_id = $3',
      string_agg(quote_ident(a.attname), ', '))
    from pg_attribute a where a.attrelid = 'webhooks'::regclass and a.attnum > 0 and not a.attisdropped
  ) using w, ledger, webhook;
  return 'changed';
end $$;

-- Pauses an endpoint if it is active. Otherwise changes nothing. Returns false if the endpoint does not exist.
create or replace function pause_webhook(ledger uuid, webhook uuid) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  if not lock_webhook(ledger, webhook) then return false; end if;
  update webhooks w set state = 'paused', reason = 'requested', state_at = clock_timestamp()
  where w.ledger_id = ledger and w.webhook_id = webhook and w.state = 'active';
  return true;
end $$;

-- Resumes an endpoint and clears its failures. Retries become due at once. With `skips`, the endpoint continues with
-- events that are appended from now on. Returns false if the endpoint does not exist.
create or replace function resume_webhook(ledger uuid, webhook uuid, skips boolean) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  if not lock_webhook(ledger, webhook) then return false; end if;
  update webhooks w set state = 'active', reason = null, state_at = clock_timestamp()
  where w.ledger_id = ledger and w.webhook_id = webhook and w.state <> 'active';
  update webhook_deliveries d set due_at = clock_timestamp()
  where d.ledger_id = ledger and d.webhook_id = webhook and d.state = 'pending';
  -- The new due time makes the delivering worker read the due deliveries again.
  update webhook_cursors c set failures = 0, failing_since = null, resume_at = null, job_id = null, leased_until = null,
    due_at = clock_timestamp(),
    next_seq = case when skips then greatest(c.next_seq, e.size) else c.next_seq end,
    checkpoint_size = case when skips then greatest(c.checkpoint_size, e.checkpoint) else c.checkpoint_size end
  from ledger_ends(ledger) e where c.ledger_id = ledger and c.webhook_id = webhook;
  return true;
end $$;

-- Deletes an endpoint and its secrets. The worker removes the other rows. Returns false if the endpoint does not
-- exist.
create or replace function delete_webhook(ledger uuid, webhook uuid) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  if not lock_webhook(ledger, webhook) then return false; end if;
  update webhooks w set state = 'deleted', reason = null, state_at = clock_timestamp()
  where w.ledger_id = ledger and w.webhook_id = webhook;
  delete from webhook_secrets s where s.ledger_id = ledger and s.webhook_id = webhook;
  return true;
end $$;

-- Adds a secret. The other secrets end after `overlap` or at their earlier end. Returns `missing` if the endpoint does
-- not exist, `full` if it has `secrets_max` secrets that have not ended, or `rotated`.
create or replace function rotate_webhook_secret(
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
  -- Updates the row without changing its content. This changes its `xmin`, so that the delivering worker reads the
  -- endpoint again.
  update webhooks w set url = w.url where w.ledger_id = ledger and w.webhook_id = webhook;
  return 'rotated';
end $$;

-- Queues a test event. Returns `missing` if the endpoint does not exist, `inactive` if it is not active, `full` if
-- `open_max` test events are waiting, or `requested`.
create or replace function request_webhook_test(ledger uuid, webhook uuid, new_event uuid, about text, open_max int4) returns text
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

-- Starts the retry schedule of the deliveries again. Also sets the due time of the cursor, so that a sender reads due
-- deliveries again (src/db/events/webhook-work.ts).
create or replace function redeliver_events(ledger uuid, webhook uuid, events uuid[]) returns void
language plpgsql set search_path = tallystick, pg_temp as $$
begin
  update webhook_deliveries d set state = 'held', tries = 0, due_at = null, finished_at = null
  where d.ledger_id = ledger and d.webhook_id = webhook and d.event_id = any (events);
  -- For each record, the first waiting event becomes due. Its other events wait.
  update webhook_deliveries d set state = 'pending', due_at = clock_timestamp()
  where d.ledger_id = ledger and d.webhook_id = webhook and d.event_id = any (events) and not exists (
    select from webhook_deliveries e
    where e.ledger_id = ledger and e.webhook_id = webhook and e.record_id = d.record_id and e.state in ('pending', 'held')
      and (e.seq, e.place) < (d.seq, d.place));
  update webhook_cursors c set due_at = clock_timestamp() where c.ledger_id = ledger and c.webhook_id = webhook;
end $$;

-- Delivers one event again. Returns `missing` if the endpoint or the event does not exist, `held` if the event already
-- waits for an earlier event of its record, or `redelivered`.
create or replace function redeliver_webhook_event(ledger uuid, webhook uuid, that_event uuid) returns text
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

-- Delivers dead events again, oldest first, beginning with the id `first_event`, at most `deliveries_max` events.
-- Returns the number of these events, and whether there are more. Returns no row if the endpoint does not exist.
create or replace function redeliver_dead_webhook_events(
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

-- Delivers the entries from `from_seq` to `end_seq` - 1 again. If `end_seq` is null, the end is the endpoint's
-- position. Events that were already delivered are included only if `delivered` is true. Returns `missing` if the
-- endpoint does not exist, `busy` if another recovery is running, or `recovering`.
create or replace function recover_webhook(
  ledger uuid, webhook uuid, from_seq bigint, end_seq bigint, delivered boolean
) returns text
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  c webhook_cursors;
  last_seq bigint;
begin
  if not lock_webhook(ledger, webhook) then return 'missing'; end if;
  select * into c from webhook_cursors x where x.ledger_id = ledger and x.webhook_id = webhook;
  last_seq = least(end_seq, c.next_seq);  -- `least` ignores null arguments
  if c.recover_seq is not null then
    -- A recovery is running, and its original start is not stored. So a request counts as the same request only if the
    -- running recovery still has to deliver all of the requested entries.
    return case when c.recover_delivered = delivered and from_seq >= c.recover_seq
      and (end_seq is null or last_seq <= c.recover_end) then 'recovering' else 'busy' end;
  end if;
  if from_seq < last_seq then
    update webhook_cursors x set recover_seq = from_seq, recover_end = last_seq, recover_delivered = delivered
    where x.ledger_id = ledger and x.webhook_id = webhook;
    -- Updates the row without changing its content. This changes its `xmin`, so that the delivering worker reads the
    -- endpoint again.
    update webhooks w set url = w.url where w.ledger_id = ledger and w.webhook_id = webhook;
  end if;
  return 'recovering';
end $$;
