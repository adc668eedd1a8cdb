-- Stores the rows of entries about peers, shares and offers. write_entries calls it whenever an entry has details.
create or replace function append_federation(
  ledger_ids uuid[], kinds text[], subject_ids uuid[], leaves bytea[], details text[], outcomes int2[], seqs bigint[]
) returns void
language plpgsql
set search_path = tallystick, pg_temp
as $$
declare
  expected bigint;
  changed bigint;
begin
  -- Creates peerings and changes their states. Each change must be an allowed transition.
  if kinds && '{peer-added,peer-suspended,peer-resumed,peer-revoked}' then
    with item as (
      select i.*, d.*
      from unnest(ledger_ids, kinds, subject_ids, leaves, details, outcomes, seqs)
          i (ledger_id, kind, peer_id, leaf, detail, outcome, seq)
      left join lateral json_to_record(i.detail::json) d (invited text, "remoteLedgerId" uuid, "remoteUrl" text, handshake text,
        counterpart text, kid text, alg text, spki text, "ownKid" text) on true
      where i.outcome = 0 and i.kind like 'peer-%' and i.kind <> 'peer-key-rotated'
    ), moved as (
      update peers p set
        state = case i.kind when 'peer-added' then case p.role when 'inviter' then 'pending' else 'active' end
          when 'peer-suspended' then 'suspended' when 'peer-resumed' then 'active' else 'revoked' end,
        invited = coalesce(p.invited, i.invited), sealed_token = null,
        remote_ledger_id = coalesce(p.remote_ledger_id, i."remoteLedgerId"), remote_url = coalesce(p.remote_url, i."remoteUrl"),
        handshake = coalesce(p.handshake, decode(i.handshake, 'hex')),
        counterpart = coalesce(p.counterpart, decode(i.counterpart, 'hex')),
        added_seq = case i.kind when 'peer-added' then i.seq else p.added_seq end,
        added_leaf = case i.kind when 'peer-added' then i.leaf else p.added_leaf end,
        revoked_seq = case i.kind when 'peer-revoked' then i.seq end
      from item i
      where p.ledger_id = i.ledger_id and p.peer_id = i.peer_id and case i.kind
          when 'peer-added' then p.state = case p.role when 'inviter' then 'invited' else 'pending' end and p.added_seq is null
          when 'peer-suspended' then p.state = 'active'
          when 'peer-resumed' then p.state = 'suspended'
          else p.state in ('pending', 'active', 'suspended') and p.added_seq is not null end
      returning p.ledger_id, p.peer_id
    )
    select (select count(*) from item), (select count(*) from moved) into expected, changed;
    if changed <> expected then
      raise exception 'this change of the peering is not allowed in its state' using errcode = 'integrity_constraint_violation', constraint = 'peers_state';
    end if;
    insert into peer_keys (ledger_id, peer_id, kid, alg, spki, mac)
    select i.ledger_id, i.peer_id, decode(d.kid, 'hex'), d.alg, decode(d.spki, 'base64'), decode(d.mac, 'hex')
    from unnest(ledger_ids, kinds, subject_ids, details, outcomes) i (ledger_id, kind, peer_id, detail, outcome)
    left join lateral json_to_record(i.detail::json) d (kid text, alg text, spki text, mac text) on true
    where i.outcome = 0 and i.kind = 'peer-added';
    insert into peer_inboxes (ledger_id, peer_id)
    select i.ledger_id, i.peer_id
    from unnest(ledger_ids, kinds, subject_ids, outcomes) i (ledger_id, kind, peer_id, outcome)
    where i.outcome = 0 and i.kind = 'peer-added';
    -- The cursor of the invited side starts at its own peer-added entry, which is the first entry to send. Earlier
    -- entries do not concern the other side. The inviter's peer-added entry was already sent in an answer, so the
    -- inviter's cursor starts after it.
    insert into peer_cursors (ledger_id, peer_id, next_seq, known_kid)
    select i.ledger_id, i.peer_id, i.seq + (p.role = 'inviter')::int4, decode(d."ownKid", 'hex')
    from unnest(ledger_ids, kinds, subject_ids, details, outcomes, seqs) i (ledger_id, kind, peer_id, detail, outcome, seq)
    join peers p on p.ledger_id = i.ledger_id and p.peer_id = i.peer_id
    left join lateral json_to_record(i.detail::json) d ("ownKid" text) on true
    where i.outcome = 0 and i.kind = 'peer-added'
    on conflict on constraint peer_cursors_pkey do update set next_seq = excluded.next_seq, known_kid = excluded.known_kid;
  end if;

  if 'server-key-rotated' = any (kinds) then
    insert into ledger_rotations (ledger_id, seq, new_kid)
    select i.ledger_id, i.seq, decode(d."newKid", 'hex')
    from unnest(ledger_ids, kinds, details, outcomes, seqs) i (ledger_id, kind, detail, outcome, seq)
    left join lateral json_to_record(i.detail::json) d ("newKid" text) on true
    where i.outcome = 0 and i.kind = 'server-key-rotated';
  end if;
  if 'peer-resumed' = any (kinds) then
    update peer_cursors c set failures = 0, failing_since = null, resume_at = null
    from unnest(ledger_ids, kinds, subject_ids, outcomes) i (ledger_id, kind, peer_id, outcome)
    where i.outcome = 0 and i.kind = 'peer-resumed' and c.ledger_id = i.ledger_id and c.peer_id = i.peer_id;
  end if;

  -- A share has the seq of the entry that makes it: the record's first entry, or a later record-shared.
  if kinds && '{record-created,record-shared}' then
    insert into shared_records (ledger_id, record_id, peer_id, documents, shared_seq)
    select i.ledger_id, i.record_id, s."peerId", s.documents, i.seq
    from unnest(ledger_ids, kinds, subject_ids, details, outcomes, seqs) i (ledger_id, kind, record_id, detail, outcome, seq)
    cross join lateral json_to_recordset(i.detail::json -> 'share') s ("peerId" uuid, documents text)
    where i.outcome = 0 and i.kind in ('record-created', 'record-shared');
    if exists (
      select from unnest(ledger_ids, kinds, subject_ids, outcomes, seqs) i (ledger_id, kind, record_id, outcome, seq)
      left join lateral (
        select p.state from shared_records s join peers p on p.ledger_id = s.ledger_id and p.peer_id = s.peer_id
        where s.ledger_id = i.ledger_id and s.record_id = i.record_id and s.shared_seq = i.seq
      ) p on true
      where i.outcome = 0 and i.kind in ('record-created', 'record-shared')
        and (p.state is null and i.kind = 'record-shared' or p.state not in ('active', 'suspended'))) then
      raise exception 'a record can be shared only with an active peer' using errcode = 'integrity_constraint_violation', constraint = 'shared_records_peer';
    end if;
    -- A record cannot be shared if an agent has signed one of its entries, because peers know only the keys of servers.
    if 'record-shared' = any (kinds) and exists (
      select from unnest(ledger_ids, kinds, subject_ids, outcomes) i (ledger_id, kind, record_id, outcome)
      join records r on r.ledger_id = i.ledger_id and r.record_id = i.record_id
      where i.outcome = 0 and i.kind = 'record-shared' and (
        exists (select from entries e where e.ledger_id = i.ledger_id and e.seq = r.first_seq and e.signer_kid is not null)
        or exists (select from entries e where e.ledger_id = i.ledger_id and e.subject_id = i.record_id and e.version > 1
          and e.signer_kid is not null))) then
      raise exception 'records with entries signed by agents cannot be shared' using errcode = 'integrity_constraint_violation', constraint = 'shared_records_signed';
    end if;
  end if;
  if kinds && '{record-created,record-activated}' then
    update gated_records g set performer_remote = d.performer
    from unnest(ledger_ids, kinds, subject_ids, details, outcomes) i (ledger_id, kind, record_id, detail, outcome)
    cross join lateral json_to_record(i.detail::json) d (performer text)
    where i.outcome = 0 and i.kind in ('record-created', 'record-activated') and d.performer is not null
      and g.ledger_id = i.ledger_id and g.record_id = i.record_id;
  end if;

  if 'step-offered' = any (kinds) then
    insert into offers (ledger_id, seq, peer_id, record_id, version, step, agent_id, leaf)
    select i.ledger_id, i.seq, d."peerId", i.record_id, d.version, d.step, d."agentId", i.leaf
    from unnest(ledger_ids, kinds, subject_ids, leaves, details, outcomes, seqs)
        i (ledger_id, kind, record_id, leaf, detail, outcome, seq)
    left join lateral json_to_record(i.detail::json) d ("peerId" uuid, version int4, step text, "agentId" uuid) on true
    where i.outcome = 0 and i.kind = 'step-offered';
    if exists (
      select from unnest(ledger_ids, kinds, details, outcomes) i (ledger_id, kind, detail, outcome)
      left join lateral json_to_record(i.detail::json) d ("peerId" uuid) on true
      left join peers p on p.ledger_id = i.ledger_id and p.peer_id = d."peerId"
      where i.outcome = 0 and i.kind = 'step-offered' and p.state is distinct from 'active') then
      raise exception 'the peering is not active' using errcode = 'integrity_constraint_violation', constraint = 'peers_state';
    end if;
    if exists (
      select from unnest(ledger_ids, kinds, outcomes, seqs) i (ledger_id, kind, outcome, seq)
      left join offers o on o.ledger_id = i.ledger_id and o.seq = i.seq
      left join documents d on d.ledger_id = i.ledger_id and d.seq = i.seq
      where i.outcome = 0 and i.kind = 'step-offered' and (o.step = 'completion-submitted') <> (d.seq is not null)) then
      raise exception 'a completion must be offered with its evidence'
        using errcode = 'integrity_constraint_violation', constraint = 'entries_make_documents';
    end if;
  end if;

  perform append_received(ledger_ids, kinds, subject_ids, details, outcomes, seqs);
end $$;
