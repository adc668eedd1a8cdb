-- What stands around the records: agents and keys that end, types, erasure, keys of the server that change, and ledgers that
-- are closed. Each is an entry of the chain first; the rows here are what it says, for those who ask.

set local search_path = tallystick;

insert into entry_kinds (kind, record_event, worker_only) values
  ('agent-disabled', false, false),
  ('key-revoked', false, false),
  ('type-registered', false, false),
  ('payload-erased', false, false),
  ('ledger-restored', false, false),
  -- Not for a server: who holds its login alone could name a key of his own for all that follows.
  ('server-key-rotated', false, true);

-- ---------------------------------------------------------------------------------------------------------
-- Agents, keys, types
-- ---------------------------------------------------------------------------------------------------------

alter table agents add column disabled_seq bigint check (disabled_seq > registered_seq);

alter table api_keys
  add column revoked_seq bigint check (revoked_seq > created_seq),
  add column rate_limit_per_second real check (rate_limit_per_second > 0),
  add column rate_limit_burst int4 check (rate_limit_burst > 0),
  add check ((rate_limit_per_second is null) = (rate_limit_burst is null));

alter table ledgers
  add column rate_limit_per_second real check (rate_limit_per_second > 0),
  add column rate_limit_burst int4 check (rate_limit_burst > 0),
  add check ((rate_limit_per_second is null) = (rate_limit_burst is null));

-- A key has one secret, and while it is rotated a second one that ends soon. `mac`: as in decision 6, of what this secret grants,
-- so with its own end.
create table api_key_secrets (
  ledger_id uuid not null,
  secret_hash bytea not null check (length(secret_hash) = 32),
  key_id uuid not null,
  mac bytea not null check (length(mac) = 32),
  expires_at timestamptz,
  primary key (ledger_id, secret_hash),
  foreign key (ledger_id, key_id) references api_keys
);
create index api_key_secrets_by_key on api_key_secrets (ledger_id, key_id);

insert into api_key_secrets (ledger_id, secret_hash, key_id, mac, expires_at)
select ledger_id, secret_hash, key_id, mac, expires_at from api_keys;

alter table api_keys drop column secret_hash, drop column mac;

create table types (
  ledger_id uuid not null references ledgers,
  name text collate "C" not null check (length(name) <= 80),      -- name/version
  gated boolean not null,
  definition bytea not null check (length(definition) <= 65536),  -- JCS
  digest bytea not null check (length(digest) = 32),
  registered_seq bigint not null,
  primary key (ledger_id, name),
  constraint types_digest check (digest = sha256(definition))
);

-- The secrets of a key are replaced as a whole; `expected`: those that the caller found, or nothing happens.
create function replace_key_secrets(
  ledger uuid, key uuid, expected bytea[], secret_hashes bytea[], macs bytea[], expires timestamptz[]
) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  perform from api_keys k where k.ledger_id = ledger and k.key_id = key and k.revoked_seq is null for update;
  if not found or cardinality(secret_hashes) > 3 or expected is distinct from (
    select coalesce(array_agg(s.secret_hash order by s.secret_hash), '{}') from api_key_secrets s
    where s.ledger_id = ledger and s.key_id = key
  ) then
    return false;
  end if;
  delete from api_key_secrets s where s.ledger_id = ledger and s.key_id = key;
  insert into api_key_secrets (ledger_id, secret_hash, key_id, mac, expires_at)
  select ledger, n.secret_hash, key, n.mac, n.expires_at
  from unnest(secret_hashes, macs, expires) n (secret_hash, mac, expires_at);
  return true;
end $$;

create function set_key_rate_limit(ledger uuid, key uuid, per_second real, burst int4) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  update api_keys set rate_limit_per_second = per_second, rate_limit_burst = burst
  where ledger_id = ledger and key_id = key;
  return found;
end $$;

create function set_ledger_rate_limit(ledger uuid, per_second real, burst int4) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  update ledgers set rate_limit_per_second = per_second, rate_limit_burst = burst where ledger_id = ledger;
  return found;
end $$;

-- ---------------------------------------------------------------------------------------------------------
-- Ledgers that take no entries: frozen by the operator, or found to be an older backup of themselves
-- ---------------------------------------------------------------------------------------------------------

alter table chain_heads add column closed text check (closed in ('frozen', 'restored'));

