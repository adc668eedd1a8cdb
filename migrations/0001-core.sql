-- The core ledger: chain, records, idempotency, agents and keys, checkpoints and hash tiles.
--
-- Every tenant table's primary key begins with ledger_id, and every foreign key includes it: the ledger is
-- the unit of isolation and of distribution (docs/ARCHITECTURE.md, "The database"). No foreign key points
-- from the hot tables (entries, records, idempotency_keys): its per-row trigger costs more than the insert,
-- and append_entries and the statement-level triggers below check the same in sets.

set local search_path = tallystick;

-- ---------------------------------------------------------------------------------------------------------
-- What may happen: small tables that append_entries and the triggers consult
-- ---------------------------------------------------------------------------------------------------------

create table entry_kinds (
  kind text primary key,
  record_event boolean not null,          -- moves or makes records: must have a row in record_transitions
  worker_only boolean not null            -- taken from the worker's login only
);

create table record_states (
  state text primary key,
  terminal boolean not null
);

-- from_state '' means: the record does not exist yet.
create table record_transitions (
  from_state text not null,
  kind text not null references entry_kinds,
  to_state text not null references record_states,
  primary key (from_state, kind, to_state)
);

insert into entry_kinds (kind, record_event, worker_only) values
  ('ledger-created', false, false),
  ('agent-registered', false, false),
  ('key-created', false, false),
  ('record-notarized', true, false),
  ('batch-notarized', true, false);

insert into record_states (state, terminal) values ('RECORDED', true);

insert into record_transitions (from_state, kind, to_state) values
  ('', 'record-notarized', 'RECORDED'),
  ('', 'batch-notarized', 'RECORDED');

-- ---------------------------------------------------------------------------------------------------------
-- The deployment's own keys. Not tenant data: a reference table where the database is distributed.
-- ---------------------------------------------------------------------------------------------------------

create table server_keys (
  kid bytea primary key check (length(kid) = 32),
  use text not null check (use in ('envelope', 'note')),
  alg text not null check (alg in ('EdDSA', 'ES256')),
  spki bytea not null,
  activated_at timestamptz not null default now(),
  retired_at timestamptz,
  compromised_at timestamptz
);

-- One current key per use.
create unique index server_keys_current on server_keys (use) where retired_at is null;

-- Sealed under TALLYSTICK_MASTER_KEY. Two tables, because the API's login must not read the note key's.
create table envelope_key_secrets (
  kid bytea primary key references server_keys,
  sealed bytea not null
);

create table note_key_secrets (
  kid bytea primary key references server_keys,
  sealed bytea not null
);

-- ---------------------------------------------------------------------------------------------------------
-- Ledgers and their chains
-- ---------------------------------------------------------------------------------------------------------

create table ledgers (
  ledger_id uuid primary key,
  name text not null check (length(name) between 1 and 200),
  issuer text not null,
  origin text not null unique,
  note_kid bytea not null references server_keys
);

