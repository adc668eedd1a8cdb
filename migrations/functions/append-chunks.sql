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
