-- Stores the records of batches, and the keys by which searches find their chunks. `seqs`: of each item of the call; null where it was
-- not appended.
create or replace function append_chunks(
  ledger_ids uuid[], seqs bigint[], chunk_items int4[], chunk_numbers int4[], chunk_record_ids uuid[], chunk_counts int4[],
  chunk_contents bytea[], chunk_key_items int4[], chunk_key_numbers int4[], chunk_keys bytea[]
) returns void
language plpgsql
set search_path = tallystick, pg_temp
as $$
begin
  insert into batch_chunks (ledger_id, seq, chunk, first_record_id, count, content)
  select ledger_ids[n.item], seqs[n.item], n.chunk, n.first_record_id, n.count, n.content
  from unnest(chunk_items, chunk_numbers, chunk_record_ids, chunk_counts, chunk_contents)
    n (item, chunk, first_record_id, count, content)
  where seqs[n.item] is not null;
  insert into batch_keys (ledger_id, key, seq, chunk)
  select ledger_ids[n.item], n.key, seqs[n.item], n.chunk
  from unnest(chunk_key_items, chunk_key_numbers, chunk_keys) n (item, chunk, key)
  where seqs[n.item] is not null;
end $$;

-- Items whose traces, or groups of logs, have got records of the same agent from `unseen_befores` on: what they bring may be there already
-- (docs/decisions/0030-a-span-is-one-record.md). Their other keys say nothing of that.
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
