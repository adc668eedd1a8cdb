-- Finds the first outcome of a request with this Idempotency-Key: its seq; -1 for another request; null for none. Serves requests
-- that the present state would refuse although the same request may have been done before.
create or replace function find_replay(ledger uuid, actor uuid, key bytea, request_hash bytea) returns bigint
language plpgsql stable security definer set search_path = tallystick, pg_temp as $$
begin
  return (
    select case when k.fingerprint = sha256(k.salt || request_hash) then k.seq else -1 end
    from idempotency_keys k where k.ledger_id = ledger and k.actor_id = actor and k.key_hash = key);
end $$;
