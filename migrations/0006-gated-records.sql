-- Gated records: work that is agreed, delivered, checked and judged, one entry a step.
--
-- A record's row says what it was made as, and never changes but by an erasure. Where a gated one stands is a row of its own:
-- small, with few indexes, because it is written at every step (in `records` each step would have written to eight indexes).
-- What was notarized stands where it began, so it has none.

set local search_path = tallystick;

insert into entry_kinds (kind, record_event, worker_only) values
  ('record-created', true, false),
  ('record-activated', true, false),
  ('completion-submitted', true, false),
  ('completion-verified', true, true),
  ('verdict-rendered', true, false),
  ('verdict-overturned', true, false),
  ('revision-requested', true, false),
  ('record-cancelled', true, false),
  ('record-expired', true, true);

insert into record_states (state, terminal) values
  ('CREATED', false),
  ('ACTIVE', false),
  ('SUBMITTED', false),
  ('VERIFIED', false),
  ('DISCREPANT', false),
  ('ACCEPTED', true),
  ('REJECTED', false),                    -- until it is overturned
  ('CANCELLED', true),
  ('EXPIRED', true);

-- The same rows as LIFECYCLE in src/proof/statement/kinds.ts (test/db/lifecycle.test.ts).
insert into record_transitions (from_state, kind, to_state) values
  ('', 'record-created', 'CREATED'),
  ('CREATED', 'record-activated', 'ACTIVE'),
  ('ACTIVE', 'completion-submitted', 'SUBMITTED'),
  ('SUBMITTED', 'completion-verified', 'VERIFIED'),
  ('SUBMITTED', 'completion-verified', 'DISCREPANT'),
  ('VERIFIED', 'verdict-rendered', 'ACCEPTED'),
  ('DISCREPANT', 'verdict-rendered', 'ACCEPTED'),
  ('VERIFIED', 'verdict-rendered', 'REJECTED'),
  ('DISCREPANT', 'verdict-rendered', 'REJECTED'),
  ('VERIFIED', 'revision-requested', 'ACTIVE'),
  ('DISCREPANT', 'revision-requested', 'ACTIVE'),
  ('CREATED', 'record-cancelled', 'CANCELLED'),
  ('ACTIVE', 'record-cancelled', 'CANCELLED'),
  ('CREATED', 'record-expired', 'EXPIRED'),
  ('ACTIVE', 'record-expired', 'EXPIRED'),
  ('REJECTED', 'verdict-overturned', 'ACCEPTED');

-- ---------------------------------------------------------------------------------------------------------
-- Where a gated record stands
-- ---------------------------------------------------------------------------------------------------------

-- All of them are RECORDED, of version 1, and their last entry is their first.
alter table records drop column state, drop column version, drop column last_seq;

create table gated_records (
  ledger_id uuid not null,
  record_id uuid not null,
  first_seq bigint not null,
  -- the terms, fixed at creation; the performer at the latest when the work begins
  principal_id uuid not null,
  performer_id uuid,
  gate text not null check (gate in ('principal', 'auto')),
  deadline timestamptz check (isfinite(deadline)),  -- of another one whoever reads the record would find no date
  max_revisions int4 not null check (max_revisions >= 0),
  tolerances bytea check (length(tolerances) between 2 and 16384),  -- canonical JSON
  -- where it stands
  state text not null,
  version int4 not null check (version >= 1),
  last_seq bigint not null check (last_seq >= first_seq),
  revisions int4 not null default 0 check (revisions >= 0),
  -- the job of pg-boss that verifies its completion; no evidence of anything
  verification_job uuid,
  constraint gated_records_parties check (performer_id <> principal_id),
  constraint gated_records_performer check (performer_id is not null or state in ('CREATED', 'CANCELLED', 'EXPIRED')),
  constraint gated_records_revisions check (revisions <= max_revisions)
) with (autovacuum_vacuum_scale_factor = 0.02);

create index gated_records_by_state on gated_records (ledger_id, state collate "C", first_seq nulls first);
create index gated_records_by_performer on gated_records (ledger_id, performer_id, first_seq nulls first)
  where performer_id is not null;
