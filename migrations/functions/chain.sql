-- Returns the chain hash after `leaf` (docs/formats/chain-and-checkpoints.md).
create or replace function chain_link(previous bytea, leaf bytea) returns bytea
  language sql immutable strict parallel safe
  return sha256('\x02'::bytea || previous || leaf);

-- State transition function of the aggregate chain_extend.
create or replace function chain_step(state bytea, leaf bytea, head bytea) returns bytea
  language plpgsql immutable parallel safe as $$
begin
  return sha256('\x02'::bytea || coalesce(state, head) || leaf);
end $$;

-- Raises 55000: entries were inserted, but the trigger that moves the head did not fire. The error has no constraint
-- name, because the cause is a disabled trigger and not a row.
create or replace function refuse_unmoved() returns void
language plpgsql as $$
begin
  raise exception 'the entries did not move their chain''s head: is a trigger off?'
    using errcode = 'object_not_in_prerequisite_state';
end $$;
