-- Returns whether `mac` is a valid MAC over the message. A MAC is a key id (8 bytes) and an HMAC-SHA256 (32 bytes).
--
-- Both the given and the right HMAC are hashed again under the key before the comparison. So the time of the comparison
-- reveals nothing about the right HMAC.
create or replace function mac_holds(message bytea, mac bytea) returns boolean
language plpgsql stable security definer set search_path = tallystick, pg_temp as $$
begin
  return exists (
    select from mac_keys k
    where k.key_id = substr(mac, 1, 8)
      and sha256(k.outer_pad || sha256(k.outer_pad || sha256(k.inner_pad || message))) = sha256(k.outer_pad || substr(mac, 9)));
end $$;

-- Returns the text over which a session makes a MAC to prove the master key. The text identifies the session, so that
-- an observed MAC is useless in another session. The login is in hex, because its name may contain spaces.
create or replace function session_name() returns text
language sql stable set search_path = tallystick, pg_temp as $$
  select format('tallystick session %s %s %s', encode(convert_to(session_user, 'UTF8'), 'hex'), pg_backend_pid(), extract(epoch from pg_postmaster_start_time()));
$$;

-- Returns whether the session is the owner's. The owner may write with session_replication_role = replica, because
-- move-ledger copies rows unchanged.
create or replace function owner_silences_triggers() returns boolean
language sql stable set search_path = tallystick, pg_temp as $$
  select pg_has_role(session_user, (select nspowner from pg_namespace where nspname = 'tallystick'), 'member');
$$;

-- Raises 55000 for any login but the owner's. Called if session_replication_role is replica: then triggers and foreign
-- keys are off, so rows would be neither checked nor completed.
create or replace function refuse_without_triggers() returns void
language plpgsql stable set search_path = tallystick, pg_temp as $$
begin
  if not owner_silences_triggers() then
    raise exception 'session_replication_role is replica: triggers and foreign keys are off'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
end $$;

-- Raises 28000 if the setting tallystick.session_mac is missing or is not the MAC of the session, in hex.
--
-- The setting is lost when the session ends, and with `discard all`, which poolers run before they give a session to
-- another client. The owner's login needs no proof, because the owner can change everything anyway.
create or replace function require_proof() returns void
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  given constant text := current_setting('tallystick.session_mac', true);
begin
  if current_setting('session_replication_role') = 'replica' then perform refuse_without_triggers(); end if;
  if given ~ '^[0-9a-f]{80}$' and mac_holds(convert_to(session_name(), 'UTF8'), decode(given, 'hex')) then return; end if;
  if pg_has_role(session_user, (select nspowner from pg_namespace where nspname = 'tallystick'), 'member') then return; end if;
  raise exception 'this session has not proven that it has the master key'
    using errcode = 'invalid_authorization_specification', constraint = 'session_mac';
end $$;

-- Trigger: refuses writes of a session that has not proven the master key.
create or replace function require_proven_session() returns trigger
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  perform require_proof();
  return null;
end $$;

-- Returns a sentence for each guard that is off or missing.
--
-- Guards are the triggers that migrate has stored in `guards`, and foreign keys. A table must also be logged, because
-- an unlogged table would be empty after a crash.
create or replace function missing_guards() returns text[]
language sql stable set search_path = tallystick, pg_temp as $$
  select coalesce(array_agg(m.text order by m.text), '{}')
  from (
    select format('the trigger %s of %s is %s', g.name, g.relation, case when t.oid is null then 'missing' else 'off' end)
    from guards g
    left join pg_trigger t
      on t.tgrelid = to_regclass(format('tallystick.%I', g.relation)) and t.tgname = g.name and not t.tgisinternal
    where t.tgenabled is distinct from case when g.always then 'A' else 'O' end
    union all
    select distinct format('foreign keys of %s are off', c.relname)
    from pg_class c join pg_trigger t on t.tgrelid = c.oid
    where c.relnamespace = 'tallystick'::regnamespace and t.tgisinternal and t.tgenabled not in ('O', 'A')
    union all
    select format('the table %s is unlogged', c.relname)
    from pg_class c where c.relnamespace = 'tallystick'::regnamespace and c.relkind = 'r' and c.relpersistence <> 'p'
  ) m (text);
$$;
