-- Trigger: refuses to change or remove rows of an append-only table.
create or replace function refuse_change() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  raise exception 'table % is append-only: % is refused', tg_table_name, lower(tg_op)
    using errcode = 'integrity_constraint_violation', constraint = tg_table_name || '_append_only';
end $$;

-- Returns whether envelopes of this kind may be moved from Postgres to the archive. No append needs such envelopes.
-- They are needed only for reads, proofs and audits.
create or replace function leaves_for_archive(kind text) returns boolean
  language sql immutable parallel safe
  return kind in ('record-notarized', 'batch-notarized');

-- Trigger: an entry never changes, with one exception. After the envelope of a notarization is stored in the archive,
-- it is removed from Postgres. The leaf stays in Postgres. It is the hash of the envelope, so the archived envelope can
-- be checked.
create or replace function entries_change() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
declare
  without_envelope entries := old;
begin
  without_envelope.envelope := null;
  if tg_op = 'UPDATE' and old.envelope is not null and new is not distinct from without_envelope and leaves_for_archive(new.kind)
    and exists (
      select from (
        -- This query runs for each entry. So it reads only one piece: the last piece that begins at or before the
        -- entry.
        select * from archive_pieces n
        where n.ledger_id = new.ledger_id and n.from_seq <= new.seq order by n.from_seq desc limit 1
      ) p join archives a on a.ledger_id = p.ledger_id
      where p.end_seq > new.seq and p.end_seq <= a.size and p.state = 'leaving') then
    return new;
  end if;
  raise exception 'table % is append-only: % is refused', tg_table_name, lower(tg_op)
    using errcode = 'integrity_constraint_violation', constraint = 'entries_append_only';
end $$;

-- Trigger: inserted entries must continue their ledger's chain, link by link. Entries that do not continue the head are
-- refused.
--
-- This trigger also moves the chain's head; nothing else can move a head. The trigger is `enable always`.
create or replace function entries_extend_chain() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
declare
  ledgers_added bigint;
  ledgers_moved bigint;
begin
  if current_setting('session_replication_role') = 'replica' and owner_silences_triggers() then return null; end if;
  select count(distinct ledger_id) into ledgers_added from added;
  with linked as (
    select a.ledger_id, a.seq, a.chain, a.leaf, a.envelope is not null as is_whole, h.size as head_size,
      row_number() over w as place,
      coalesce(lag(a.chain) over w, h.chain) as previous
    from added a join chain_heads h on h.ledger_id = a.ledger_id
    window w as (partition by a.ledger_id order by a.seq)
  ), checked as (
    select ledger_id, max(seq) + 1 as size, min(head_size) as head_size,
      (array_agg(chain order by seq desc))[1] as chain
    from linked
    group by ledger_id
    having bool_and(is_whole and seq = head_size + place - 1 and chain = chain_link(previous, leaf))
  )
  update chain_heads h set size = c.size, chain = c.chain
  from checked c
  where h.ledger_id = c.ledger_id and h.size = c.head_size;
  get diagnostics ledgers_moved = row_count;
  if ledgers_moved <> ledgers_added then
    raise exception 'entries do not continue their ledger''s chain'
      using errcode = 'integrity_constraint_violation', constraint = 'entries_extend_chain';
  end if;
  return null;
end $$;

-- Trigger: a head only moves forward. Its key changes only if the newest entry is a server-key-rotated. The trigger is
-- `enable always`.
create or replace function chain_heads_forward_only() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if current_setting('session_replication_role') = 'replica' and owner_silences_triggers() then
    if tg_op = 'DELETE' then return old; end if;
    return new;
  end if;
  if tg_op = 'INSERT' then
    if new.size = 0 then return new; end if;
  elsif tg_op = 'DELETE' then
    if old.size = 0 then return old; end if;  -- the ledger-created was refused, so the ledger has no entry
  elsif new.ledger_id = old.ledger_id and new.size = old.size and new.chain = old.chain then
    -- Without a new key, only `closed` changes. Privileges limit who may change it.
    if new.envelope_kid = old.envelope_kid then return new; end if;
    if exists (select from entries e where e.ledger_id = new.ledger_id and e.seq = new.size - 1
        and e.kind = 'server-key-rotated')
      and exists (select from server_keys k where k.kid = new.envelope_kid and k.use = 'envelope') then
      return new;
    end if;
  elsif new.ledger_id = old.ledger_id and new.envelope_kid = old.envelope_kid and new.size > old.size
    and exists (select from entries e
      where e.ledger_id = new.ledger_id and e.seq = new.size - 1 and e.chain = new.chain) then
    return new;
  end if;
  raise exception 'a chain head may only move forward, together with its entries'
    using errcode = 'integrity_constraint_violation', constraint = 'chain_heads_forward_only';