-- What was known of a ledger outside Postgres when it was found to be shorter than that, or another. Reopened by the
-- ledger-restored entry at restored_seq, which says both.
create table ledger_closures (
  ledger_id uuid not null references ledgers,
  closed_at timestamptz not null default now(),
  known_size bigint not null check (known_size > 0),
  known_chain bytea not null check (length(known_chain) = 32),
  was_frozen boolean not null,            -- and is again, once it is acknowledged
  restored_seq bigint,
  primary key (ledger_id, known_size, known_chain)
);
create unique index ledger_closures_open on ledger_closures (ledger_id) where restored_seq is null;

-- Only what is not closed already can be frozen, and only what is frozen reopened: a restored ledger needs its entry.
create function set_ledger_frozen(ledger uuid, frozen boolean) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  update chain_heads set closed = case when frozen then 'frozen' end
  where ledger_id = ledger and closed is not distinct from (case when not frozen then 'frozen' end);
  return found;
end $$;

-- Under the locks of the heads: an entry that was appended meanwhile, or an acknowledgement, does not slip through. Whoever
-- has the API's login can append a ledger-restored that nobody signed, so the worker verifies it; one that it found false
-- stands at `refused_seqs` and counts as none. Answers which ledgers it closed. All that a backup lacks is closed in one
-- call for 1,000 of them, or servers would go on building on the last ones for many seconds.
create function close_restored_ledgers(
  ledgers uuid[], known_sizes bigint[], known_chains bytea[], refused_seqs bigint[]
) returns uuid[]
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  known record;
  closed_ones uuid[] = '{}';
begin
  perform from chain_heads h where h.ledger_id = any (ledgers) order by h.ledger_id for update;
  for known in
    select k.*, h.closed as was
    from unnest(ledgers, known_sizes, known_chains, refused_seqs) k (ledger, size, chain, refused_seq)
    join chain_heads h on h.ledger_id = k.ledger
    where h.closed is distinct from 'restored'
  loop
    continue when exists (select from entries e
      where e.ledger_id = known.ledger and e.seq = known.size - 1 and e.chain = known.chain);
    insert into ledger_closures as c (ledger_id, known_size, known_chain, was_frozen)
    values (known.ledger, known.size, known.chain, known.was is not null)
    on conflict on constraint ledger_closures_pkey do update
      set closed_at = now(), was_frozen = excluded.was_frozen, restored_seq = null
      where c.restored_seq = known.refused_seq;
    continue when not found;
    update chain_heads h set closed = 'restored' where h.ledger_id = known.ledger;
    closed_ones = closed_ones || known.ledger;
  end loop;
  return closed_ones;
end $$;

-- ---------------------------------------------------------------------------------------------------------
-- The deployment's envelope keys: a new one is used ledger by ledger, as each says so in its chain
-- ---------------------------------------------------------------------------------------------------------

drop index server_keys_current;
create unique index server_keys_current_note on server_keys (use) where use = 'note' and retired_at is null;

-- Retires every envelope key that signs for no ledger any more, but the newest, and destroys its secret. Not at once: a server
-- that had read the keys before there was a newer one may be making a ledger with the old one. Such an entry is at most 60 s
-- old by then (30 s of tolerance for its clock, to both sides), and its call takes 15 s at most.
create function retire_envelope_keys() returns int8
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  retired int8;
begin
  with unused as (
    update server_keys k set retired_at = now()
    where k.use = 'envelope' and k.retired_at is null
      and k.activated_at < (select max(n.activated_at) from server_keys n where n.use = 'envelope'
        having max(n.activated_at) < now() - interval '90 seconds')
      and not exists (select from chain_heads h where h.envelope_kid = k.kid)
    returning k.kid
  ), destroyed as (
    delete from envelope_key_secrets s using unused u where s.kid = u.kid
  )
  select count(*) into retired from unused;
  return retired;
end $$;

-- The head's key changes only by the entry that says so, as the newest of its chain.
create or replace function chain_heads_forward_only() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if new.size = 0 then return new; end if;
  elsif tg_op = 'DELETE' then
    if old.size = 0 then return old; end if;  -- of a ledger-created that was refused: it never began
  elsif new.ledger_id = old.ledger_id and new.size = old.size and new.chain = old.chain then
    -- closed or opened: who may do that is a matter of privileges
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
  raise exception 'a chain head moves forward only, together with the entries that explain it'
    using errcode = 'integrity_constraint_violation', constraint = 'chain_heads_forward_only';
