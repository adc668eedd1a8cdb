-- Returns the seq of the entry that the first request with this Idempotency-Key made. Returns -1 if the key was used
-- for a different request, and null if the key is new.
--
-- Called for requests that the present state would refuse, because an earlier attempt may have succeeded.
create or replace function find_replay(ledger uuid, actor uuid, key bytea, request_hash bytea) returns bigint
language plpgsql stable security definer set search_path = tallystick, pg_temp as $$
begin
  return (
    select case when k.fingerprint = sha256(k.salt || request_hash) then k.seq else -1 end
    from idempotency_keys k where k.ledger_id = ledger and k.actor_id = actor and k.key_hash = key);
end $$;