end $$;

-- Trigger: a record must have an entry that creates it.
create or replace function records_begin() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if exists (
    select from added a
    left join lateral (
      select true as known
      from entries e join record_transitions t on t.kind = e.kind and t.from_state = ''
      where e.ledger_id = a.ledger_id and e.seq = a.first_seq and e.subject_id = a.record_id and e.item_count is null
      offset 0
    ) entry on true
    where entry.known is null or a.payload is null or a.payload_erased_seq is not null
  ) then
    raise exception 'a record must come with an entry about it'
      using errcode = 'integrity_constraint_violation', constraint = 'records_begin';
  end if;
  return null;
end $$;

-- Trigger: all chunks of a batch are inserted together, with numbers from 0. They must have as many records as the
-- batch's entry states, with consecutive ids.
create or replace function batch_chunks_begin() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if exists (
    select from (
      select ledger_id, seq, sum(count) as records,
        last + 1 = count(*) and bool_and(count = 64 or chunk = last) and count(erased_seq) = 0 and count(content) = count(*)
          and count(distinct left(first_record_id::text, 33)) = 1 as whole
      from (select *, max(chunk) over (partition by ledger_id, seq) as last from added) n
      group by ledger_id, seq, last
    ) a
    left join lateral (
      select e.item_count from entries e where e.ledger_id = a.ledger_id and e.seq = a.seq offset 0
    ) entry on true
    where not a.whole or entry.item_count is distinct from a.records
  ) then
    raise exception 'the chunks of a batch must come with its entry and have as many records as it says'
      using errcode = 'integrity_constraint_violation', constraint = 'batch_chunks_begin';
  end if;
  return null;
end $$;

-- Returns a record's index in its batch: the low 12 bits of its id.
create or replace function place_in_batch(record_id uuid) returns int4
  language sql immutable strict parallel safe
  return (get_byte(uuid_send(record_id), 14) & 15) * 256 + get_byte(uuid_send(record_id), 15);

-- Returns whether the record is in a chunk. Otherwise it has a row of its own. A bit of the id encodes this
-- (constraints records_ids and batch_chunks_ids).
create or replace function is_of_batch(record_id uuid) returns boolean
  language sql immutable strict parallel safe
  return get_byte(uuid_send(record_id), 14) & 8 = 0;

-- Trigger: a chunk changes in two cases only: an erasure that has an entry, or the removal of content that the archive
-- has. An audit detects any other change, because the digests of all records are signed.
create or replace function batch_chunks_change() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if (new.ledger_id, new.seq, new.chunk, new.first_record_id, new.count)
      = (old.ledger_id, old.seq, old.chunk, old.first_record_id, old.count)
    and new.released_bytes is not distinct from old.released_bytes
    and new.erased_seq is distinct from old.erased_seq
    and exists (
      select from entries e join erasures x on x.ledger_id = e.ledger_id and x.seq = e.seq
      where e.ledger_id = new.ledger_id and e.seq = new.erased_seq and e.kind = 'payload-erased'
        and x.subject_id = e.subject_id and x.document = 'payload' and x.document_seq = new.seq
        and left(x.subject_id::text, 33) = left(new.first_record_id::text, 33)
        and place_in_batch(x.subject_id) between 64 * new.chunk and 64 * new.chunk + new.count - 1) then
    return new;
  end if;
  if (new.ledger_id, new.seq, new.chunk, new.first_record_id, new.count, new.released_bytes)
      = (old.ledger_id, old.seq, old.chunk, old.first_record_id, old.count, length(old.content))
    and new.content is null and new.erased_seq is not distinct from old.erased_seq
    and exists (
      select from archives a join archive_pieces p on p.ledger_id = a.ledger_id
      where a.ledger_id = new.ledger_id and p.from_seq <= new.seq and p.end_seq > new.seq and p.end_seq <= a.size
        and p.state = 'leaving') then
    return new;
  end if;
  raise exception 'a chunk of a batch may change only by an erasure with an entry, or when its content moves to the archive'
    using errcode = 'integrity_constraint_violation', constraint = 'batch_chunks_change';
end $$;

