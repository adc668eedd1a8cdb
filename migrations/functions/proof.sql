-- Verifies `mac` (key id, 8 bytes; HMAC-SHA256, 32 bytes) over a message. Both sides are hashed once more under the key, so that
-- the time of the comparison tells nothing about the right one.
create or replace function mac_holds(message bytea, mac bytea) returns boolean
language plpgsql stable security definer set search_path = tallystick, pg_temp as $$
begin
  return exists (
    select from mac_keys k
    where k.key_id = substr(mac, 1, 8)
      and sha256(k.outer_pad || sha256(k.outer_pad || sha256(k.inner_pad || message))) = sha256(k.outer_pad || substr(mac, 9)));
end $$;

-- Text whose MAC proves this session. It names the session, so that a MAC that somebody has seen proves no other one. The login is in
-- hex, because its name may have spaces.
create or replace function session_name() returns text
language sql stable set search_path = tallystick, pg_temp as $$
  select format('tallystick session %s %s %s', encode(convert_to(session_user, 'UTF8'), 'hex'), pg_backend_pid(), extract(epoch from pg_postmaster_start_time()));
$$;

-- Whether it is the owner who writes where session_replication_role is replica: move-ledger copies rows as they are.
create or replace function owner_silences_triggers() returns boolean
language sql stable set search_path = tallystick, pg_temp as $$
  select pg_has_role(session_user, (select nspowner from pg_namespace where nspname = 'tallystick'), 'member');
$$;

-- Raises 55000 for any login but the owner's. For sessions whose session_replication_role is replica: triggers and foreign keys are off, and
-- what they would check, or complete, would not happen.
create or replace function refuse_without_triggers() returns void
language plpgsql stable set search_path = tallystick, pg_temp as $$
begin
  if not owner_silences_triggers() then
    raise exception 'session_replication_role is replica: triggers and foreign keys are off'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
end $$;

-- Raises 28000 unless the setting tallystick.session_mac holds the MAC of the session, in hex. The setting ends with the session,
-- and with `discard all`, by which poolers hand a session to another client. The owner needs none: that login can change
-- everything anyway.
create or replace function require_proof() returns void
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  given constant text := current_setting('tallystick.session_mac', true);
begin
  if current_setting('session_replication_role') = 'replica' then perform refuse_without_triggers(); end if;
  if given ~ '^[0-9a-f]{80}$' and mac_holds(convert_to(session_name(), 'UTF8'), decode(given, 'hex')) then return; end if;
  if pg_has_role(session_user, (select nspowner from pg_namespace where nspname = 'tallystick'), 'member') then return; end if;
  raise exception 'this session has not proven that it holds the master key'
    using errcode = 'invalid_authorization_specification', constraint = 'session_mac';
end $$;

-- Trigger: refuses a write of a session that has not proven the master key.
create or replace function require_proven_session() returns trigger
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  perform require_proof();
  return null;
end $$;

-- Guards of the tables that are off or missing, a sentence each: triggers that migrate noted, foreign keys, and the log of a table, which a
-- crash would empty without it.
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
