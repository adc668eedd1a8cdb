-- Removes the document that the entry at `at` erased. The caller has verified the entry; here it must only exist. A record of a
-- batch lies in a compressed chunk, which the caller rewrites: `chunk_before` is the SHA-256 of the content that it read, null where
-- the record has a row; `chunk_after` is the content without the payload, and `keys_gone` the references that no record of the chunk
-- has any more. Raises 40001 where the chunk has changed meanwhile.
create or replace function erase_document(ledger uuid, at bigint, chunk_before bytea, chunk_after bytea, keys_gone bytea[])
returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  erased erasures;
  changed batch_chunks;
begin
  update erasures e set erased_at = now() where e.ledger_id = ledger and e.seq = at and e.erased_at is null
  returning * into erased;
  if not found then return false; end if;
  if erased.document = 'payload' and chunk_before is not null then
    update batch_chunks c set content = chunk_after, erased_seq = at
    where c.ledger_id = ledger and c.seq = erased.document_seq and c.chunk = place_in_batch(erased.subject_id) / 64
      and sha256(c.content) = chunk_before
    returning * into changed;
    if not found then
      raise exception 'the chunk has changed meanwhile' using errcode = 'serialization_failure';
    end if;
    -- Keys of references begin with `R`; those of persons with `S`, and end with the record's place in the chunk.
    delete from batch_keys k where k.ledger_id = ledger and k.key = any (keys_gone) and get_byte(k.key, 0) = ascii('R')
      and k.seq = changed.seq and k.chunk = changed.chunk;
    delete from batch_keys k where k.ledger_id = ledger and k.seq = changed.seq and k.chunk = changed.chunk
      and k.key between '\x53'::bytea and '\x54'::bytea
      and length(k.key) = 18 and get_byte(k.key, 17) = place_in_batch(erased.subject_id) % 64;
  elsif erased.document = 'payload' then
    update records r set payload = null, salt = null, metadata = null, reference_list = null, subject = null, payload_erased_seq = at
    where r.ledger_id = ledger and r.record_id = erased.subject_id;
    if not found then
      raise exception 'the record has no row' using errcode = 'no_data_found';
    end if;
    delete from record_references f where f.ledger_id = ledger and f.record_id = erased.subject_id;
  else
    update documents d set salt = null, content = null, erased_seq = at
    where d.ledger_id = ledger and d.seq = erased.document_seq and d.document = erased.document;
  end if;
  update idempotency_keys k set salt = null, fingerprint = null
  where k.ledger_id = ledger and k.seq = erased.document_seq;
  return true;
end $$;
