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

-- Raises 28000 unless the setting tallystick.session_mac holds the MAC of the session, in hex. The setting ends with the session,
-- and with `discard all`, by which poolers hand a session to another client. The owner needs none: that login can change
-- everything anyway.
create or replace function require_proof() returns void
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  given constant text := current_setting('tallystick.session_mac', true);
begin
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