-- Trigger: a record never changes, except that an erasure sets its documents to null.
create or replace function records_change() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if exists (
    select from before b
    full join after a on a.ledger_id = b.ledger_id and a.record_id = b.record_id
    left join lateral (
      select true as known from entries e
      where e.ledger_id = a.ledger_id and e.seq = a.payload_erased_seq and e.kind = 'payload-erased'
        and e.subject_id = a.record_id
      offset 0
    ) erasure on true
    where a.record_id is null or b.record_id is null
      or (a.type, a.first_seq, a.actor_id, a.on_behalf_of, a.occurred_at, a.traceparent, a.digest, a.parent_id, a.other_members)
        is distinct from
         (b.type, b.first_seq, b.actor_id, b.on_behalf_of, b.occurred_at, b.traceparent, b.digest, b.parent_id, b.other_members)
      or ((a.payload, a.salt, a.metadata, a.reference_list, a.payload_erased_seq)
          is distinct from (b.payload, b.salt, b.metadata, b.reference_list, b.payload_erased_seq)
        and not (b.payload_erased_seq is null and erasure.known is not null
          and a.payload is null and a.salt is null and a.metadata is null and a.reference_list is null))
      -- A label is removed only together with the payload or after it.
      or (a.subject is distinct from b.subject and not (a.subject is null and a.payload_erased_seq is not null))
  ) then
    raise exception 'a record may change only by an erasure with an entry'
      using errcode = 'integrity_constraint_violation', constraint = 'records_change';
  end if;
  return null;
end $$;

-- Trigger: a gated record is inserted with the entry that creates it and must match that entry. Its principal is the
-- party of the entry. Also stores the record's deadline in open_deadlines.
create or replace function gated_records_begin() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if exists (
    select from added a
    left join lateral (
      select true as known
      from entries e join record_transitions t on t.kind = e.kind and t.from_state = '' and t.to_state = a.state
      where e.ledger_id = a.ledger_id and e.seq = a.first_seq and e.kind = 'record-created' and e.subject_id = a.record_id
      offset 0
    ) entry on true
    left join lateral (
      select coalesce(r.on_behalf_of, r.actor_id) as party_id from records r
      where r.ledger_id = a.ledger_id and r.record_id = a.record_id and r.first_seq = a.first_seq
      offset 0
    ) record on true
    where entry.known is null or record.party_id is distinct from a.principal_id
      or (a.version, a.last_seq, a.revisions) is distinct from (1, a.first_seq, 0)
  ) then
    raise exception 'a gated record must come with the entry that creates it'
      using errcode = 'integrity_constraint_violation', constraint = 'gated_records_begin';
  end if;
  insert into open_deadlines (ledger_id, record_id, deadline)
  select ledger_id, record_id, deadline from added where deadline is not null;
  return null;
end $$;

-- Returns whether a gated record waits for the worker: for a verification, or for the verdict of an `auto` gate.
create or replace function waits_for_worker(state text, gate text) returns boolean
  language sql immutable parallel safe
  return state = 'SUBMITTED' or gate = 'auto' and state in ('VERIFIED', 'DISCREPANT');

-- Trigger: a gated record changes as record_transitions allows, one version at a time, with an entry for each step.
-- Terms never change, except that the activation sets the performer. A revision-requested increases `revisions` by one.
--
-- Also updates waiting_completions and open_deadlines. Their rows are deleted one by one, by key. A join is not used,
-- because a session would keep a plan that was made for few rows. The ctid is not used either. It changes when a worker
-- stores a job in the row, and the row would then not be deleted.
create or replace function gated_records_change() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
declare
  gone record;