-- What waits for the worker, first what has no job, ledger by ledger: empty when there is nothing to do. (An `auto` gate that was
-- verified without its verdict: a call that was taken apart because of another item, and a worker that was killed in between.)
create index gated_records_unverified on gated_records (verification_job nulls first, ledger_id, last_seq)
  where state = 'SUBMITTED' or gate = 'auto' and state in ('VERIFIED', 'DISCREPANT');
create index gated_records_by_deadline on gated_records (deadline)
  where deadline is not null and state in ('CREATED', 'ACTIVE');
-- Made last, for the reason in 0001 at `records`.
alter table gated_records add primary key (ledger_id, record_id);

-- A record's steps, and no more than one of a version: an old entry that is inserted again is refused, and where the index is
-- gone, found. Notarizations are not in it.
create unique index entries_by_record on entries (ledger_id, subject_id, version) include (seq, kind) where version > 1;

-- A step's own document; a record's payload lies in its row.
create table documents (
  ledger_id uuid not null,
  seq bigint not null,                    -- of the entry that digests it
  document text not null check (document in ('evidence', 'values', 'reason')),
  subject_id uuid not null,               -- the completion, or the record
  digest bytea not null check (length(digest) = 32),
  salt bytea check (length(salt) = 16),
  content bytea check (length(content) between 2 and 65536),  -- canonical JSON
  erased_seq bigint check (erased_seq > seq),
  primary key (ledger_id, seq),
  constraint documents_content_or_erased check ((content is null) = (salt is null)
    and (content is null) = (erased_seq is not null))
);

-- ---------------------------------------------------------------------------------------------------------
-- Guards
-- ---------------------------------------------------------------------------------------------------------

-- A record begins with an entry that is about it. It is the subject of that entry, or one of its batch's items, which come all
-- at once and numbered from 0.
create or replace function records_begin() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if exists (
    select from (
      select ledger_id, first_seq, case when item_index is null then record_id end as subject_id,
        bool_and(payload is not null and payload_erased_seq is null)
          and coalesce(max(item_index) + 1, 1) = count(*) as fresh
      from added group by 1, 2, 3
    ) a
    left join lateral (
      select true as known
      from entries e join record_transitions t on t.kind = e.kind and t.from_state = ''
      where e.ledger_id = a.ledger_id and e.seq = a.first_seq
        and case when e.kind = 'batch-notarized' then a.subject_id is null else e.subject_id = a.subject_id end
      offset 0
    ) entry on true
    where entry.known is null or not a.fresh
  ) then
    raise exception 'a record begins with an entry that is about it'
      using errcode = 'integrity_constraint_violation', constraint = 'records_begin';
  end if;
  return null;
end $$;

-- What a record is never changes; its documents may only become null, with the entry that says so.
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
      or (a.type, a.first_seq, a.item_index, a.actor_id, a.on_behalf_of, a.occurred_at, a.traceparent, a.digest, a.parent_id)
        is distinct from
         (b.type, b.first_seq, b.item_index, b.actor_id, b.on_behalf_of, b.occurred_at, b.traceparent, b.digest, b.parent_id)
      or ((a.payload, a.salt, a.metadata, a.reference_list, a.payload_erased_seq)
          is distinct from (b.payload, b.salt, b.metadata, b.reference_list, b.payload_erased_seq)
        and not (b.payload_erased_seq is null and erasure.known is not null
          and a.payload is null and a.salt is null and a.metadata is null and a.reference_list is null))
  ) then
    raise exception 'a record changes only by an erasure, explained by an entry'
      using errcode = 'integrity_constraint_violation', constraint = 'records_change';
  end if;
  return null;
end $$;

-- A gated record begins with the entry that creates it, as it says. Its principal is the party of that entry.
create function gated_records_begin() returns trigger language plpgsql
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
      or (a.version, a.last_seq, a.revisions, a.verification_job) is distinct from (1, a.first_seq, 0, null::uuid)
  ) then
    raise exception 'a gated record begins with the entry that creates it'
      using errcode = 'integrity_constraint_violation', constraint = 'gated_records_begin';
  end if;
  return null;
end $$;

