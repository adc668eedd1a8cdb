-- Returns the items whose check for known spans is out of date. Such an item has a trace, or a group of logs, to which
-- the same agent has added records since the check. Spans and logs of the item may be stored already
-- (docs/decisions/0025-storage-of-batches.md#opentelemetry-spans).
--
-- `unseen_befores[item]`: the check has read all entries before this seq. Only the keys of traces and groups of logs
-- are compared.
create or replace function items_overtaken(
  ledger_ids uuid[], actor_ids uuid[], unseen_befores int8[], items int4[], keys bytea[]
) returns int4[]
language plpgsql stable
set search_path = tallystick, pg_temp
as $$
begin
  return array(
    select distinct c.item
    from unnest(items, keys) c (item, key)
    cross join lateral (
      select from batch_keys x
      cross join lateral (
        select e.actor_id from entries e where e.ledger_id = x.ledger_id and e.seq = x.seq offset 0
      ) e
      where x.ledger_id = ledger_ids[c.item] and x.key = c.key and x.seq >= unseen_befores[c.item]
        and e.actor_id = actor_ids[c.item]
      limit 1
    ) x
    where unseen_befores[c.item] is not null
      and (get_byte(c.key, 0) = ascii('C') or substr(c.key, 1, 11) = '\x526f74656c2e6c6f67733a'::bytea)
  );
end $$;