end $$;

-- ---------------------------------------------------------------------------------------------------------
-- Parents, references, erasure
-- ---------------------------------------------------------------------------------------------------------

alter table records
  add column parent_id uuid,
  add column reference_list bytea check (length(reference_list) between 2 and 4096);  -- canonical JSON

create table record_references (
  ledger_id uuid not null,
  reference text not null check (length(reference) between 1 and 256),
  first_seq bigint not null,
  record_id uuid not null,
  primary key (ledger_id, reference, first_seq, record_id)
);
create index record_references_by_record on record_references (ledger_id, record_id);

-- What was erased: the signed entry comes first, the worker takes the document away. `reason` is free text, unsigned.
create table erasures (
  ledger_id uuid not null references ledgers,
  subject_id uuid not null,
  document text not null check (document in ('payload')),
  seq bigint not null,
  reason text check (length(reason) between 1 and 1000),
  erased_at timestamptz,
  primary key (ledger_id, subject_id, document)
);
create index erasures_pending on erasures (ledger_id, seq) where erased_at is null;
create unique index erasures_by_seq on erasures (ledger_id, seq);

-- An idempotency key outlives its request's payload, but not so the fingerprint: a short request could be guessed from it.
alter table idempotency_keys alter column salt drop not null, alter column fingerprint drop not null,
  add check ((salt is null) = (fingerprint is null));
create index idempotency_keys_by_seq on idempotency_keys (ledger_id, seq);

create function idempotency_keys_change() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if (new.ledger_id, new.actor_id, new.key_hash, new.seq) = (old.ledger_id, old.actor_id, old.key_hash, old.seq)
    and new.salt is null and exists (
      select from records r join erasures e on e.ledger_id = r.ledger_id and e.subject_id = r.record_id
      where r.ledger_id = old.ledger_id and r.first_seq = old.seq) then
    return new;
  end if;
  raise exception 'an idempotency key only loses its fingerprint, and only with an erasure'
    using errcode = 'integrity_constraint_violation', constraint = 'idempotency_keys_append_only';
end $$;

drop trigger idempotency_keys_append_only on idempotency_keys;
create trigger idempotency_keys_no_delete before delete on idempotency_keys
  for each row execute function refuse_change();
create trigger idempotency_keys_change before update on idempotency_keys
  for each row execute function idempotency_keys_change();

-- A record changes in two ways: a transition, explained by its newest entry; or its payload becomes null,
-- together with a payload-erased entry.
create or replace function records_change() returns trigger language plpgsql
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
    left join lateral (
      select true as known from entries e
      where e.ledger_id = a.ledger_id and e.seq = a.payload_erased_seq and e.kind = 'payload-erased'
        and e.subject_id = a.record_id
      offset 0
    ) erasure on true
    where a.record_id is null or b.record_id is null
      -- what a record is never changes
      or (a.type, a.first_seq, a.item_index, a.actor_id, a.on_behalf_of, a.occurred_at, a.traceparent, a.digest, a.parent_id)
        is distinct from
         (b.type, b.first_seq, b.item_index, b.actor_id, b.on_behalf_of, b.occurred_at, b.traceparent, b.digest, b.parent_id)
      -- its documents may only become null, with the entry that says so
      or ((a.payload, a.salt, a.metadata, a.reference_list, a.payload_erased_seq)
          is distinct from (b.payload, b.salt, b.metadata, b.reference_list, b.payload_erased_seq)
        and not (b.payload_erased_seq is null and erasure.known is not null
          and a.payload is null and a.salt is null and a.metadata is null and a.reference_list is null))
      -- its state moves as the table says, one version at a time
      or ((a.state, a.version, a.last_seq) is distinct from (b.state, b.version, b.last_seq)
        and not (a.version = b.version + 1 and exists (
          select from record_transitions t
          where t.from_state = b.state and t.kind = step.kind and t.to_state = a.state)))
  ) then
    raise exception 'a record changes only by a known transition or an erasure, each explained by an entry'
      using errcode = 'integrity_constraint_violation', constraint = 'records_change';
  end if;
  return null;
end $$;