-- It moves as the table of transitions says, one version at a time, each step explained by its newest entry. Its terms are
-- fixed; who performs is fixed by the activation, and a revision is counted by the entry that asks for it.
create function gated_records_change() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
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
    raise exception 'a gated record changes only by a known transition, explained by an entry'
      using errcode = 'integrity_constraint_violation', constraint = 'gated_records_change';
  end if;
  return null;
end $$;

create trigger gated_records_begin after insert on gated_records
  referencing new table as added for each statement execute function gated_records_begin();
create trigger gated_records_change after update on gated_records
  referencing old table as before new table as after for each statement execute function gated_records_change();
create trigger gated_records_no_delete before delete on gated_records
  for each row execute function refuse_change();
create trigger gated_records_no_truncate before truncate on gated_records
  for each statement execute function refuse_change();

-- A document comes with its entry, and may only become null, with the entry that says so.
create function documents_keep() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if new.content is not null and exists (
      select from entries e
      where e.ledger_id = new.ledger_id and e.seq = new.seq and case new.document
          when 'evidence' then e.kind = 'completion-submitted'
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

create trigger documents_keep before insert or update on documents
  for each row execute function documents_keep();
create trigger documents_no_delete before delete on documents
  for each row execute function refuse_change();
create trigger documents_no_truncate before truncate on documents
  for each statement execute function refuse_change();

-- ---------------------------------------------------------------------------------------------------------
-- Erasure of documents. A record has many reasons, so an erasure names the entry that digests what it erases.
-- ---------------------------------------------------------------------------------------------------------

alter table erasures add column document_seq bigint;
update erasures x set document_seq = r.first_seq
from records r where r.ledger_id = x.ledger_id and r.record_id = x.subject_id;
alter table erasures alter column document_seq set not null,
  add check (document_seq < seq),
  drop constraint erasures_document_check,
  add check (document in ('payload', 'evidence', 'values', 'reason')),
  drop constraint erasures_pkey,
  add primary key (ledger_id, subject_id, document, document_seq);

create or replace function idempotency_keys_change() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if (new.ledger_id, new.actor_id, new.key_hash, new.seq) = (old.ledger_id, old.actor_id, old.key_hash, old.seq)
    and new.salt is null and (
      exists (
        select from records r join erasures e on e.ledger_id = r.ledger_id and e.subject_id = r.record_id
          and e.document = 'payload' and e.document_seq = r.first_seq
        where r.ledger_id = old.ledger_id and r.first_seq = old.seq)
      or exists (select from documents d where d.ledger_id = old.ledger_id and d.seq = old.seq and d.erased_seq is not null)
    ) then
    return new;
  end if;
  raise exception 'an idempotency key only loses its fingerprint, and only with an erasure'
    using errcode = 'integrity_constraint_violation', constraint = 'idempotency_keys_append_only';
end $$;

-- Takes away what the entry at `at` erased. The entry is verified by who calls this; here it only must be there.
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

-- ---------------------------------------------------------------------------------------------------------
-- append_entries, with the steps of gated records, and two outcomes more, after `stale` in precedence:
--  12 refused_party      not this agent's step: the principal judges, the performer performs, `auto` decides as the rules came out
--  11 refused_deadline   an activation or completion after the record's deadline, or an expiry before it
-- A revision beyond the agreed number is refused_state (3). Figures and reasons: 0002.
--
-- Of one record a call takes one step, but for one pair: the worker's completion-verified, and right behind it the `auto`
-- verdict that follows from it. Both are appended, or none of them: the one that could have been is `again`.
--
-- A call that only notarizes pays nothing for it. Postgres' own CPU, us a call, before and after this migration (lower quartile
-- of calls taken in turn, 2 shared cores): 1 item 910 and 921; 64 items 3,556 and 3,597; 1,000 items 38,219 and 38,281; one
-- item that makes 1,000 records 14,419 and 14,111. With pairs found by windows over all items, and their outcomes joined by a
-- second pass, 64 items took 5 to 8 % more than before and 1,000 took 3 to 6.
-- ---------------------------------------------------------------------------------------------------------

drop function append_entries;

