-- serves: 0007
-- Federation (docs/formats/federation.md): peerings of a ledger with ledgers of other servers, what is shared with them, and what
-- came from them. What came is evidence: its envelopes lie beside the entries that received them. How far a peer has heard is none.

set local search_path = tallystick;

insert into entry_kinds (kind, record_event, worker_only) values
  ('peer-added', false, false),
  ('peer-suspended', false, false),
  ('peer-resumed', false, false),
  ('peer-revoked', false, false),
  ('peer-key-rotated', false, false),
  ('record-shared', false, false),
  ('entry-received', false, false),
  ('step-offered', false, false),
  ('offer-refused', false, false);

-- ---------------------------------------------------------------------------------------------------------
-- Peerings
-- ---------------------------------------------------------------------------------------------------------

create table peers (
  ledger_id uuid not null references ledgers,
  peer_id uuid not null,                  -- the same on both sides
  name text not null check (length(name) between 1 and 256),
  role text not null check (role in ('inviter', 'invited')),
  state text not null check (state in ('invited', 'pending', 'active', 'suspended', 'revoked')),
  created_by uuid not null,
  created_at timestamptz not null default clock_timestamp(),
  token_hash bytea not null check (length(token_hash) = 32),
  expires_at timestamptz not null,        -- of the invitation
  sealed_token bytea check (length(sealed_token) <= 256),  -- of the invited, until the handshake is done
  -- Both identities, canonical JSON: of the inviter it is fixed by the invitation, of the invited by the handshake.
  inviter text not null check (length(inviter) <= 4096),
  invited text check (length(invited) <= 4096),
  remote_ledger_id uuid,
  remote_url text check (length(remote_url) <= 2048),
  handshake bytea check (length(handshake) = 32),
  added_seq bigint,
  added_leaf bytea check (length(added_leaf) = 32),
  counterpart bytea check (length(counterpart) = 32),      -- the leaf of the other side's peer-added
  revoked_seq bigint,
  primary key (ledger_id, peer_id),
  constraint peers_known check (state = 'invited' or state = 'revoked' or remote_ledger_id is not null),
  constraint peers_added check (state in ('invited', 'pending', 'revoked') or (added_seq is not null and handshake is not null))
);
-- One that lives, of each other ledger.
create unique index peers_remote on peers (ledger_id, remote_ledger_id) where state <> 'revoked' and remote_ledger_id is not null;

-- The keys of the other ledger, as its chain named them. `until_seq`: the entry of that chain which is the last one under it.
create table peer_keys (
  ledger_id uuid not null,
  peer_id uuid not null,
  kid bytea not null check (length(kid) = 32),
  alg text not null check (alg in ('EdDSA', 'ES256')),
  spki bytea not null check (length(spki) <= 256),
  since timestamptz not null default clock_timestamp(),
  until_seq bigint check (until_seq >= 0),
  primary key (ledger_id, peer_id, kid),
  foreign key (ledger_id, peer_id) references peers
);
create unique index peer_keys_current on peer_keys (ledger_id, peer_id) where until_seq is null;

-- One request of a peering at a time, whichever server it came to. A row of its own: peers is written under the chain's head.
create table peer_inboxes (
  ledger_id uuid not null,
  peer_id uuid not null,
  primary key (ledger_id, peer_id),
  foreign key (ledger_id, peer_id) references peers
);
create table peer_nonces (
  ledger_id uuid not null,
  peer_id uuid not null,
  nonce bytea not null check (length(nonce) = 16),
  seen_at timestamptz not null default clock_timestamp(),
  primary key (ledger_id, peer_id, nonce)
);

-- ---------------------------------------------------------------------------------------------------------
-- What is shared, by its home
-- ---------------------------------------------------------------------------------------------------------

create table shared_records (
  ledger_id uuid not null,
  record_id uuid not null,
  peer_id uuid not null,
  documents text not null check (documents in ('whole', 'digests')),
  shared_seq bigint not null,
  primary key (ledger_id, record_id, peer_id),
  foreign key (ledger_id, peer_id) references peers
);
create index shared_records_by_peer on shared_records (ledger_id, peer_id, record_id);