begin
  if exists (
    select from before b
    full join after a on a.ledger_id = b.ledger_id and a.record_id = b.record_id
    left join lateral (
      select e.kind from entries e
      where e.ledger_id = a.ledger_id and e.seq = a.last_seq and e.subject_id = a.record_id
        and e.version = a.version and e.prev_seq = b.last_seq
      offset 0
    ) step on true
    where a.record_id is null or b.record_id is null
      or (a.first_seq, a.principal_id, a.gate, a.deadline, a.max_revisions, a.tolerances)
        is distinct from (b.first_seq, b.principal_id, b.gate, b.deadline, b.max_revisions, b.tolerances)
      or ((a.state, a.version, a.last_seq, a.performer_id, a.revisions)
          is distinct from (b.state, b.version, b.last_seq, b.performer_id, b.revisions)
        and not (a.version = b.version + 1
          and a.performer_id is not distinct from
            case when step.kind = 'record-activated' then coalesce(b.performer_id, a.performer_id) else b.performer_id end
          and a.revisions = b.revisions + (step.kind = 'revision-requested')::int4
          and exists (
            select from record_transitions t
            where t.from_state = b.state and t.kind = step.kind and t.to_state = a.state)))
  ) then
    raise exception 'a gated record may change only by a known transition with an entry'
      using errcode = 'integrity_constraint_violation', constraint = 'gated_records_change';
  end if;
  for gone in select ledger_id, last_seq from before where waits_for_worker(state, gate) loop
    delete from waiting_completions w where w.ledger_id = gone.ledger_id and w.seq = gone.last_seq;
  end loop;
  insert into waiting_completions (ledger_id, seq, record_id)
  select ledger_id, last_seq, record_id from after where waits_for_worker(state, gate);
  for gone in select ledger_id, record_id from after where deadline is not null and state not in ('CREATED', 'ACTIVE') loop
    delete from open_deadlines d where d.ledger_id = gone.ledger_id and d.record_id = gone.record_id;
  end loop;
  insert into open_deadlines (ledger_id, record_id, deadline)
  select ledger_id, record_id, deadline from after where deadline is not null and state in ('CREATED', 'ACTIVE')
  on conflict do nothing;
  return null;
end $$;

-- Trigger: a document is inserted together with the entry that contains its digest. For evidence that an agent offers
-- to another ledger, this entry is the offer. Only an erasure sets the content of a document to null.
create or replace function documents_keep() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if new.content is not null and exists (
      select from entries e
      where e.ledger_id = new.ledger_id and e.seq = new.seq and case new.document
          when 'evidence' then e.kind in ('completion-submitted', 'step-offered')
          when 'values' then e.kind = 'completion-verified'
          else e.subject_id = new.subject_id
            and e.kind in ('verdict-rendered', 'verdict-overturned', 'revision-requested', 'record-cancelled')
        end) then
      return new;
    end if;
  elsif (new.ledger_id, new.seq, new.document, new.subject_id, new.digest)
      = (old.ledger_id, old.seq, old.document, old.subject_id, old.digest)
    and old.erased_seq is null
    and exists (
      select from entries e where e.ledger_id = new.ledger_id and e.seq = new.erased_seq
        and e.kind = 'payload-erased' and e.subject_id = new.subject_id)
    and exists (
      select from erasures x where x.ledger_id = new.ledger_id and x.subject_id = new.subject_id
        and x.document = new.document and x.document_seq = new.seq and x.seq = new.erased_seq) then
    return new;
  end if;
  raise exception 'a document may be added only with its entry, and removed only by an erasure'
    using errcode = 'integrity_constraint_violation', constraint = 'documents_keep';
end $$;

-- Trigger: an idempotency key stays when the payload of its request is erased. Its fingerprint is removed with the
-- payload, because the content of a short request could be guessed from the fingerprint.
create or replace function idempotency_keys_change() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if (new.ledger_id, new.actor_id, new.key_hash, new.seq) = (old.ledger_id, old.actor_id, old.key_hash, old.seq)
    and new.salt is null and (
      exists (
        select from records r join erasures e on e.ledger_id = r.ledger_id and e.subject_id = r.record_id
          and e.document = 'payload' and e.document_seq = r.first_seq
        where r.ledger_id = old.ledger_id and r.first_seq = old.seq)
      or exists (select from batch_chunks c where c.ledger_id = old.ledger_id and c.seq = old.seq and c.erased_seq is not null)
      or exists (select from documents d where d.ledger_id = old.ledger_id and d.seq = old.seq and d.erased_seq is not null)
    ) then
    return new;
  end if;
  raise exception 'an idempotency key may only lose its fingerprint, and only by an erasure'
    using errcode = 'integrity_constraint_violation', constraint = 'idempotency_keys_append_only';
end $$;

-- Trigger: a checkpoint and its note must agree with the chain. Each checkpoint is larger than all earlier ones.
create or replace function checkpoints_agree() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if not exists (select from entries e
      where e.ledger_id = new.ledger_id and e.seq = new.size - 1 and e.chain = new.chain)
    or exists (select from checkpoints c where c.ledger_id = new.ledger_id and c.size >= new.size)
    -- The note must begin with three lines: the origin, the size and the root (C2SP tlog-checkpoint).
    or not exists (select from ledgers l where l.ledger_id = new.ledger_id
      and starts_with(new.note, format(E'%s\n%s\n%s\n', l.origin, new.size, encode(new.root, 'base64')))) then
    raise exception 'a checkpoint must match the chain and extend the checkpoints before it'
      using errcode = 'integrity_constraint_violation', constraint = 'checkpoints_agree';
  end if;
  return new;