create function append_entries(
  ledger_ids uuid[], kinds text[], subject_ids uuid[], versions int4[], to_states text[], previous_leaves bytea[],
  actor_ids uuid[], party_ids uuid[], key_ids uuid[], kids bytea[], recorded_ats timestamptz[], leaves bytea[],
  envelopes bytea[], idempotency_hashes bytea[], request_salts bytea[], request_hashes bytea[], details text[],
  record_items int4[], record_ids uuid[], record_indexes int4[], record_types text[], record_digests bytea[],
  record_salts bytea[], record_payloads bytea[], record_on_behalf_of uuid[], record_occurred_ats timestamptz[],
  record_traceparents text[], record_metadata bytea[], record_parents uuid[], record_reference_lists bytea[],
  gated_items int4[], gated_performers uuid[], gated_gates text[], gated_deadlines timestamptz[],
  gated_max_revisions int4[], gated_tolerances bytea[],
  document_items int4[], document_names text[], document_subjects uuid[], document_digests bytea[],
  document_salts bytea[], document_contents bytea[]
) returns bytea
language plpgsql security definer
set search_path = tallystick, pg_temp
set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  by_worker constant boolean := pg_has_role(session_user, 'tallystick_worker', 'member');
  others bigint[];
  outcomes int2[];
  seqs bigint[];
  answer bytea;