-- A performer of another ledger is stored under an id that no agent of this one can have (src/proof/statement/remote-agents.ts); its name
-- `led_…/agt_…`.
alter table gated_records add column performer_remote text check (performer_remote like 'led\_%/agt\_%');

-- ---------------------------------------------------------------------------------------------------------
-- What came
-- ---------------------------------------------------------------------------------------------------------

-- The other ledger's entry, beside the entry of ours that received it: an entry-received, or of an offer the step that took it
-- or the offer-refused; of a rotation, the peer-key-rotated.
create table received_entries (
  ledger_id uuid not null,
  seq bigint not null,
  peer_id uuid not null,
  remote_seq bigint not null check (remote_seq >= 0),
  kind text not null,
  record_id uuid,
  version int4 check (version >= 1),      -- of an event of a record
  leaf bytea not null check (length(leaf) = 32),
  envelope bytea not null check (length(envelope) between 1 and 32768),
  primary key (ledger_id, seq),
  foreign key (ledger_id, peer_id) references peers,
  constraint received_entries_leaf check (leaf = sha256('\x00'::bytea || envelope)),
  constraint received_entries_once unique (ledger_id, peer_id, remote_seq)
);
-- The other ledger's record, step by step.
create unique index received_entries_by_record on received_entries (ledger_id, peer_id, record_id, version)
  where version is not null;

create index received_entries_about_record on received_entries (ledger_id, peer_id, record_id, remote_seq)
  where version is null and record_id is not null;

-- A document that the other ledger digests, as it was shown.
create table received_documents (
  ledger_id uuid not null,
  seq bigint not null,
  subject text not null check (length(subject) <= 80),
  digest bytea not null check (length(digest) = 32),
  salt bytea check (length(salt) = 16),
  content bytea check (length(content) between 2 and 65536),       -- canonical JSON
  reference_list bytea check (length(reference_list) between 2 and 4096),
  erased_seq bigint check (erased_seq > seq),
  primary key (ledger_id, seq),
  foreign key (ledger_id, seq) references received_entries,
  constraint received_documents_content_or_erased check ((content is null) = (salt is null)
    and (content is null) = (erased_seq is not null))
);

create table received_types (
  ledger_id uuid not null,
  peer_id uuid not null,
  digest bytea not null check (length(digest) = 32),
  name text not null check (length(name) <= 80),
  definition bytea not null check (length(definition) <= 65536),
  primary key (ledger_id, peer_id, digest),
  foreign key (ledger_id, peer_id) references peers,
  constraint received_types_digest check (digest = sha256(definition))
);

-- Where a record of the other ledger stands, by what came. `standing`: what the next step is held to (src/proof/ledger/gated-record.ts).
create table remote_records (
  ledger_id uuid not null,
  record_id uuid not null,
  peer_id uuid not null,
  type text not null check (length(type) <= 80),
  documents text not null check (documents in ('whole', 'digests')),
  state text not null,
  version int4 not null check (version >= 1),
  leaf bytea not null check (length(leaf) = 32),
  standing text not null check (length(standing) <= 8192),
  first_seq bigint not null,
  last_seq bigint not null,
  -- another peer may say that it has a record of the same id
  primary key (ledger_id, record_id, peer_id),
  foreign key (ledger_id, peer_id) references peers
) with (autovacuum_vacuum_scale_factor = 0.02);
create index remote_records_by_peer on remote_records (ledger_id, peer_id, record_id);

-- A step that an agent of ours took of the other ledger's record, and what became of it.
create table offers (
  ledger_id uuid not null,
  seq bigint not null,
  peer_id uuid not null,
  record_id uuid not null,
  version int4 not null check (version >= 2),
  step text not null check (step in ('record-activated', 'completion-submitted')),
  agent_id uuid not null,
  leaf bytea not null check (length(leaf) = 32),
  state text not null default 'pending' check (state in ('pending', 'taken', 'refused')),
  code text check (length(code) <= 64),
  decided_seq bigint check (decided_seq > seq),
  primary key (ledger_id, seq),
  foreign key (ledger_id, peer_id) references peers,
  constraint offers_decided check ((state = 'pending') = (decided_seq is null) and (state = 'refused') = (code is not null))
);
create unique index offers_pending on offers (ledger_id, record_id, peer_id) where state = 'pending';
create index offers_by_record on offers (ledger_id, record_id, peer_id, seq);