end $$;

-- Trigger: the stored tree only grows. The size of a frontier increases. A tile gets further hashes, and its earlier
-- hashes stay.
create or replace function tree_grows() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if tg_table_name = 'tree_frontiers' then
    if new.ledger_id = old.ledger_id and new.size > old.size then return new; end if;
  elsif (new.ledger_id, new.level, new.tile_index) = (old.ledger_id, old.level, old.tile_index)
    and substr(new.hashes, 1, length(old.hashes)) = old.hashes then
    return new;
  end if;
  raise exception 'the stored tree may only grow'
    using errcode = 'integrity_constraint_violation', constraint = tg_table_name || '_grow';
end $$;

-- Trigger: the tree that was cosigned for a peer only grows. A stored fork never changes.
create or replace function peer_witnesses_grow() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if (new.ledger_id, new.peer_id) = (old.ledger_id, old.peer_id)
    and (old.seen_size is null or new.seen_size > old.seen_size
      or (new.seen_size, new.seen_root) = (old.seen_size, old.seen_root))
    and (old.fork_note is null or (new.fork_note, new.fork_held) = (old.fork_note, old.fork_held)) then
    return new;
  end if;
  raise exception 'the cosigned size of a peer may only grow'
    using errcode = 'integrity_constraint_violation', constraint = 'peer_witnesses_grow';
end $$;

-- Trigger: the rows of a ledger do not change while the ledger is moved to another database, or after it was moved.
--
-- Raises 55000. If the worker updates or deletes, the trigger skips the row instead, because a statement of the worker
-- may affect rows of many ledgers.
create or replace function refuse_while_moving() returns trigger language plpgsql security definer
  set search_path = tallystick, pg_temp as $$
declare
  ledger constant uuid := case tg_op when 'DELETE' then old.ledger_id else new.ledger_id end;
begin
  if not exists (select from chain_heads h where h.ledger_id = ledger and h.closed in ('moving', 'moved')) then
    return case tg_op when 'DELETE' then old else new end;
  end if;
  if has_table_privilege(session_user, 'tallystick.checkpoints', 'insert') then return null; end if;
  raise exception 'the ledger is being moved to another database'
    using errcode = 'object_not_in_prerequisite_state', constraint = 'ledger_moving';
end $$;

-- Trigger: no rows are added to a ledger while the ledger is moved to another database, or after it was moved. Raises
-- 55000. Runs once for each statement, because one statement adds up to 500 received entries of a peer. As a trigger of
-- each row it took a sixth of Postgres' time of a received entry.
create or replace function refuse_inserts_while_moving() returns trigger language plpgsql security definer
  set search_path = tallystick, pg_temp as $$
begin
  if exists (
    select from (select distinct a.ledger_id from added a) a
    cross join lateral (
      select from chain_heads h where h.ledger_id = a.ledger_id and h.closed in ('moving', 'moved') offset 0
    ) h) then
    raise exception 'the ledger is being moved to another database'
      using errcode = 'object_not_in_prerequisite_state', constraint = 'ledger_moving';
  end if;
  return null;
end $$;

-- Trigger: an archive piece never changes, except that its state advances from `kept` through `leaving` to `left`. A
-- piece can be deleted only in state `kept`. In the other states the archive may have the only copy of its content.
create or replace function archive_pieces_change() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if tg_op = 'DELETE' and old.state = 'kept' then return old; end if;
  if tg_op = 'UPDATE' and (new.ledger_id, new.from_seq, new.end_seq, new.lines_digest, new.lines_bytes)
      = (old.ledger_id, old.from_seq, old.end_seq, old.lines_digest, old.lines_bytes)
    and (new.documents_digest, new.documents_bytes) is not distinct from (old.documents_digest, old.documents_bytes)
    and (old.state, new.state) in (('kept', 'leaving'), ('leaving', 'leaving'), ('leaving', 'left')) then
    return new;
  end if;
  raise exception 'a piece of an archive cannot be removed or changed: it has the only copy of its content'
    using errcode = 'integrity_constraint_violation', constraint = 'archive_pieces_change';
end $$;
