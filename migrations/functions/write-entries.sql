-- Writes the entries that append_entries has accepted, and all rows that follow from them. Also called when a ledger is
-- restored from its archive; then `restores` is true.
--
-- Arguments are those of append_entries, with one element for each item, after these results of the decisions:
--
-- - `outcomes`: only items with outcome 0 are written.
-- - `seqs`: seq of the entry.
-- - `chains`: chain hash after the entry.
-- - `prev_seqs`: seq of the record's previous step.
-- - `signer_kids`: key of the agent that has signed the entry, or null if the server has signed it.
--
-- A restore writes no idempotency keys, metadata, labels of data subjects or secrets of API keys, because entries do
-- not contain them. The caller must first insert the row of ledger_closures that a ledger-restored marks as ended.
-- Erasures are not checked against rules and holds again. All other rows equal those of the append:
-- test/run/restore-equals.test.ts.
--
-- Returns true, so that the caller can assign the result. With a void function, the caller would need `perform`, which
-- makes a plan of its own. plpgsql passes arrays on without a copy.
create or replace function write_entries(
  restores boolean, outcomes int2[], seqs bigint[], chains bytea[], prev_seqs bigint[], signer_kids bytea[],
  ledger_ids uuid[], kinds text[], subject_ids uuid[], versions int4[], to_states text[], previous_leaves bytea[],
  item_counts int4[], actor_ids uuid[], party_ids uuid[], key_ids uuid[], recorded_ats timestamptz[], leaves bytea[],
  envelopes bytea[], idempotency_hashes bytea[], request_salts bytea[], request_hashes bytea[], details text[],
  record_items int4[], record_ids uuid[], record_types text[], record_digests bytea[],
  record_salts bytea[], record_payloads bytea[], record_occurred_ats timestamptz[], record_on_behalf_ofs uuid[], record_parent_ids uuid[],
  record_traceparents text[], record_other_members text[], record_metadata bytea[], record_reference_lists bytea[],
  record_subjects bytea[],
  chunk_items int4[], chunk_numbers int4[], chunk_record_ids uuid[], chunk_counts int4[], chunk_contents bytea[],
  chunk_key_items int4[], chunk_key_numbers int4[], chunk_keys bytea[],
  gated_items int4[], gated_performers uuid[], gated_gates text[], gated_deadlines timestamptz[],
  gated_max_revisions int4[], gated_tolerances bytea[],
  document_items int4[], document_names text[], document_subjects uuid[], document_digests bytea[],
  document_salts bytea[], document_contents bytea[]
) returns boolean
language plpgsql
set search_path = tallystick, pg_temp
as $$
declare
  steps int4 := 0;
  moved int4 := 0;
  changed int4;
