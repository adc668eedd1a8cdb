-- Removes the document that the entry at `at` erased. The caller has verified the entry; here it must only exist.
create or replace function erase_document(ledger uuid, at bigint) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  erased erasures;
begin
  update erasures e set erased_at = now() where e.ledger_id = ledger and e.seq = at and e.erased_at is null
  returning * into erased;
  if not found then return false; end if;
  if erased.document = 'payload' then
    update records r set payload = null, salt = null, metadata = null, reference_list = null, payload_erased_seq = at
    where r.ledger_id = ledger and r.record_id = erased.subject_id;
    delete from record_references f where f.ledger_id = ledger and f.record_id = erased.subject_id;
  else
    update documents d set salt = null, content = null, erased_seq = at
    where d.ledger_id = ledger and d.seq = erased.document_seq and d.document = erased.document;
  end if;
  update idempotency_keys k set salt = null, fingerprint = null
  where k.ledger_id = ledger and k.seq = erased.document_seq;
  return true;
end $$;