-- Takes away what the entry at `at` erased. The entry is verified by who calls this; here it only must be there.
create function erase_document(ledger uuid, at bigint) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  erased erasures;
begin
  update erasures e set erased_at = now() where e.ledger_id = ledger and e.seq = at and e.erased_at is null
  returning * into erased;
  if not found then return false; end if;
  update idempotency_keys k set salt = null, fingerprint = null
  from records r where r.ledger_id = ledger and r.record_id = erased.subject_id and k.ledger_id = ledger and k.seq = r.first_seq;
  update records r set payload = null, salt = null, metadata = null, reference_list = null, payload_erased_seq = at
  where r.ledger_id = ledger and r.record_id = erased.subject_id;
  delete from record_references f where f.ledger_id = ledger and f.record_id = erased.subject_id;
  return true;
end $$;

-- ---------------------------------------------------------------------------------------------------------
-- append_entries, with two outcomes more, before `again` in precedence:
--   9 refused_frozen     the operator has frozen the ledger
--  10 refused_closed     the ledger is an older backup of itself, and nobody has acknowledged that
-- A ledger-restored is refused (3) where there is nothing to acknowledge. Figures and reasons: 0002.
-- ---------------------------------------------------------------------------------------------------------

drop function append_entries;

create function append_entries(
  ledger_ids uuid[], kinds text[], subject_ids uuid[], versions int4[], to_states text[], previous_leaves bytea[],
  actor_ids uuid[], key_ids uuid[], kids bytea[], recorded_ats timestamptz[], leaves bytea[], envelopes bytea[],
  idempotency_hashes bytea[], request_salts bytea[], request_hashes bytea[], details text[],
  record_items int4[], record_ids uuid[], record_indexes int4[], record_types text[], record_digests bytea[],
  record_salts bytea[], record_payloads bytea[], record_on_behalf_of uuid[], record_occurred_ats timestamptz[],
  record_traceparents text[], record_metadata bytea[], record_parents uuid[], record_reference_lists bytea[]
) returns bytea
language plpgsql security definer
set search_path = tallystick, pg_temp
set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  by_worker constant boolean := pg_has_role(session_user, 'tallystick_worker', 'member');
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

  with item as (
    select i.*, h.size as head_size, h.chain as head_chain, h.envelope_kid, h.closed,
      k.seq as first_seq, k.salt as first_salt, k.fingerprint as first_fingerprint,
      r.state as from_state, r.version as from_version, r.last_seq, r.last_leaf,
      i.idempotency_hash is not null
        and row_number() over (partition by i.ledger_id, i.actor_id, i.idempotency_hash order by i.ix) > 1 as same_key,
      i.version is not null
        and row_number() over (partition by i.ledger_id, i.subject_id order by i.ix) > 1 as same_subject
    from unnest(ledger_ids, kinds, subject_ids, versions, to_states, previous_leaves, actor_ids, key_ids, kids,
        recorded_ats, leaves, envelopes, idempotency_hashes, request_salts, request_hashes)
      with ordinality i (ledger_id, kind, subject_id, version, to_state, previous_leaf, actor_id, key_id, kid,
        recorded_at, leaf, envelope, idempotency_hash, request_salt, request_hash, ix)
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
      select x.state, x.version, x.last_seq, e.leaf as last_leaf
      from records x join entries e on e.ledger_id = x.ledger_id and e.seq = x.last_seq
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
        when i.same_key or (i.same_subject and i.version > coalesce(i.from_version, 0)) then 7
        when k.kind is null or (k.worker_only and not by_worker) or k.record_event <> (i.version is not null) then 8
        when i.kid is distinct from i.envelope_kid then 6
        when k.record_event and not exists (
          select from record_transitions t
          where t.from_state = coalesce(i.from_state, '') and t.kind = i.kind and t.to_state = i.to_state) then 3
        when i.version <> coalesce(i.from_version, 0) + 1 or i.previous_leaf is distinct from i.last_leaf then 6
        when abs(extract(epoch from i.recorded_at - clock_timestamp())) > 30 then 4
        else 0
      end as outcome
    from item i left join entry_kinds k on k.kind = i.kind
  ), appended as (
    select d.*, d.head_size + row_number() over w - 1 as seq, chain_extend(d.leaf, d.head_chain) over w as chain
    from decided d
    where d.outcome = 0
    window w as (partition by d.ledger_id order by d.ix)
  ), new_entries as (
    insert into entries (ledger_id, seq, kind, subject_id, version, prev_seq, actor_id, key_id, recorded_at,
      leaf, chain, envelope)
    select ledger_id, seq, kind, subject_id, version, last_seq, actor_id, key_id, recorded_at, leaf, chain, envelope
    from appended
  ), new_idempotency_keys as (
    insert into idempotency_keys (ledger_id, actor_id, key_hash, salt, fingerprint, seq)
    select ledger_id, actor_id, idempotency_hash, request_salt, sha256(request_salt || request_hash), seq
    from appended
    where idempotency_hash is not null
  ), new_records as (
    insert into records (ledger_id, record_id, type, state, version, first_seq, last_seq, item_index, actor_id,
      on_behalf_of, occurred_at, traceparent, digest, salt, payload, metadata, parent_id, reference_list)
    select a.ledger_id, n.record_id, n.type, a.to_state, 1, a.seq, a.seq, n.item_index, a.actor_id,
      n.on_behalf_of, n.occurred_at, n.traceparent, n.digest, n.salt, n.payload, n.metadata,
      n.parent_id, n.reference_list
    from unnest(record_items, record_ids, record_indexes, record_types, record_digests, record_salts,
        record_payloads, record_on_behalf_of, record_occurred_ats, record_traceparents, record_metadata,
        record_parents, record_reference_lists)
      n (item, record_id, item_index, type, digest, salt, payload, on_behalf_of, occurred_at, traceparent, metadata,
        parent_id, reference_list)
    join appended a on a.ix = n.item
  )
  select array_agg(d.outcome order by d.ix), array_agg(coalesce(a.seq, d.first_seq, 0) order by d.ix),
    string_agg(set_byte('\x00'::bytea, 0, d.outcome) || int8send(coalesce(a.seq, d.first_seq, 0))
      || coalesce(a.chain, '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea), '' order by d.ix)
  into outcomes, seqs, answer
  from decided d left join appended a on a.ix = d.ix;

  -- Steps of records that exist: none in a call that only notarizes.
  if exists (select from unnest(versions) v where v > 1) then
    update records r set state = i.to_state, version = i.version, last_seq = i.seq
    from unnest(ledger_ids, subject_ids, to_states, versions, outcomes, seqs)
      i (ledger_id, subject_id, to_state, version, outcome, seq)
    where i.outcome = 0 and i.version > 1 and r.ledger_id = i.ledger_id and r.record_id = i.subject_id;
  end if;

  -- A first event without a record is a caller's fault, and would be found by nobody but an auditor.
  if (select count(*) from unnest(versions, outcomes) i (version, outcome) where i.outcome = 0 and i.version = 1)
    <> (select count(distinct n.item) from unnest(record_items) n (item) where outcomes[n.item] = 0) then
    raise exception 'an entry that begins records comes with them'
      using errcode = 'integrity_constraint_violation', constraint = 'entries_make_records';
  end if;

  if exists (select from unnest(record_reference_lists) l where l is not null) then
    insert into record_references (ledger_id, reference, first_seq, record_id)
    select distinct ledger_ids[n.item], reference, seqs[n.item], n.record_id
    from unnest(record_items, record_ids, record_reference_lists) n (item, record_id, reference_list)
    cross join lateral jsonb_array_elements_text(convert_from(n.reference_list, 'UTF8')::jsonb) reference
    where outcomes[n.item] = 0;
  end if;

  -- What administrative entries (no version) say about ledgers, agents and keys; details hold their columns as JSON.
  if exists (select from unnest(versions) v where v is null) then
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

  insert into erasures (ledger_id, subject_id, document, seq, reason)
  select i.ledger_id, i.subject_id, d.document, i.seq, d.reason
  from unnest(ledger_ids, kinds, subject_ids, details, outcomes, seqs)
      i (ledger_id, kind, subject_id, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json) d (document text, reason text) on true
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

-- ---------------------------------------------------------------------------------------------------------
-- Privileges
-- ---------------------------------------------------------------------------------------------------------

revoke all on all functions in schema tallystick from public;
grant execute on function append_entries to tallystick_api, tallystick_worker;
grant select on api_key_secrets, types, ledger_closures, record_references, erasures to tallystick_api, tallystick_worker;
grant execute on function replace_key_secrets, set_key_rate_limit, set_ledger_rate_limit, set_ledger_frozen to tallystick_api;
grant execute on function close_restored_ledgers, retire_envelope_keys, erase_document to tallystick_worker;
