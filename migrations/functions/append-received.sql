-- Stores entries that other ledgers have sent. `details.received` of the local entry is the other ledger's entry. The
-- other members of `details` are the changes that follow from the received entry.
create or replace function append_received(
  ledger_ids uuid[], kinds text[], subject_ids uuid[], details text[], outcomes int2[], seqs bigint[]
) returns void
language plpgsql
set search_path = tallystick, pg_temp
as $$
declare
  -- Members of `details`, one element for each received entry. They are parsed once here and not by each statement,
  -- because `details` of one entry have about 5 KB.
  came_ledgers uuid[];
  came_seqs bigint[];
  came_entries json[];
  came_documents json[];
  came_types json[];
  came_standings json[];
  came_offers json[];
  came_erasures json[];
  came_peers json[];
  expected bigint;
  changed bigint;
begin
  if not kinds && '{entry-received,offer-refused,peer-key-rotated,record-activated,completion-submitted}' then return; end if;

  select array_agg(i.ledger_id), array_agg(i.seq), array_agg(d.received), array_agg(m.document), array_agg(m.type),
    array_agg(m.standing), array_agg(m.offer), array_agg(m.erased), array_agg(m.peer), count(m.peer)
  into came_ledgers, came_seqs, came_entries, came_documents, came_types, came_standings, came_offers, came_erasures, came_peers, expected
  from unnest(ledger_ids, kinds, details, outcomes, seqs) i (ledger_id, kind, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json)
    d (received json, document json, type json, standing json, offer json, erased json, peer json) on true
  -- These members are read only for entry-received. In a step of a local record, members of these names mean something
  -- else.
  left join lateral (select d.document, d.type, d.standing, d.offer, d.erased, d.peer) m on i.kind = 'entry-received'
  where i.outcome = 0 and (i.kind in ('entry-received', 'offer-refused', 'peer-key-rotated')
    or i.kind in ('record-activated', 'completion-submitted') and i.detail is not null);
  if came_seqs is null then return; end if;

  insert into received_entries (ledger_id, seq, peer_id, remote_seq, kind, record_id, version, leaf, envelope)
  select i.ledger_id, i.seq, r."peerId", r.seq, r.kind, r."recordId", r.version, decode(r.leaf, 'hex'), decode(r.envelope, 'base64')
  from unnest(came_ledgers, came_seqs, came_entries) i (ledger_id, seq, received)
  left join lateral json_to_record(i.received)
    r ("peerId" uuid, seq bigint, kind text, "recordId" uuid, version int4, leaf text, envelope text) on true;

  -- Changes the state of a peering after the other side has completed the handshake or ended the peering.
  if expected > 0 then
    with moved as (
      update peers p set state = d.state, counterpart = coalesce(p.counterpart, decode(d.counterpart, 'hex')),
        revoked_seq = case d.state when 'revoked' then i.seq end
      from unnest(came_ledgers, came_seqs, came_peers) i (ledger_id, seq, peer)
      cross join lateral json_to_record(i.peer) d ("peerId" uuid, state text, counterpart text)
      where d.state is not null and p.ledger_id = i.ledger_id and p.peer_id = d."peerId"
        and case d.state when 'active' then p.state = 'pending' else p.state in ('pending', 'active') end
      returning 1
    )
    select count(*) into changed from moved;
    if changed <> expected then
      raise exception 'this change of the peering is not allowed in its state' using errcode = 'integrity_constraint_violation', constraint = 'peers_state';
    end if;
  end if;

  -- The joins are lateral, because a busy session keeps the plan that it made once. The plan of plain joins reads all
  -- received entries (860 µs for one entry among 8,000).
  if exists (
    select from unnest(came_ledgers, came_seqs) i (ledger_id, seq)
    cross join lateral (
      select n.kind, n.peer_id from received_entries n where n.ledger_id = i.ledger_id and n.seq = i.seq offset 0
    ) r
    cross join lateral (
      select n.state from peers n where n.ledger_id = i.ledger_id and n.peer_id = r.peer_id offset 0
    ) p
    where not case r.kind when 'peer-revoked' then p.state = 'revoked'
        when 'server-key-rotated' then p.state in ('pending', 'active') else p.state = 'active' end) then
    raise exception 'the peering is not active' using errcode = 'integrity_constraint_violation', constraint = 'peers_state';
  end if;

  if num_nonnulls(variadic came_documents) > 0 then
    insert into received_documents (ledger_id, seq, subject, digest, salt, content, reference_list)
    select i.ledger_id, i.seq, d.subject, decode(d.digest, 'hex'), decode(d.salt, 'hex'), convert_to(d.content, 'UTF8'),
      convert_to(n.reference_list, 'UTF8')
    from unnest(came_ledgers, came_seqs, came_documents) i (ledger_id, seq, document)
    cross join lateral json_to_record(i.document)
      d (subject text, digest text, salt text, content text, "references" text)
    cross join lateral (select d."references" as reference_list) n
    where d.subject is not null;
  end if;

  if num_nonnulls(variadic came_types) > 0 then
    insert into received_types (ledger_id, peer_id, digest, name, definition)
    select i.ledger_id, d."peerId", sha256(convert_to(d.definition, 'UTF8')), d.name, convert_to(d.definition, 'UTF8')
    from unnest(came_ledgers, came_types) i (ledger_id, type)
    cross join lateral json_to_record(i.type) d ("peerId" uuid, name text, definition text)
    where d.name is not null
    on conflict do nothing;
  end if;

  -- Stores the state of each record. If a call has several steps of a record, the last step determines the state.
  if num_nonnulls(variadic came_standings) > 0 then
    with item as (
      select distinct on (i.ledger_id, d."recordId") i.ledger_id, d.*, i.seq,
        min(i.seq) over (partition by i.ledger_id, d."recordId") as first_seq
      from unnest(came_ledgers, came_seqs, came_standings) i (ledger_id, seq, standing)
      cross join lateral json_to_record(i.standing)
        d ("peerId" uuid, "recordId" uuid, type text, documents text, state text, version int4, leaf text, standing text)
      where d."recordId" is not null
      order by i.ledger_id, d."recordId", d.version desc
    )
    insert into remote_records as r
      (ledger_id, record_id, peer_id, type, documents, state, version, leaf, standing, first_seq, last_seq)
    select ledger_id, "recordId", "peerId", type, documents, state, version, decode(leaf, 'hex'), standing, first_seq, seq from item
    on conflict on constraint remote_records_pkey do update set
      state = excluded.state, version = excluded.version, leaf = excluded.leaf, standing = excluded.standing,
      last_seq = excluded.last_seq;
  end if;

  -- Applies decisions about this ledger's offers.
  --
  -- The seqs of the offers are computed first, and then the offers are looked up. With a direct join of details and
  -- offers, the plan read all offers of the ledger for each decision (600 µs for 1,500 offers). The last condition is
  -- written with `<> all`, because with another condition the plan could read all pending offers.
  if num_nonnulls(variadic came_offers) > 0 then
    with decided as materialized (
      select i.ledger_id, i.seq as decided_seq, d.*
      from unnest(came_ledgers, came_seqs, came_offers) i (ledger_id, seq, offer)
      cross join lateral json_to_record(i.offer) d (seq bigint, state text, code text)
      where d.state is not null
    )
    update offers o set state = d.state, code = d.code, decided_seq = d.decided_seq from decided d
    where o.ledger_id = d.ledger_id and o.seq = d.seq and o.state <> all ('{taken,refused}');
  end if;

  -- Removes documents that their home ledger has erased.
  if num_nonnulls(variadic came_erasures) > 0 then
    with erased as materialized (
      select i.seq as erased_seq, r.ledger_id, r.seq
      from unnest(came_ledgers, came_seqs, came_erasures) i (ledger_id, seq, erased)
      cross join lateral json_to_record(i.erased) d ("peerId" uuid, "remoteSeq" bigint)
      cross join lateral (
        select n.ledger_id, n.seq from received_entries n
        where n.ledger_id = i.ledger_id and n.peer_id = d."peerId" and n.remote_seq = d."remoteSeq" offset 0
      ) r
    )
    update received_documents x set salt = null, content = null, reference_list = null, erased_seq = e.erased_seq from erased e
    where x.ledger_id = e.ledger_id and x.seq = e.seq and x.erased_seq is null;
  end if;

  -- Ends a pause of sending. The peer has just sent something, so it can probably receive too.
  update peer_cursors c set resume_at = null
  from (
    select distinct i.ledger_id, r.peer_id from unnest(came_ledgers, came_seqs) i (ledger_id, seq)
    cross join lateral (
      select n.peer_id from received_entries n where n.ledger_id = i.ledger_id and n.seq = i.seq offset 0
    ) r
  ) i
  where c.ledger_id = i.ledger_id and c.peer_id = i.peer_id and c.resume_at > now() + interval '1 second';

  -- Replaces the other ledger's key by the new key that the received entry names. The entry is signed by the old key.
  if 'peer-key-rotated' = any (kinds) then
    update peer_keys k set until_seq = r.seq
    from unnest(ledger_ids, kinds, details, outcomes) i (ledger_id, kind, detail, outcome)
    cross join lateral json_to_record(i.detail::json -> 'received') r ("peerId" uuid, seq bigint)
    where i.outcome = 0 and i.kind = 'peer-key-rotated'
      and k.ledger_id = i.ledger_id and k.peer_id = r."peerId" and k.until_seq is null;
    insert into peer_keys (ledger_id, peer_id, kid, alg, spki, mac)
    select i.ledger_id, d."peerId", decode(d.kid, 'hex'), d.alg, decode(d.spki, 'base64'), decode(d.mac, 'hex')
    from unnest(ledger_ids, kinds, details, outcomes) i (ledger_id, kind, detail, outcome)
    cross join lateral json_to_record(i.detail::json -> 'key') d ("peerId" uuid, kid text, alg text, spki text, mac text)
    where i.outcome = 0 and i.kind = 'peer-key-rotated';
  end if;
end $$;