begin
  -- All inserts are in one statement, because each further statement adds 100 µs to a call of one item.
  with new_entries as (
    insert into entries (ledger_id, seq, kind, subject_id, version, item_count, prev_seq, actor_id, key_id, recorded_at,
      leaf, chain, envelope, signer_kid)
    select i.ledger_id, i.seq, i.kind, i.subject_id, i.version, i.item_count, i.prev_seq, i.actor_id, i.key_id, i.recorded_at,
      i.leaf, i.chain, i.envelope, i.signer_kid
    from unnest(outcomes, ledger_ids, seqs, kinds, subject_ids, versions, item_counts, prev_seqs, actor_ids, key_ids, recorded_ats,
        leaves, chains, envelopes, signer_kids)
      i (outcome, ledger_id, seq, kind, subject_id, version, item_count, prev_seq, actor_id, key_id, recorded_at,
        leaf, chain, envelope, signer_kid)
    where i.outcome = 0
  ), new_idempotency_keys as (
    insert into idempotency_keys (ledger_id, actor_id, key_hash, salt, fingerprint, seq)
    select i.ledger_id, i.actor_id, i.key_hash, i.salt, sha256(i.salt || i.request_hash), i.seq
    from unnest(outcomes, ledger_ids, actor_ids, idempotency_hashes, request_salts, request_hashes, seqs)
      i (outcome, ledger_id, actor_id, key_hash, salt, request_hash, seq)
    where i.outcome = 0 and i.key_hash is not null
  )
  insert into records (ledger_id, record_id, type, first_seq, actor_id,
    occurred_at, on_behalf_of, parent_id, traceparent, other_members, digest, salt, payload, metadata, reference_list, subject)
  select ledger_ids[n.item], n.record_id, n.type, seqs[n.item], actor_ids[n.item],
    n.occurred_at, n.on_behalf_of, n.parent_id, n.traceparent, n.other_members::jsonb, n.digest, n.salt, n.payload, n.metadata,
    n.reference_list, n.subject
  from unnest(record_items, record_ids, record_types, record_digests, record_salts,
      record_payloads, record_occurred_ats, record_on_behalf_ofs, record_parent_ids, record_traceparents, record_other_members,
      record_metadata, record_reference_lists, record_subjects)
    n (item, record_id, type, digest, salt, payload, occurred_at, on_behalf_of, parent_id, traceparent, other_members,
      metadata, reference_list, subject)
  where outcomes[n.item] = 0;
  if num_nonnulls(variadic record_reference_lists) > 0 then
    insert into record_references (ledger_id, reference, first_seq, record_id)
    select distinct ledger_ids[n.item], reference, seqs[n.item], n.record_id
    from unnest(record_items, record_ids, record_reference_lists) n (item, record_id, reference_list)
    cross join lateral jsonb_array_elements_text(convert_from(n.reference_list, 'UTF8')::jsonb) reference
    where outcomes[n.item] = 0;
  end if;

  if cardinality(chunk_items) > 0 then
    insert into batch_chunks (ledger_id, seq, chunk, first_record_id, count, content)
    select ledger_ids[n.item], seqs[n.item], n.chunk, n.first_record_id, n.count, n.content
    from unnest(chunk_items, chunk_numbers, chunk_record_ids, chunk_counts, chunk_contents)
      n (item, chunk, first_record_id, count, content)
    where outcomes[n.item] = 0;
    insert into batch_keys (ledger_id, key, seq, chunk)
    select ledger_ids[n.item], n.key, seqs[n.item], n.chunk
    from unnest(chunk_key_items, chunk_key_numbers, chunk_keys) n (item, chunk, key)
    where outcomes[n.item] = 0;
  end if;

  -- Notarizations create no other rows.
  if kinds <@ '{record-notarized,batch-notarized}' and cardinality(gated_items) + cardinality(document_items) = 0 then return true; end if;

  if 'record-created' = any (kinds) or cardinality(gated_items) > 0 then
    insert into gated_records (ledger_id, record_id, first_seq, principal_id, performer_id, gate, deadline, max_revisions,
      tolerances, state, version, last_seq)
    select ledger_ids[n.item], subject_ids[n.item], seqs[n.item], party_ids[n.item], n.performer_id, n.gate, n.deadline,
      n.max_revisions, n.tolerances, to_states[n.item], 1, seqs[n.item]
    from unnest(gated_items, gated_performers, gated_gates, gated_deadlines, gated_max_revisions, gated_tolerances)
      n (item, performer_id, gate, deadline, max_revisions, tolerances)
    where outcomes[n.item] = 0;
    if (select count(*) from unnest(kinds, outcomes) i (kind, outcome) where i.outcome = 0 and i.kind = 'record-created')
      <> (select count(*) from unnest(gated_items) n (item) where outcomes[n.item] = 0) then
      raise exception 'an entry that creates a gated record must come with its terms'
        using errcode = 'integrity_constraint_violation', constraint = 'entries_make_gated_records';
    end if;
  end if;
  if 2 <= any (versions) then
    steps := (select count(*) from unnest(versions, outcomes) i (version, outcome) where i.outcome = 0 and i.version > 1);
  end if;
  -- Each round applies one step of each record, because the trigger of gated_records allows one step at a time. A call
  -- of append_entries has at most two steps of a record. A restore has as many steps as were archived.
  for nth in 1 .. steps loop
    update gated_records r set state = i.to_state, version = i.version, last_seq = i.seq,
      performer_id = case when i.kind = 'record-activated' then i.party_id else r.performer_id end,
      revisions = r.revisions + (i.kind = 'revision-requested')::int4
    from (
      select s.*, row_number() over (partition by s.ledger_id, s.subject_id order by s.version) as place
      from unnest(ledger_ids, kinds, subject_ids, party_ids, to_states, versions, outcomes, seqs)
        s (ledger_id, kind, subject_id, party_id, to_state, version, outcome, seq)
      where s.outcome = 0 and s.version > 1
    ) i
    where i.place = nth and r.ledger_id = i.ledger_id and r.record_id = i.subject_id;
    get diagnostics changed = row_count;
    moved := moved + changed;
    exit when moved = steps or changed = 0;
  end loop;
  if steps > 0 or cardinality(document_items) > 0 then
    insert into documents (ledger_id, seq, document, subject_id, digest, salt, content)
    select ledger_ids[n.item], seqs[n.item], n.document, n.subject_id, n.digest, n.salt, n.content
    from unnest(document_items, document_names, document_subjects, document_digests, document_salts, document_contents)
      n (item, document, subject_id, digest, salt, content)
    where outcomes[n.item] = 0;
    if (select count(*) from unnest(kinds, outcomes) i (kind, outcome)
        where i.outcome = 0 and i.kind in ('completion-submitted', 'completion-verified'))
      <> (select count(*) from unnest(document_items, document_names) n (item, document)
        where outcomes[n.item] = 0 and n.document in ('evidence', 'values') and kinds[n.item] <> 'step-offered') then
      raise exception 'a completion must come with its evidence, and its verification with the compared values'
        using errcode = 'integrity_constraint_violation', constraint = 'entries_make_documents';
    end if;
  end if;

  -- Stores the rows of administrative entries, such as ledgers, agents and keys. These entries have no version. Their
  -- details have the columns of the rows as JSON.
  if array_position(versions, null) is not null then
    perform append_details(ledger_ids, kinds, subject_ids, details, outcomes, seqs);
  end if;
  if kinds && '{retention-set,hold-set,hold-lifted}' then
    perform append_keeping(ledger_ids, kinds, details, outcomes, seqs);
  end if;
  if not restores and 'payload-erased' = any (kinds) and (
    num_nonnulls(variadic actor_ids) < cardinality(actor_ids)
    or exists (select from holds h where h.ledger_id = any (ledger_ids))) then
    perform refuse_kept(ledger_ids, kinds, details, outcomes, seqs);
  end if;
  -- This must come after refuse_kept, because an erasure in this call may come before the hold is lifted.
  if 'hold-lifted' = any (kinds) then
    delete from hold_records r
    using unnest(ledger_ids, kinds, outcomes, seqs) i (ledger_id, kind, outcome, seq), holds h
    where i.outcome = 0 and i.kind = 'hold-lifted'
      and h.ledger_id = i.ledger_id and coalesce(h.lifted_seq, 9223372036854775807) = i.seq
      and r.ledger_id = h.ledger_id and r.record_id = any (h.record_ids) and r.seq = h.seq;
  end if;
  -- Stores details of entries about peers, shares of records, and offers.
  if num_nonnulls(variadic details) > 0 then
    perform append_federation(ledger_ids, kinds, subject_ids, leaves, details, outcomes, seqs);
  end if;
  if 'statement-registered' = any (kinds) then
    perform append_statements(ledger_ids, kinds, subject_ids, previous_leaves, details, outcomes, seqs);
  end if;
  return true;
end $$;
