-- Replaces all secrets of a key. If the present secrets are not `expected`, changes nothing and returns false. Also
-- returns false if the key is revoked or does not exist, or would have more than 3 secrets.
create or replace function replace_key_secrets(
  ledger uuid, key uuid, expected bytea[], secret_hashes bytea[], macs bytea[], expires timestamptz[]
) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  perform from api_keys k where k.ledger_id = ledger and k.key_id = key and k.revoked_seq is null for update;
  if not found or cardinality(secret_hashes) > 3 or expected is distinct from (
    select coalesce(array_agg(s.secret_hash order by s.secret_hash), '{}') from api_key_secrets s
    where s.ledger_id = ledger and s.key_id = key
  ) then
    return false;
  end if;
  delete from api_key_secrets s where s.ledger_id = ledger and s.key_id = key;
  insert into api_key_secrets (ledger_id, secret_hash, key_id, mac, expires_at)
  select ledger, n.secret_hash, key, n.mac, n.expires_at
  from unnest(secret_hashes, macs, expires) n (secret_hash, mac, expires_at);
  return true;
end $$;

-- Sets a key's rate limit, or removes it if the arguments are null. Returns false if the key does not exist.
create or replace function set_key_rate_limit(ledger uuid, key uuid, per_second real, burst int4) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  update api_keys set rate_limit_per_second = per_second, rate_limit_burst = burst
  where ledger_id = ledger and key_id = key;
  return found;
end $$;

-- Sets which spans and logs a key accepts, and how much of them is stored. Null removes the settings. Returns false if
-- the key does not exist.
create or replace function set_key_otlp(ledger uuid, key uuid, settings jsonb) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  update api_keys set otlp = settings where ledger_id = ledger and key_id = key;
  return found;
end $$;

-- Sets a ledger's rate limit, or removes it if the arguments are null. Returns false if the ledger does not exist.
create or replace function set_ledger_rate_limit(ledger uuid, per_second real, burst int4) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  update ledgers set rate_limit_per_second = per_second, rate_limit_burst = burst where ledger_id = ledger;
  return found;
end $$;

-- Makes a ledger's tiles public, or readable only with the ledger's keys. Returns 'set', 'absent' if the ledger does
-- not exist, or 'full' if `public_max` other ledgers have public tiles.
create or replace function set_ledger_tiles_public(ledger uuid, public boolean, public_max int4) returns text
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  if public and public_max <= (select count(*) from ledgers where tiles_public and ledger_id <> ledger) then
    return 'full';
  end if;
  update ledgers set tiles_public = public where ledger_id = ledger;
  return case when found then 'set' else 'absent' end;
end $$;

-- Freezes or unfreezes a ledger. Returns false if nothing changed: the ledger was already in that state, is closed
-- for another reason, or does not exist.
create or replace function set_ledger_frozen(ledger uuid, frozen boolean) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  perform require_proof();
  update chain_heads set closed = case when frozen then 'frozen' end
  where ledger_id = ledger and closed is not distinct from (case when not frozen then 'frozen' end);
  return found;
end $$;

-- Closes ledgers that are shorter than, or different from, a state that was stored outside Postgres. Returns the closed
-- ledgers.
--
-- The heads are locked, so that no entry is appended and no restore acknowledged between the check and the close.
--
-- A ledger-restored entry acknowledges a restore. The API's login could append such an entry without a valid signature,
-- so the worker verifies these entries. `refused_seqs` has, for each ledger, the seq of a ledger-restored entry that
-- the worker has refused, or null. The function ignores this entry.
--
-- The caller passes at most 1,000 ledgers in a call. With more, servers would continue to append to the last ledgers
-- for many seconds.
create or replace function close_restored_ledgers(
  ledgers uuid[], known_sizes bigint[], known_chains bytea[], refused_seqs bigint[]
) returns uuid[]
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  known record;
  closed_ones uuid[] = '{}';
begin
  perform from chain_heads h where h.ledger_id = any (ledgers) order by h.ledger_id for update;
  for known in
    select k.*, h.closed as was
    from unnest(ledgers, known_sizes, known_chains, refused_seqs) k (ledger, size, chain, refused_seq)
    join chain_heads h on h.ledger_id = k.ledger
    where h.closed is distinct from 'restored'
  loop
    continue when exists (select from entries e
      where e.ledger_id = known.ledger and e.seq = known.size - 1 and e.chain = known.chain);
    insert into ledger_closures as c (ledger_id, known_size, known_chain, was_frozen)
    values (known.ledger, known.size, known.chain, known.was is not null)
    on conflict on constraint ledger_closures_pkey do update
      set closed_at = now(), was_frozen = excluded.was_frozen, restored_seq = null
      where c.restored_seq = known.refused_seq;
    continue when not found;
    update chain_heads h set closed = 'restored' where h.ledger_id = known.ledger;
    closed_ones = closed_ones || known.ledger;
  end loop;
  return closed_ones;
end $$;

-- Retires all envelope keys that sign for no ledger any more, except the newest key, and destroys their secrets.
-- Returns the number of retired keys.
--
-- Does nothing during the first 90 s of a new key. In this time a server that still knows only the old key may create a
-- ledger with it. The first entry of such a ledger is at most 60 s old (30 s of clock tolerance on either side), and
-- its call takes at most 15 s.
create or replace function retire_envelope_keys() returns int8
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  retired int8;
begin
  with unused as (
    update server_keys k set retired_at = now()
    where k.use = 'envelope' and k.retired_at is null
      and k.activated_at < (select max(n.activated_at) from server_keys n where n.use = 'envelope'
        having max(n.activated_at) < now() - interval '90 seconds')
      and not exists (select from chain_heads h where h.envelope_kid = k.kid)
    returning k.kid
  ), destroyed as (
    delete from envelope_key_secrets s using unused u where s.kid = u.kid
  )
  select count(*) into retired from unused;
  return retired;
end $$;
