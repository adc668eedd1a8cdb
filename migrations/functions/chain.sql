-- Chain after `leaf` (docs/formats/chain-and-checkpoints.md).
create or replace function chain_link(previous bytea, leaf bytea) returns bytea
  language sql immutable strict parallel safe
  return sha256('\x02'::bytea || previous || leaf);

-- Step of chain_extend.
create or replace function chain_step(state bytea, leaf bytea, head bytea) returns bytea
  language plpgsql immutable parallel safe as $$
begin
  return sha256('\x02'::bytea || coalesce(state, head) || leaf);
end $$;