create table chain_heads (
  ledger_id uuid primary key,
  size bigint not null check (size >= 0),
  chain bytea not null check (length(chain) = 32),
  envelope_kid bytea not null check (length(envelope_kid) = 32),
  -- 'tallystick-chain-v1' || ledger uuid (docs/formats/chain-and-checkpoints.md)
  check (size > 0 or chain = sha256('\x74616c6c79737469636b2d636861696e2d7631'::bytea || uuid_send(ledger_id)))
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

create table entries (
  ledger_id uuid not null,
  seq bigint not null check (seq >= 0),
  kind text not null,
  subject_id uuid,                        -- the record, batch, agent, key or ledger that the entry is about
  version int4,                           -- of the record, after the event
  prev_seq bigint check (prev_seq < seq), -- the record's previous entry
  actor_id uuid,                          -- null: system
  key_id uuid,
  recorded_at timestamptz not null,
  leaf bytea not null check (length(leaf) = 32),
  chain bytea not null check (length(chain) = 32),
  envelope bytea not null check (length(envelope) between 1 and 32768),
  primary key (ledger_id, seq),
  constraint entries_leaf check (leaf = sha256('\x00'::bytea || envelope)),
  constraint entries_record_event check ((version is null and prev_seq is null) or subject_id is not null),
  -- A ledger begins with the entry that says what it is, and only begins with it.
  constraint entries_begin check ((seq = 0) = (kind = 'ledger-created')
    and (seq > 0 or subject_id is not distinct from ledger_id))
);

create table records (
  ledger_id uuid not null,
  record_id uuid not null,
  type text not null check (length(type) <= 80),
  state text not null,
  version int4 not null check (version >= 1),
  first_seq bigint not null,
  last_seq bigint not null check (last_seq >= first_seq),
  item_index int4 check (item_index >= 0),  -- place in its batch; null: notarized by an entry of its own
  actor_id uuid not null,
  on_behalf_of uuid,
  occurred_at timestamptz,
  traceparent text check (length(traceparent) <= 64),
  digest bytea not null check (length(digest) = 32),
  salt bytea check (length(salt) = 16),
  payload bytea check (length(payload) between 2 and 65536),
  metadata bytea check (length(metadata) between 2 and 4096),
  payload_erased_seq bigint check (payload_erased_seq > first_seq),
  constraint records_payload_or_erased check ((payload is null) = (salt is null)
    and (payload is not null or payload_erased_seq is not null))
);

-- The records of an entry, in order: exports, batch replies, and lists by seq.
create unique index records_by_seq on records (ledger_id, first_seq, item_index) nulls not distinct;

-- Made after the other index: while the table is empty a lookup by id costs the planner the same with both, it
-- prefers the younger one, and a session keeps its plan (steps took 5 to 10 ms each after 100,000 rows).
alter table records add primary key (ledger_id, record_id);

-- Never expire. The hash is of the key's text; the fingerprint is H(salt || H(method, path, JCS(body))), and
-- salted because a short request could be guessed from a bare hash after its payload was erased.
create table idempotency_keys (
  ledger_id uuid not null,
  actor_id uuid not null,
  key_hash bytea not null check (length(key_hash) = 16),
  salt bytea not null check (length(salt) = 16),
  fingerprint bytea not null check (length(fingerprint) = 32),
  seq bigint not null,
  primary key (ledger_id, actor_id, key_hash)
);

-- ---------------------------------------------------------------------------------------------------------
-- Who acts
-- ---------------------------------------------------------------------------------------------------------

create table agents (
  ledger_id uuid not null references ledgers,
  agent_id uuid not null,
  name text not null check (length(name) between 1 and 200),
  registered_seq bigint not null,
  primary key (ledger_id, agent_id),
  unique (ledger_id, name)
);

create table api_keys (
  ledger_id uuid not null,
  key_id uuid not null,
  agent_id uuid not null,
  name text not null check (length(name) between 1 and 200),
  scopes text[] not null,
  secret_hash bytea not null check (length(secret_hash) = 32),
  -- Of all that the row grants, under the master key: a row that was not made by a server grants nothing.
  mac bytea not null check (length(mac) = 32),
  expires_at timestamptz,
  created_seq bigint not null,
  primary key (ledger_id, key_id),
  unique (ledger_id, secret_hash),
  foreign key (ledger_id, agent_id) references agents
);

-- ---------------------------------------------------------------------------------------------------------
-- Checkpoints, and the Merkle tree as far as it is stored
-- ---------------------------------------------------------------------------------------------------------

create table tree_frontiers (
  ledger_id uuid primary key references ledgers,
  size bigint not null check (size > 0),
  hashes bytea not null check (length(hashes) % 32 = 0)   -- roots of perfect subtrees, largest first
);

-- Level l, hash i of tile n: the root of the perfect subtree of 256^l leaves number n * 256 + i. Level 0 is
-- stored when its 256 leaves are there; the levels above grow hash by hash.
create table tree_tiles (
  ledger_id uuid not null references ledgers,
  level int2 not null check (level between 0 and 7),
  tile_index bigint not null check (tile_index >= 0),
  hashes bytea not null check (length(hashes) % 32 = 0 and length(hashes) between 32 and 8192),
  primary key (ledger_id, level, tile_index)
);

create table checkpoints (
  ledger_id uuid not null references ledgers,
  size bigint not null check (size > 0),
  root bytea not null check (length(root) = 32),
  chain bytea not null check (length(chain) = 32),
  note text not null check (length(note) <= 4096),
  published_at timestamptz not null default now(),
  primary key (ledger_id, size)
);

-- ---------------------------------------------------------------------------------------------------------
-- Guards: the last line of defence, for every login including the owner's
-- ---------------------------------------------------------------------------------------------------------

create function refuse_change() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  raise exception '% is append-only: % is refused', tg_table_name, lower(tg_op)
    using errcode = 'integrity_constraint_violation', constraint = tg_table_name || '_append_only';
end $$;

create function chain_link(previous bytea, leaf bytea) returns bytea
  language sql immutable strict parallel safe
  return sha256('\x02'::bytea || previous || leaf);

-- As a window aggregate: the chain after each leaf, from the head's chain on.
create function chain_step(state bytea, leaf bytea, head bytea) returns bytea
  language plpgsql immutable parallel safe as $$
begin
  return sha256('\x02'::bytea || coalesce(state, head) || leaf);
end $$;

create aggregate chain_extend(leaf bytea, head bytea) (sfunc = chain_step, stype = bytea);

-- What was inserted continues each ledger's chain, link by link, and moves its head: there is no other way
-- to move a head, and no way to insert an entry that its head does not explain.
create function entries_extend_chain() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
declare
  ledgers_added bigint;
  ledgers_moved bigint;
begin
  select count(distinct ledger_id) into ledgers_added from added;
  with linked as (
    select a.ledger_id, a.seq, a.chain, a.leaf, h.size as head_size,
      row_number() over w as place,
      coalesce(lag(a.chain) over w, h.chain) as previous
    from added a join chain_heads h on h.ledger_id = a.ledger_id
    window w as (partition by a.ledger_id order by a.seq)
  ), checked as (
    select ledger_id, max(seq) + 1 as size, min(head_size) as head_size,
      (array_agg(chain order by seq desc))[1] as chain
    from linked
    group by ledger_id
    having bool_and(seq = head_size + place - 1 and chain = chain_link(previous, leaf))
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

create trigger entries_extend_chain after insert on entries
  referencing new table as added for each statement execute function entries_extend_chain();
create trigger entries_append_only before update or delete on entries
  for each row execute function refuse_change();
create trigger entries_no_truncate before truncate on entries
  for each statement execute function refuse_change();

create function chain_heads_forward_only() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if new.size = 0 then return new; end if;
  elsif tg_op = 'DELETE' then
    if old.size = 0 then return old; end if;  -- of a ledger-created that was refused: it never began
  elsif new.ledger_id = old.ledger_id and new.envelope_kid = old.envelope_kid and new.size > old.size
    and exists (select from entries e
      where e.ledger_id = new.ledger_id and e.seq = new.size - 1 and e.chain = new.chain) then
    return new;
  end if;
  raise exception 'a chain head moves forward only, together with the entries that explain it'
    using errcode = 'integrity_constraint_violation', constraint = 'chain_heads_forward_only';
end $$;

create trigger chain_heads_forward_only before insert or update or delete on chain_heads
  for each row execute function chain_heads_forward_only();
create trigger chain_heads_no_truncate before truncate on chain_heads
  for each statement execute function refuse_change();

-- A record begins with version 1 in a state that its first entry's kind leads to. It is the subject of that
-- entry, or one of its batch's items, which come all at once and numbered from 0.
create function records_begin() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if exists (
    select from (
      select ledger_id, first_seq, state, case when item_index is null then record_id end as subject_id,
        bool_and(version = 1 and last_seq = first_seq and payload is not null and payload_erased_seq is null)
          and coalesce(max(item_index) + 1, 1) = count(*) as fresh
      from added group by 1, 2, 3, 4
    ) a
    left join lateral (
      select true as known
      from entries e join record_transitions t on t.kind = e.kind and t.from_state = ''
      where e.ledger_id = a.ledger_id and e.seq = a.first_seq and t.to_state = a.state
        and case when e.kind = 'batch-notarized' then a.subject_id is null else e.subject_id = a.subject_id end
      offset 0
    ) entry on true
    where entry.known is null or not a.fresh
  ) then
    raise exception 'a record begins with an entry that is about it and leads to its state'
      using errcode = 'integrity_constraint_violation', constraint = 'records_begin';
  end if;
  return null;
end $$;

-- A record changes in two ways: a transition, explained by its newest entry; or its payload becomes null,
-- together with a payload-erased entry.
create function records_change() returns trigger language plpgsql
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
      or (a.type, a.first_seq, a.item_index, a.actor_id, a.on_behalf_of, a.occurred_at, a.traceparent, a.digest)
        is distinct from
         (b.type, b.first_seq, b.item_index, b.actor_id, b.on_behalf_of, b.occurred_at, b.traceparent, b.digest)
      -- its documents may only become null, with the entry that says so
      or ((a.payload, a.salt, a.metadata, a.payload_erased_seq)
          is distinct from (b.payload, b.salt, b.metadata, b.payload_erased_seq)
        and not (b.payload_erased_seq is null and erasure.known is not null
          and a.payload is null and a.salt is null and a.metadata is null))
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

create trigger records_begin after insert on records
  referencing new table as added for each statement execute function records_begin();
create trigger records_change after update on records
  referencing old table as before new table as after for each statement execute function records_change();
create trigger records_no_delete before delete on records
  for each row execute function refuse_change();
create trigger records_no_truncate before truncate on records
  for each statement execute function refuse_change();

create trigger idempotency_keys_append_only before update or delete on idempotency_keys
  for each row execute function refuse_change();
create trigger idempotency_keys_no_truncate before truncate on idempotency_keys
  for each statement execute function refuse_change();

-- A checkpoint says what the chain says, and never less than an earlier one.
create function checkpoints_agree() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if not exists (select from entries e
      where e.ledger_id = new.ledger_id and e.seq = new.size - 1 and e.chain = new.chain)
    or exists (select from checkpoints c where c.ledger_id = new.ledger_id and c.size >= new.size) then
    raise exception 'a checkpoint agrees with the chain and extends the checkpoints before it'
      using errcode = 'integrity_constraint_violation', constraint = 'checkpoints_agree';
  end if;
  return new;
end $$;

create trigger checkpoints_agree before insert on checkpoints
  for each row execute function checkpoints_agree();
create trigger checkpoints_append_only before update or delete on checkpoints
  for each row execute function refuse_change();
create trigger checkpoints_no_truncate before truncate on checkpoints
  for each statement execute function refuse_change();

-- The stored tree only grows: a frontier gets larger, a tile keeps the hashes that it has.
create function tree_grows() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
begin
  if tg_table_name = 'tree_frontiers' then
    if new.ledger_id = old.ledger_id and new.size > old.size then return new; end if;
  elsif (new.ledger_id, new.level, new.tile_index) = (old.ledger_id, old.level, old.tile_index)
    and substr(new.hashes, 1, length(old.hashes)) = old.hashes then
    return new;
  end if;
  raise exception 'the stored tree only grows'
    using errcode = 'integrity_constraint_violation', constraint = tg_table_name || '_grow';
end $$;

create trigger tree_frontiers_grow before update on tree_frontiers for each row execute function tree_grows();
create trigger tree_tiles_grow before update on tree_tiles for each row execute function tree_grows();