-- Another entry in a place that is taken: refused, and kept.
create table peer_forks (
  ledger_id uuid not null,
  peer_id uuid not null,
  leaf bytea not null check (length(leaf) = 32),
  remote_seq bigint not null,
  record_id uuid,
  version int4,
  held_leaf bytea not null check (length(held_leaf) = 32),
  envelope bytea not null check (length(envelope) between 1 and 32768),
  seen_at timestamptz not null default clock_timestamp(),
  primary key (ledger_id, peer_id, leaf),
  foreign key (ledger_id, peer_id) references peers
);

-- ---------------------------------------------------------------------------------------------------------
-- What the other side has heard: the worker's, and no evidence but the receipts
-- ---------------------------------------------------------------------------------------------------------

create table peer_cursors (
  ledger_id uuid not null,
  peer_id uuid not null,
  next_seq bigint not null check (next_seq >= 0),
  -- the key of ours that the other side is known to know
  known_kid bytea not null check (length(known_kid) = 32),
  job_id uuid,
  leased_until timestamptz,
  served_at timestamptz not null default '-infinity',
  failures int4 not null default 0 check (failures >= 0),
  failing_since timestamptz,
  last_error text check (length(last_error) <= 1000),
  last_success_at timestamptz,
  resume_at timestamptz,
  -- what the other side said that it holds, when it was last asked
  summary text,
  summary_at timestamptz,
  summary_wanted boolean not null default false,
  primary key (ledger_id, peer_id),
  foreign key (ledger_id, peer_id) references peers
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

-- Where the ledger's key was replaced: peers are told before anything else. (Along the chain it would be looked for in vain.)
create table ledger_rotations (
  ledger_id uuid not null references ledgers,
  seq bigint not null,
  new_kid bytea not null check (length(new_kid) = 32),
  primary key (ledger_id, seq)
);

-- What is to be sent (again) though the cursor is past it: of a record, what is shared of it from from_seq on.
create table peer_backlog (
  ledger_id uuid not null,
  peer_id uuid not null,
  record_id uuid not null,
  from_seq bigint not null,
  primary key (ledger_id, peer_id, record_id),
  foreign key (ledger_id, peer_id) references peers
);

-- The other side's signed answer to an entry of ours.
create table peer_receipts (
  ledger_id uuid not null,
  seq bigint not null,
  peer_id uuid not null,
  envelope bytea not null check (length(envelope) between 1 and 32768),
  primary key (ledger_id, seq, peer_id),
  foreign key (ledger_id, peer_id) references peers
);
create index peer_receipts_by_peer on peer_receipts (ledger_id, peer_id, seq);

-- What the other side refused for good. Later entries of that record wait.
create table peer_dead_letters (
  ledger_id uuid not null,
  peer_id uuid not null,
  seq bigint not null,
  record_id uuid,
  kind text not null,
  code text not null check (length(code) <= 64),
  detail text check (length(detail) <= 1000),
  died_at timestamptz not null default clock_timestamp(),
  primary key (ledger_id, peer_id, seq),
  foreign key (ledger_id, peer_id) references peers
);
create index peer_dead_letters_by_record on peer_dead_letters (ledger_id, peer_id, record_id);

-- ---------------------------------------------------------------------------------------------------------
-- Guards
-- ---------------------------------------------------------------------------------------------------------

create trigger received_entries_append_only before update or delete on received_entries
  for each row execute function refuse_change();
create trigger received_entries_no_truncate before truncate on received_entries
  for each statement execute function refuse_change();
create trigger peer_keys_no_delete before delete on peer_keys
  for each row execute function refuse_change();
create trigger peer_forks_append_only before update or delete on peer_forks
  for each row execute function refuse_change();

-- The evidence that an agent of ours offers lies with its offer.
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
  raise exception 'a document comes with its entry, and goes with an erasure'
    using errcode = 'integrity_constraint_violation', constraint = 'documents_keep';
end $$;

-- ---------------------------------------------------------------------------------------------------------
-- What entries say about peers. `details` as in append_details, by kind; called for whatever has one.
-- ---------------------------------------------------------------------------------------------------------

create function append_federation(
  ledger_ids uuid[], kinds text[], subject_ids uuid[], leaves bytea[], details text[], outcomes int2[], seqs bigint[]
) returns void
language plpgsql
set search_path = tallystick, pg_temp
as $$
declare
  expected bigint;
  changed bigint;
begin
  -- Peerings begin and change by their entries, along their states, each once.
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
      raise exception 'a peering changes along its states, once' using errcode = 'integrity_constraint_violation', constraint = 'peers_state';
    end if;
    -- What the entries before it say is none of the other side's business, but this one may be.
    insert into peer_keys (ledger_id, peer_id, kid, alg, spki)
    select i.ledger_id, i.peer_id, decode(d.kid, 'hex'), d.alg, decode(d.spki, 'base64')
    from unnest(ledger_ids, kinds, subject_ids, details, outcomes) i (ledger_id, kind, peer_id, detail, outcome)
    left join lateral json_to_record(i.detail::json) d (kid text, alg text, spki text) on true
    where i.outcome = 0 and i.kind = 'peer-added';
    insert into peer_inboxes (ledger_id, peer_id)
    select i.ledger_id, i.peer_id
    from unnest(ledger_ids, kinds, subject_ids, outcomes) i (ledger_id, kind, peer_id, outcome)
    where i.outcome = 0 and i.kind = 'peer-added';
    -- The invited's own is the first that it sends; the inviter's went back in an answer.
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

  -- What is shared with whom: from its first entry on, or from one that says so later.
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
      raise exception 'a record is shared with a peer' using errcode = 'integrity_constraint_violation', constraint = 'shared_records_peer';
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
      raise exception 'a completion is offered with its evidence'
        using errcode = 'integrity_constraint_violation', constraint = 'entries_make_documents';
    end if;
  end if;

  perform append_received(ledger_ids, kinds, subject_ids, details, outcomes, seqs);
end $$;

-- What came, with the entries that received it. `details.received`: the other ledger's entry; beside it what follows from it.
create function append_received(
  ledger_ids uuid[], kinds text[], subject_ids uuid[], details text[], outcomes int2[], seqs bigint[]
) returns void
language plpgsql
set search_path = tallystick, pg_temp
as $$
declare
  -- Of each entry that receives one the members of its detail, some 5 KB: parsed once, and not again by each statement.
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
  -- The home's own step says other things beside it.
  left join lateral (select d.document, d.type, d.standing, d.offer, d.erased, d.peer) m on i.kind = 'entry-received'
  where i.outcome = 0 and (i.kind in ('entry-received', 'offer-refused', 'peer-key-rotated')
    or i.kind in ('record-activated', 'completion-submitted') and i.detail is not null);
  if came_seqs is null then return; end if;

  insert into received_entries (ledger_id, seq, peer_id, remote_seq, kind, record_id, version, leaf, envelope)
  select i.ledger_id, i.seq, r."peerId", r.seq, r.kind, r."recordId", r.version, decode(r.leaf, 'hex'), decode(r.envelope, 'base64')
  from unnest(came_ledgers, came_seqs, came_entries) i (ledger_id, seq, received)
  left join lateral json_to_record(i.received)
    r ("peerId" uuid, seq bigint, kind text, "recordId" uuid, version int4, leaf text, envelope text) on true;

  -- The other side's part of the handshake, or its end.
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
      raise exception 'a peering changes along its states, once' using errcode = 'integrity_constraint_violation', constraint = 'peers_state';
    end if;
  end if;

  if exists (
    select from unnest(came_ledgers, came_seqs) i (ledger_id, seq)
    join received_entries r on r.ledger_id = i.ledger_id and r.seq = i.seq
    join peers p on p.ledger_id = r.ledger_id and p.peer_id = r.peer_id
    where not case r.kind when 'peer-revoked' then p.state = 'revoked'
        when 'server-key-rotated' then p.state in ('pending', 'active') else p.state = 'active' end) then
    raise exception 'the peering is not active' using errcode = 'integrity_constraint_violation', constraint = 'peers_state';
  end if;

  insert into received_documents (ledger_id, seq, subject, digest, salt, content, reference_list)
  select i.ledger_id, i.seq, d.subject, decode(d.digest, 'hex'), decode(d.salt, 'hex'), convert_to(d.content, 'UTF8'),
    convert_to(n.reference_list, 'UTF8')
  from unnest(came_ledgers, came_seqs, came_documents) i (ledger_id, seq, document)
  cross join lateral json_to_record(i.document)
    d (subject text, digest text, salt text, content text, "references" text)
  cross join lateral (select d."references" as reference_list) n
  where d.subject is not null;

  insert into received_types (ledger_id, peer_id, digest, name, definition)
  select i.ledger_id, d."peerId", sha256(convert_to(d.definition, 'UTF8')), d.name, convert_to(d.definition, 'UTF8')
  from unnest(came_ledgers, came_types) i (ledger_id, type)
  cross join lateral json_to_record(i.type) d ("peerId" uuid, name text, definition text)
  where d.name is not null
  on conflict do nothing;

  -- Of several steps of a record in one call the last one tells where it stands.
  with item as (
    select distinct on (i.ledger_id, d."recordId") i.ledger_id, d.*, i.seq,
      min(i.seq) over (partition by i.ledger_id, d."recordId") as first_seq
    from unnest(came_ledgers, came_seqs, came_standings) i (ledger_id, seq, standing)
    cross join lateral json_to_record(i.standing)
      d ("peerId" uuid, "recordId" uuid, type text, documents text, state text, version int4, leaf text, standing text)
    where d."recordId" is not null
    order by i.ledger_id, d."recordId", d.version desc
  )
  insert into remote_records as r (ledger_id, record_id, peer_id, type, documents, state, version, leaf, standing, first_seq, last_seq)
  select ledger_id, "recordId", "peerId", type, documents, state, version, decode(leaf, 'hex'), standing, first_seq, seq from item
  on conflict on constraint remote_records_pkey do update set
    state = excluded.state, version = excluded.version, leaf = excluded.leaf, standing = excluded.standing,
    last_seq = excluded.last_seq;

  -- What became of an offer of ours.
  update offers o set state = d.state, code = d.code, decided_seq = i.seq
  from unnest(came_ledgers, came_seqs, came_offers) i (ledger_id, seq, offer)
  cross join lateral json_to_record(i.offer) d (seq bigint, state text, code text)
  -- So written that the plan looks each up by its key, and does not read all that are pending (28 ms for 80 of them).
  where d.state is not null and o.ledger_id = i.ledger_id and o.seq = d.seq and o.state <> all ('{taken,refused}');

  -- What its home erased goes here too.
  update received_documents x set salt = null, content = null, reference_list = null, erased_seq = i.seq
  from unnest(came_ledgers, came_seqs, came_erasures) i (ledger_id, seq, erased)
  cross join lateral json_to_record(i.erased) d ("peerId" uuid, "remoteSeq" bigint)
  join received_entries r on r.ledger_id = i.ledger_id and r.peer_id = d."peerId" and r.remote_seq = d."remoteSeq"
  where x.ledger_id = r.ledger_id and x.seq = r.seq and x.erased_seq is null;

  -- Whoever sends can be sent to.
  update peer_cursors c set resume_at = null
  from (
    select distinct r.ledger_id, r.peer_id from unnest(came_ledgers, came_seqs) i (ledger_id, seq)
    join received_entries r on r.ledger_id = i.ledger_id and r.seq = i.seq
  ) i
  where c.ledger_id = i.ledger_id and c.peer_id = i.peer_id and c.resume_at > now() + interval '1 second';

  -- The other ledger's new key, named by its old one.
  if 'peer-key-rotated' = any (kinds) then
    update peer_keys k set until_seq = r.seq
    from unnest(ledger_ids, kinds, details, outcomes) i (ledger_id, kind, detail, outcome)
    cross join lateral json_to_record(i.detail::json -> 'received') r ("peerId" uuid, seq bigint)
    where i.outcome = 0 and i.kind = 'peer-key-rotated'
      and k.ledger_id = i.ledger_id and k.peer_id = r."peerId" and k.until_seq is null;
    insert into peer_keys (ledger_id, peer_id, kid, alg, spki)
    select i.ledger_id, d."peerId", decode(d.kid, 'hex'), d.alg, decode(d.spki, 'base64')
    from unnest(ledger_ids, kinds, details, outcomes) i (ledger_id, kind, detail, outcome)
    cross join lateral json_to_record(i.detail::json -> 'key') d ("peerId" uuid, kid text, alg text, spki text)
    where i.outcome = 0 and i.kind = 'peer-key-rotated';
  end if;
end $$;

-- append_entries calls it: its text is that of 0006 but for this.
do $do$
declare
  before text := pg_get_functiondef('append_entries'::regproc);
  old constant text := 'if array_position(versions, null) is not null then
    perform append_details(ledger_ids, kinds, subject_ids, details, outcomes, seqs);
  end if;';
  -- The evidence that comes with an offer is no completion's; append_federation holds the two to each other.
  documents constant text := 'n.document in (''evidence'', ''values'')) then';
begin
  if position(old in before) = 0 or position(documents in before) = 0 then
    raise exception 'append_entries is not that of migration 0006';
  end if;
  before := replace(before, documents, 'n.document in (''evidence'', ''values'') and kinds[n.item] <> ''step-offered'') then');
  execute replace(before, old, old || '
  -- And about peers; of records, what is shared and what was offered (0009).
  if num_nonnulls(variadic details) > 0 then
    perform append_federation(ledger_ids, kinds, subject_ids, leaves, details, outcomes, seqs);
  end if;');
end $do$;

-- ---------------------------------------------------------------------------------------------------------
-- What the API's login may ask for
-- ---------------------------------------------------------------------------------------------------------

-- Answers whether the nonce is new. What follows in this transaction has the peering for itself.
create function begin_peer_request(ledger uuid, peer uuid, request_nonce bytea) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  perform from peer_inboxes i where i.ledger_id = ledger and i.peer_id = peer for update;
  -- For longer than a request may be old or early, on both sides.
  delete from peer_nonces n where n.ledger_id = ledger and n.peer_id = peer and n.seen_at < clock_timestamp() - interval '150 seconds';
  insert into peer_nonces (ledger_id, peer_id, nonce) values (ledger, peer, request_nonce) on conflict do nothing;
  return found;
end $$;

-- Answers false where there are too many already.
create function invite_peer(
  ledger uuid, peer uuid, peer_name text, agent uuid, token_hash bytea, expires timestamptz, inviter text, open_max int4, peers_max int4
) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  perform from ledgers l where l.ledger_id = ledger for no key update;
  if (select count(*) from peers p where p.ledger_id = ledger and p.state = 'invited' and p.expires_at > now()) >= open_max
    or (select count(*) from peers p where p.ledger_id = ledger and p.state not in ('invited', 'revoked')) >= peers_max then
    return false;
  end if;
  -- Nobody can use these any more.
  delete from peers p where p.ledger_id = ledger and p.state = 'invited' and p.expires_at < now() - interval '30 days';
  insert into peers (ledger_id, peer_id, name, role, state, created_by, token_hash, expires_at, inviter)
  values (ledger, peer, peer_name, 'inviter', 'invited', agent, token_hash, expires, inviter);
  return true;
end $$;

create function accept_peer(
  ledger uuid, peer uuid, peer_name text, agent uuid, token_hash bytea, expires timestamptz, sealed bytea,
  inviter text, remote_ledger uuid, url text, own_kid bytea, peers_max int4
) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  perform from ledgers l where l.ledger_id = ledger for no key update;
  if (select count(*) from peers p where p.ledger_id = ledger and p.state not in ('invited', 'revoked')) >= peers_max then
    return false;
  end if;
  insert into peers (ledger_id, peer_id, name, role, state, created_by, token_hash, expires_at, sealed_token, inviter,
    remote_ledger_id, remote_url)
  values (ledger, peer, peer_name, 'invited', 'pending', agent, token_hash, expires, sealed, inviter, remote_ledger, url);
  insert into peer_cursors (ledger_id, peer_id, next_seq, known_kid) values (ledger, peer, 0, own_kid);
  return true;
end $$;

-- One that has no entry yet: an invitation that nobody took, or one that this side has taken and not carried out.
create function withdraw_peer(ledger uuid, peer uuid) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  update peers p set state = 'revoked', sealed_token = null
  where p.ledger_id = ledger and p.peer_id = peer and p.added_seq is null and p.state in ('invited', 'pending');
  return found;
end $$;

create function keep_fork(
  ledger uuid, peer uuid, fork_leaf bytea, at bigint, record uuid, record_version int4, held bytea, fork bytea, forks_max int4
) returns void
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  if (select count(*) from (select from peer_forks f where f.ledger_id = ledger and f.peer_id = peer limit forks_max) f) >= forks_max then
    return;
  end if;
  insert into peer_forks (ledger_id, peer_id, leaf, remote_seq, record_id, version, held_leaf, envelope)
  values (ledger, peer, fork_leaf, at, record, record_version, held, fork) on conflict do nothing;
end $$;

-- Sends what was refused once more, and what waits behind it. `at`: the seqs; null: all of them. How many dead letters there were.
create function replay_peer(ledger uuid, peer uuid, at bigint[]) returns bigint
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  replayed bigint;
begin
  with gone as (
    delete from peer_dead_letters d
    where d.ledger_id = ledger and d.peer_id = peer and (at is null or d.seq = any (at))
      -- What the other side does not take of the peering itself, it takes in no second attempt.
      and d.record_id is not null
    returning d.record_id, d.seq
  ), again as (
    insert into peer_backlog as b (ledger_id, peer_id, record_id, from_seq)
    select ledger, peer, g.record_id, min(g.seq) from gone g group by g.record_id
    on conflict on constraint peer_backlog_pkey do update set from_seq = least(b.from_seq, excluded.from_seq)
  )
  select count(*) into replayed from gone;
  update peer_cursors c set resume_at = null where c.ledger_id = ledger and c.peer_id = peer;
  return replayed;
end $$;

-- Asks the worker to ask the other side what it holds.
create function want_peer_summary(ledger uuid, peer uuid) returns void
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  update peer_cursors c set summary_wanted = true where c.ledger_id = ledger and c.peer_id = peer;
end $$;

-- ---------------------------------------------------------------------------------------------------------
-- Privileges
-- ---------------------------------------------------------------------------------------------------------

revoke all on all functions in schema tallystick from public;
grant select (ledger_id, peer_id, name, role, state, created_by, created_at, token_hash, expires_at, inviter, invited,
  remote_ledger_id, remote_url, handshake, added_seq, added_leaf, counterpart, revoked_seq) on peers to tallystick_api;
grant select on peer_keys, shared_records, received_entries, received_documents, received_types, remote_records, offers, peer_forks,
  peer_cursors, peer_backlog, peer_receipts, peer_dead_letters, ledger_rotations to tallystick_api;
grant select on peers, peer_keys, shared_records, received_entries, received_documents, received_types, remote_records, offers,
  peer_forks, peer_cursors, peer_backlog, peer_receipts, peer_dead_letters, ledger_rotations to tallystick_worker;
grant update on peer_cursors to tallystick_worker;
grant insert, update, delete on peer_backlog, peer_dead_letters to tallystick_worker;
grant insert on peer_receipts to tallystick_worker;
grant execute on function begin_peer_request, invite_peer, accept_peer, withdraw_peer, keep_fork, replay_peer, want_peer_summary
  to tallystick_api;