begin
  if 'ledger-created' = any (kinds) then
    insert into chain_heads (ledger_id, size, chain, envelope_kid)
    select n.ledger_id, 0, sha256('\x74616c6c79737469636b2d636861696e2d7631'::bytea || uuid_send(n.ledger_id)), n.kid
    from unnest(ledger_ids, kinds, kids) n (ledger_id, kind, kid)
    where n.kind = 'ledger-created'
    order by n.ledger_id
    on conflict do nothing;
  end if;

  -- In id order, so that two calls never wait for each other in a circle.
  perform from chain_heads h where h.ledger_id = any (ledger_ids) order by h.ledger_id for update;

  -- Of each item of a pair, the place of the other one. Null for the API's login.
  if by_worker and 'completion-verified' = any (kinds) then
    select array_agg(case when p.follows then p.ix - 1 when p.leads then p.ix + 1 end order by p.ix)
    into others
    from (
      select f.*, lead(f.follows) over (order by f.ix) as leads
      from (
        select i.ix, i.kind = 'verdict-rendered' and i.actor_id is null and lag(i.kind) over w = 'completion-verified'
          and lag(i.ledger_id) over w = i.ledger_id and lag(i.subject_id) over w = i.subject_id
          and lag(i.version) over w = i.version - 1 and lag(i.leaf) over w = i.previous_leaf as follows
        from unnest(ledger_ids, kinds, subject_ids, versions, previous_leaves, actor_ids, leaves)
          with ordinality i (ledger_id, kind, subject_id, version, previous_leaf, actor_id, leaf, ix)
        window w as (order by i.ix)
      ) f
    ) p;
  end if;

  with item as (
    select i.*, h.size as head_size, h.chain as head_chain, h.envelope_kid, h.closed,
      k.seq as first_seq, k.salt as first_salt, k.fingerprint as first_fingerprint,
      o.place as other, o.place < i.ix as follows,
      case when o.place < i.ix then to_states[o.place] else r.state end as from_state,
      case when o.place < i.ix then i.version - 1 else r.version end as from_version,
      case when o.place < i.ix then i.previous_leaf else r.last_leaf end as last_leaf,
      r.last_seq, r.principal_id, r.performer_id, r.gate, r.deadline, r.revisions < r.max_revisions as may_revise,
      i.idempotency_hash is not null
        and row_number() over (partition by i.ledger_id, i.actor_id, i.idempotency_hash order by i.ix) > 1 as same_key,
      i.version is not null
        and row_number() over (partition by i.ledger_id, i.subject_id order by i.ix) > 1 as same_subject
    from unnest(ledger_ids, kinds, subject_ids, versions, to_states, previous_leaves, actor_ids, party_ids, key_ids, kids,
        recorded_ats, leaves, envelopes, idempotency_hashes, request_salts, request_hashes)
      with ordinality i (ledger_id, kind, subject_id, version, to_state, previous_leaf, actor_id, party_id, key_id, kid,
        recorded_at, leaf, envelope, idempotency_hash, request_salt, request_hash, ix)
    cross join lateral (select others[i.ix] as place) o
    left join lateral (
      select c.size, c.chain, c.envelope_kid, c.closed from chain_heads c where c.ledger_id = i.ledger_id offset 0
    ) h on true
    left join lateral (
      select x.seq, x.salt, x.fingerprint from idempotency_keys x
      where x.ledger_id = i.ledger_id and x.actor_id = i.actor_id and x.key_hash = i.idempotency_hash
      offset 0
    ) k on true
    -- A first event needs no look: the primary key of records refuses a second record of that id.
    left join lateral (
      select x.state, x.version, x.last_seq, x.principal_id, x.performer_id, x.gate, x.deadline, x.revisions, x.max_revisions,
        e.leaf as last_leaf
      from gated_records x join entries e on e.ledger_id = x.ledger_id and e.seq = x.last_seq
      where i.version > 1 and x.ledger_id = i.ledger_id and x.record_id = i.subject_id
      offset 0
    ) r on true
  ), decided as (
    select i.*, case
        when i.head_size is null or (i.kind = 'ledger-created' and i.head_size > 0) then 5
        when i.first_seq is not null then
          case when i.first_fingerprint = sha256(i.first_salt || i.request_hash) then 1 else 2 end
        -- The worker moves a frozen ledger to a new key too: the old one could never be retired otherwise.
        when i.closed = 'frozen' and not (i.kind = 'server-key-rotated' and by_worker) then 9
        when i.closed = 'restored' and i.kind <> 'ledger-restored' then 10
        when i.closed is distinct from 'restored' and i.kind = 'ledger-restored' then 3
        -- A step that the record has passed is decided at once: of many at once for one record only the first
        -- would be, call after call.
        when i.same_key or (i.same_subject and i.follows is not true and i.version > coalesce(i.from_version, 0)) then 7
        when k.kind is null or k.record_event <> (i.version is not null) then 8
        -- What `system` says of a record, the worker says.
        when (k.worker_only or (k.record_event and i.actor_id is null)) and not by_worker then 8
        when i.kid is distinct from i.envelope_kid then 6
        when k.record_event and not exists (
          select from record_transitions t
          where t.from_state = coalesce(i.from_state, '') and t.kind = i.kind and t.to_state = i.to_state) then 3
        when i.kind = 'revision-requested' and not i.may_revise then 3
        when i.version <> coalesce(i.from_version, 0) + 1 or i.previous_leaf is distinct from i.last_leaf then 6
        when i.version > 1 and case
            when i.kind in ('completion-verified', 'record-expired') then i.actor_id is null
            -- accepted where the rules pass, rejected where they fail
            when i.kind = 'verdict-rendered' and i.gate = 'auto' then
              i.actor_id is null and (i.from_state = 'VERIFIED') = (i.to_state = 'ACCEPTED')
            when i.actor_id is null then false
            when i.kind = 'record-activated' then
              i.party_id <> i.principal_id and i.party_id = coalesce(i.performer_id, i.party_id)
            when i.kind = 'completion-submitted' then i.party_id = i.performer_id
            -- no verdict by the performer, in whoever's name
            when i.kind = 'verdict-overturned' then i.performer_id <> all (array[i.party_id, i.actor_id])
            when i.kind = 'verdict-rendered' then i.party_id = i.principal_id and i.actor_id <> i.performer_id
            else i.party_id = i.principal_id
          end is not true then 12
        when i.kind in ('record-activated', 'completion-submitted') and i.deadline <= clock_timestamp() then 11
        when i.kind = 'record-expired' and (i.deadline is null or i.deadline > clock_timestamp()) then 11
        when abs(extract(epoch from i.recorded_at - clock_timestamp())) > 30 then 4
        else 0
      end as outcome
    from item i left join entry_kinds k on k.kind = i.kind
  ), appended as (
    select d.*, d.head_size + row_number() over w - 1 as seq, chain_extend(d.leaf, d.head_chain) over w as chain
    from decided d
    where d.outcome = 0
      and (d.other is null or d.other <> all (array(select x.ix from decided x where x.outcome <> 0)))
    window w as (partition by d.ledger_id order by d.ix)
  ), new_entries as (
    insert into entries (ledger_id, seq, kind, subject_id, version, prev_seq, actor_id, key_id, recorded_at,
      leaf, chain, envelope)
    select ledger_id, seq, kind, subject_id, version, case when follows then seq - 1 else last_seq end, actor_id, key_id,
      recorded_at, leaf, chain, envelope
    from appended
  ), new_idempotency_keys as (
    insert into idempotency_keys (ledger_id, actor_id, key_hash, salt, fingerprint, seq)
    select ledger_id, actor_id, idempotency_hash, request_salt, sha256(request_salt || request_hash), seq
    from appended
    where idempotency_hash is not null
  ), new_records as (
    insert into records (ledger_id, record_id, type, first_seq, item_index, actor_id,
      on_behalf_of, occurred_at, traceparent, digest, salt, payload, metadata, parent_id, reference_list)
    select a.ledger_id, n.record_id, n.type, a.seq, n.item_index, a.actor_id,
      n.on_behalf_of, n.occurred_at, n.traceparent, n.digest, n.salt, n.payload, n.metadata,
      n.parent_id, n.reference_list
    from unnest(record_items, record_ids, record_indexes, record_types, record_digests, record_salts,
        record_payloads, record_on_behalf_of, record_occurred_ats, record_traceparents, record_metadata,
        record_parents, record_reference_lists)
      n (item, record_id, item_index, type, digest, salt, payload, on_behalf_of, occurred_at, traceparent, metadata,
        parent_id, reference_list)
    join appended a on a.ix = n.item
  )
  select array_agg(o.outcome order by d.ix), array_agg(coalesce(a.seq, d.first_seq, 0) order by d.ix),
    string_agg(set_byte('\x00'::bytea, 0, o.outcome) || int8send(coalesce(a.seq, d.first_seq, 0))
      || coalesce(a.chain, '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea), '' order by d.ix)
  into outcomes, seqs, answer
  from decided d left join appended a on a.ix = d.ix
  -- One of a pair whose other one was not to be appended.
  cross join lateral (select case when d.outcome = 0 and a.ix is null then 7 else d.outcome end as outcome) o;

  -- An entry without the rows that it is about is a caller's fault, and would be found by nobody but an auditor.
  if (select count(*) from unnest(versions, outcomes) i (version, outcome) where i.outcome = 0 and i.version = 1)
    <> (select count(distinct n.item) from unnest(record_items) n (item) where outcomes[n.item] = 0) then
    raise exception 'an entry that begins records comes with them'
      using errcode = 'integrity_constraint_violation', constraint = 'entries_make_records';
  end if;

  -- Gated records: none in a call that only notarizes.
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
      raise exception 'an entry that creates a gated record comes with its terms'
        using errcode = 'integrity_constraint_violation', constraint = 'entries_make_gated_records';
    end if;
  end if;
  if 2 <= any (versions) or cardinality(document_items) > 0 then
    -- Twice for a pair: each of its steps is one.
    for nth in 1 .. case when by_worker then 2 else 1 end loop
      update gated_records r set state = i.to_state, version = i.version, last_seq = i.seq, verification_job = null,
        performer_id = case when i.kind = 'record-activated' then i.party_id else r.performer_id end,
        revisions = r.revisions + (i.kind = 'revision-requested')::int4
      from (
        select s.*, row_number() over (partition by s.ledger_id, s.subject_id order by s.version) as place
        from unnest(ledger_ids, kinds, subject_ids, party_ids, to_states, versions, outcomes, seqs)
          s (ledger_id, kind, subject_id, party_id, to_state, version, outcome, seq)
        where s.outcome = 0 and s.version > 1
      ) i
      where i.place = nth and r.ledger_id = i.ledger_id and r.record_id = i.subject_id;
    end loop;
    insert into documents (ledger_id, seq, document, subject_id, digest, salt, content)
    select ledger_ids[n.item], seqs[n.item], n.document, n.subject_id, n.digest, n.salt, n.content
    from unnest(document_items, document_names, document_subjects, document_digests, document_salts, document_contents)
      n (item, document, subject_id, digest, salt, content)
    where outcomes[n.item] = 0;
    if (select count(*) from unnest(kinds, outcomes) i (kind, outcome)
        where i.outcome = 0 and i.kind in ('completion-submitted', 'completion-verified'))
      <> (select count(*) from unnest(document_items, document_names) n (item, document)
        where outcomes[n.item] = 0 and n.document in ('evidence', 'values')) then
      raise exception 'a completion comes with its evidence, and its verification with the values'
        using errcode = 'integrity_constraint_violation', constraint = 'entries_make_documents';
    end if;
  end if;

  if num_nonnulls(variadic record_reference_lists) > 0 then
    insert into record_references (ledger_id, reference, first_seq, record_id)
    select distinct ledger_ids[n.item], reference, seqs[n.item], n.record_id
    from unnest(record_items, record_ids, record_reference_lists) n (item, record_id, reference_list)
    cross join lateral jsonb_array_elements_text(convert_from(n.reference_list, 'UTF8')::jsonb) reference
    where outcomes[n.item] = 0;
  end if;

  -- What administrative entries (no version) say about ledgers, agents and keys; details hold their columns as JSON.
  if array_position(versions, null) is not null then
    perform append_details(ledger_ids, kinds, subject_ids, details, outcomes, seqs);
  end if;
  -- Of a ledger-created that was refused nothing may stay.
  if 'ledger-created' = any (kinds) then
    delete from chain_heads h where h.ledger_id = any (ledger_ids) and h.size = 0;
  end if;
  return coalesce(answer, '');
end $$;

create or replace function append_details(
  ledger_ids uuid[], kinds text[], subject_ids uuid[], details text[], outcomes int2[], seqs bigint[]
) returns void
language plpgsql
set search_path = tallystick, pg_temp
as $$
-- A missing detail becomes nulls, which the columns refuse: no such entry without its row. What ends something says so once:
-- the row that it ends must be there and not have ended.
declare
  expected bigint;
  changed bigint;
begin
  insert into ledgers (ledger_id, name, issuer, origin, note_kid)
  select i.ledger_id, d.name, d.issuer, d.origin, decode(d."noteKid", 'hex')
  from unnest(ledger_ids, kinds, details, outcomes) i (ledger_id, kind, detail, outcome)
  left join lateral json_to_record(i.detail::json) d (name text, issuer text, origin text, "noteKid" text) on true
  where i.outcome = 0 and i.kind = 'ledger-created';

  insert into agents (ledger_id, agent_id, name, registered_seq)
  select i.ledger_id, i.subject_id, d.name, i.seq
  from unnest(ledger_ids, kinds, subject_ids, details, outcomes, seqs)
      i (ledger_id, kind, subject_id, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json) d (name text) on true
  where i.outcome = 0 and i.kind = 'agent-registered';

  with made as (
    select i.ledger_id, i.subject_id, i.seq, d.*
    from unnest(ledger_ids, kinds, subject_ids, details, outcomes, seqs)
        i (ledger_id, kind, subject_id, detail, outcome, seq)
    left join lateral json_to_record(i.detail::json)
      d ("agentId" uuid, name text, scopes text[], "secretHash" text, mac text, "expiresAt" timestamptz) on true
    where i.outcome = 0 and i.kind = 'key-created'
  ), keys as (
    insert into api_keys (ledger_id, key_id, agent_id, name, scopes, expires_at, created_seq)
    select ledger_id, subject_id, "agentId", name, scopes, "expiresAt", seq from made
  )
  insert into api_key_secrets (ledger_id, secret_hash, key_id, mac, expires_at)
  select ledger_id, decode("secretHash", 'hex'), subject_id, decode(mac, 'hex'), "expiresAt" from made;

  insert into types (ledger_id, name, gated, definition, digest, registered_seq)
  select i.ledger_id, d.name, d.gated, convert_to(d.definition, 'UTF8'), sha256(convert_to(d.definition, 'UTF8')), i.seq
  from unnest(ledger_ids, kinds, details, outcomes, seqs) i (ledger_id, kind, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json) d (name text, gated boolean, definition text) on true
  where i.outcome = 0 and i.kind = 'type-registered';

  insert into erasures (ledger_id, subject_id, document, document_seq, seq, reason)
  select i.ledger_id, i.subject_id, d.document, d."documentSeq", i.seq, d.reason
  from unnest(ledger_ids, kinds, subject_ids, details, outcomes, seqs)
      i (ledger_id, kind, subject_id, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json) d (document text, "documentSeq" bigint, reason text) on true
  where i.outcome = 0 and i.kind = 'payload-erased';

  select count(*) into expected from unnest(kinds, outcomes) i (kind, outcome)
  where i.outcome = 0 and i.kind in ('agent-disabled', 'key-revoked', 'server-key-rotated', 'ledger-restored');
  if expected = 0 then return; end if;

  with item as (
    select i.ledger_id, i.kind, i.subject_id, i.seq, d."newKid",
      count(*) over (partition by i.ledger_id) as of_ledger
    from unnest(ledger_ids, kinds, subject_ids, details, outcomes, seqs)
        i (ledger_id, kind, subject_id, detail, outcome, seq)
    left join lateral json_to_record(i.detail::json) d ("newKid" text) on true
    where i.outcome = 0
  ), disabled as (
    update agents a set disabled_seq = i.seq from item i
    where i.kind = 'agent-disabled' and a.ledger_id = i.ledger_id and a.agent_id = i.subject_id and a.disabled_seq is null
    returning 1
  ), revoked as (
    update api_keys k set revoked_seq = i.seq from item i
    where i.kind = 'key-revoked' and k.ledger_id = i.ledger_id and k.key_id = i.subject_id and k.revoked_seq is null
    returning k.ledger_id, k.key_id
  ), forgotten as (
    delete from api_key_secrets s using revoked r where s.ledger_id = r.ledger_id and s.key_id = r.key_id
  ), rotated as (
    -- alone of its ledger in a call: what came after it was decided by the key before it
    update chain_heads h set envelope_kid = decode(i."newKid", 'hex') from item i
    where i.kind = 'server-key-rotated' and i.of_ledger = 1 and h.ledger_id = i.ledger_id
    returning 1
  ), restored as (
    update ledger_closures c set restored_seq = i.seq from item i
    where i.kind = 'ledger-restored' and c.ledger_id = i.ledger_id and c.restored_seq is null
    returning c.ledger_id, c.was_frozen
  ), reopened as (
    update chain_heads h set closed = case when r.was_frozen then 'frozen' end from restored r where h.ledger_id = r.ledger_id
  )
  select (select count(*) from disabled) + (select count(*) from revoked) + (select count(*) from rotated)
    + (select count(*) from restored)
  into changed;
  if changed <> expected then
    raise exception 'an entry that ends something ends what is there, once'
      using errcode = 'integrity_constraint_violation', constraint = 'entries_end_once';
  end if;
end $$;

-- The first outcome of a request with this Idempotency-Key: its seq; -1 where it was another request; null where there was
-- none. For requests that the state of things would refuse, which may have been done by the same request before.
create function find_replay(ledger uuid, actor uuid, key bytea, request_hash bytea) returns bigint
language plpgsql stable security definer set search_path = tallystick, pg_temp as $$
begin
  return (
    select case when k.fingerprint = sha256(k.salt || request_hash) then k.seq else -1 end
    from idempotency_keys k where k.ledger_id = ledger and k.actor_id = actor and k.key_hash = key);
end $$;

-- ---------------------------------------------------------------------------------------------------------
-- Privileges
-- ---------------------------------------------------------------------------------------------------------

revoke all on all functions in schema tallystick from public;
grant execute on function append_entries to tallystick_api, tallystick_worker;
grant execute on function find_replay to tallystick_api;
grant select on gated_records, documents to tallystick_api, tallystick_worker;
grant update (verification_job) on gated_records to tallystick_worker;
