-- Removes documents of one ledger from the database, and returns the number of removed documents. `ats` has the seqs of
-- the entries that erased them. Documents that were removed before are skipped. The caller has verified the entries;
-- this function only checks that they exist.
--
-- Records of batches are in compressed chunks. The caller rewrites each chunk once for all of its erased records:
--
-- - `chunk_seqs` and `chunk_numbers`: the chunks that change.
-- - `chunks_before`: SHA-256 of the content that the caller read.
-- - `chunks_after`: the content without the erased payloads.
-- - `key_chunks` and `keys_gone`: `keys_gone[n]` is a reference that no record of the chunk with index `key_chunks[n]`
--   has any more.
--
-- If the content has moved to the archive, `chunks_after` is the remaining metadata, or empty if no metadata remains.
-- Then `chunks_before` is the SHA-256 of `erased_seq` in eight bytes (-1 for null) and the metadata. `erased_seq` is
-- included, because another erasure may leave the metadata unchanged.
--
-- Raises 40001 if a chunk has changed meanwhile, and P0002 if a payload has neither a row nor a chunk.
--
-- Each call is planned anew, because a session would keep a plan made on empty tables.
create or replace function erase_documents(
  ledger uuid, ats bigint[], chunk_seqs bigint[], chunk_numbers int4[], chunks_before bytea[], chunks_after bytea[],
  key_chunks int4[], keys_gone bytea[]
) returns int4
language plpgsql security definer set search_path = tallystick, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  erased erasures[];
  changed int4;
begin
  -- Rows are locked in order, so that two workers never deadlock.
  perform from erasures e where e.ledger_id = ledger and e.seq = any (ats) and e.erased_at is null order by e.seq for update;
  with done as (
    update erasures e set erased_at = now() where e.ledger_id = ledger and e.seq = any (ats) and e.erased_at is null
    returning e.*
  )
  select array_agg(d::erasures order by d.seq) into erased from done d;
  if erased is null then return 0; end if;

  if cardinality(chunk_seqs) > 0 then
    with item as (
      select x.seq, x.document_seq, place_in_batch(x.subject_id) / 64 as chunk, place_in_batch(x.subject_id) % 64 as place
      from unnest(erased) x where x.document = 'payload' and is_of_batch(x.subject_id)
    ), rewritten as (
      select n.seq, n.chunk, n.before, n.after, max(i.seq) as at
      from unnest(chunk_seqs, chunk_numbers, chunks_before, chunks_after) n (seq, chunk, before, after)
      join item i on i.document_seq = n.seq and i.chunk = n.chunk
      group by n.seq, n.chunk, n.before, n.after
    ), written as (
      update batch_chunks c set erased_seq = n.at, content = case when c.content is not null then n.after end,
        metadata = case when c.content is null and n.after <> '' then n.after end
      from rewritten n
      where c.ledger_id = ledger and c.seq = n.seq and c.chunk = n.chunk
        and sha256(coalesce(c.content, int8send(coalesce(c.erased_seq, -1)) || coalesce(c.metadata, ''))) = n.before
      returning 1
    )
    select count(*) into changed from written;
    if changed <> cardinality(chunk_seqs) then
      raise exception 'the chunk has changed meanwhile' using errcode = 'serialization_failure';
    end if;
    -- Keys of references begin with `R`. Keys of data subjects begin with `S` and end with the record's index in the
    -- chunk.
    delete from batch_keys k using unnest(key_chunks, keys_gone) g (n, key)
    where k.ledger_id = ledger and k.key = g.key and get_byte(k.key, 0) = ascii('R')
      and k.seq = chunk_seqs[g.n] and k.chunk = chunk_numbers[g.n];
    delete from batch_keys k using (
      select x.document_seq, place_in_batch(x.subject_id) / 64 as chunk, array_agg(place_in_batch(x.subject_id) % 64) as places
      from unnest(erased) x where x.document = 'payload' and is_of_batch(x.subject_id)
      group by 1, 2
    ) g
    where k.ledger_id = ledger and k.seq = g.document_seq and k.chunk = g.chunk
      and k.key between '\x53'::bytea and '\x54'::bytea
      and case when length(k.key) = 18 then get_byte(k.key, 17) = any (g.places) end;
  end if;

  -- The label of a gated record stays, because it is needed to find the record's other documents. forget_labels removes
  -- the label later.
  update records r set payload = null, salt = null, metadata = null, reference_list = null, payload_erased_seq = x.seq,
    subject = case when exists (select from gated_records g where g.ledger_id = ledger and g.record_id = r.record_id)
      then r.subject end
  from unnest(erased) x
  where x.document = 'payload' and r.ledger_id = ledger and r.record_id = x.subject_id and not is_of_batch(x.subject_id);
  get diagnostics changed = row_count;
  if changed + (
    select count(*) from unnest(erased) x
    join unnest(chunk_seqs, chunk_numbers) n (seq, chunk)
      on n.seq = x.document_seq and n.chunk = place_in_batch(x.subject_id) / 64
    where x.document = 'payload' and is_of_batch(x.subject_id)
  ) <> (select count(*) from unnest(erased) x where x.document = 'payload') then
    raise exception 'the record has no row' using errcode = 'no_data_found';
  end if;
  delete from record_references f using unnest(erased) x
  where x.document = 'payload' and f.ledger_id = ledger and f.record_id = x.subject_id and not is_of_batch(x.subject_id);
  update documents d set salt = null, content = null, erased_seq = x.seq
  from unnest(erased) x
  where x.document <> 'payload' and d.ledger_id = ledger and d.seq = x.document_seq and d.document = x.document;
  update idempotency_keys k set salt = null, fingerprint = null
  where k.ledger_id = ledger and k.seq = any (array(select x.document_seq from unnest(erased) x)) and k.salt is not null;
  return cardinality(erased);
end $$;

-- Removes the labels of gated records that have ended and have no document any more. Reads the next `page` records
-- after `after_ledger` and `after_record` that have a label but no payload.
--
-- Returns the last record that was read, or null if there are no more. A record that has not ended keeps its label,
-- because it can get further documents, which must be found by the label. Rows of a ledger that was moved or is being
-- moved stay unchanged.
create or replace function forget_labels(
  after_ledger uuid, after_record uuid, page int4, out last_ledger uuid, out last_record uuid
)
language plpgsql security definer set search_path = tallystick, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  found_records records[];
begin
  perform require_proof();
  select array_agg(r::records order by r.ledger_id, r.record_id) into found_records from (
    select * from records r
    where r.subject is not null and r.payload_erased_seq is not null and (r.ledger_id, r.record_id) > (after_ledger, after_record)
    order by r.ledger_id, r.record_id limit page
  ) r;
  update records r set subject = null
  from unnest(found_records) f
  where r.ledger_id = f.ledger_id and r.record_id = f.record_id
    and not exists (
      select from chain_heads h where h.ledger_id = r.ledger_id and h.closed in ('moving', 'moved'))
    and exists (
      select from gated_records g where g.ledger_id = r.ledger_id and g.record_id = r.record_id and g.ended_as <> '')
    and not exists (
      select from entries e join documents d on d.ledger_id = e.ledger_id and d.seq = e.seq
      where e.ledger_id = r.ledger_id and e.subject_id = r.record_id and e.version > 1 and d.content is not null);
  if cardinality(found_records) = page then
    last_ledger := found_records[page].ledger_id;
    last_record := found_records[page].record_id;
  end if;
end $$;
