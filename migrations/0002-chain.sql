-- Ledgers and their chains.
--
-- The primary key of every tenant table begins with ledger_id, and every foreign key includes it. The ledger is the
-- unit of isolation and of distribution (docs/ARCHITECTURE.md, "The database").
--
-- The busiest tables (entries, records, idempotency_keys) have no foreign keys, because the trigger for each row costs
-- more than the insert. append_entries and the statement-level triggers make the same checks for whole sets.

set local search_path = tallystick;

create table ledgers (
  ledger_id uuid primary key,
  name text not null check (length(name) between 1 and 200),
  issuer text not null,
  origin text not null unique,
  note_kid bytea not null references server_keys,
  rate_limit_per_second real check (rate_limit_per_second > 0),
  rate_limit_burst int4 check (rate_limit_burst > 0),
  tiles_public boolean not null default false,
  -- 244 random bits, made by gen_random_uuid, because Postgres has no other source of strong random bits.
  subject_salt bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) check (length(subject_salt) = 32),
  check ((rate_limit_per_second is null) = (rate_limit_burst is null))
);
comment on table ledgers is
  'Tenants. Each ledger is one chain, and the unit of isolation.';
comment on column ledgers.subject_salt is 'Key of the label hashes by which the records of a data subject are found.';
-- Index for servers. Each server reads all public ledgers together every 5 s (src/ledgers/public-ledgers.ts).
create index ledgers_public on ledgers (ledger_id) where tiles_public;

create table chain_heads (
  ledger_id uuid primary key,
  size bigint not null check (size >= 0),
  chain bytea not null check (length(chain) = 32),
  envelope_kid bytea not null check (length(envelope_kid) = 32),
  closed text check (closed in ('frozen', 'restored', 'moving', 'moved')),
  -- The chain begins with the hash of 'tallystick-chain-v1' || ledger uuid (docs/formats/chain-and-checkpoints.md).
  check (size > 0 or chain = sha256('\x74616c6c79737469636b2d636861696e2d7631'::bytea || uuid_send(ledger_id)))
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
comment on table chain_heads is
  'Newest link of each chain, locked by every append to the ledger. Only a trigger on entries moves it.';

create trigger chain_heads_forward_only before insert or update or delete on chain_heads
  for each row execute function chain_heads_forward_only();
alter table chain_heads enable always trigger chain_heads_forward_only;
create trigger chain_heads_no_truncate before truncate on chain_heads
  for each statement execute function refuse_change();

create table ledger_closures (
  ledger_id uuid not null references ledgers,
  closed_at timestamptz not null default now(),
  known_size bigint not null check (known_size > 0),
  known_chain bytea not null check (length(known_chain) = 32),
  was_frozen boolean not null,            -- true: when the operator acknowledges the restore, the ledger is frozen again
  restored_seq bigint,
  primary key (ledger_id, known_size, known_chain)
);
comment on table ledger_closures is
  'Ledgers found to be shorter than, or different from, a state stored outside Postgres. The ledger-restored entry at restored_seq acknowledges that and reopens the ledger.';
create unique index ledger_closures_open on ledger_closures (ledger_id) where restored_seq is null;

create table entries (
  ledger_id uuid not null,
  seq bigint not null check (seq >= 0),
  kind text not null,
  subject_id uuid,                        -- the record, batch, agent, key or ledger that the entry is about
  version int4,  -- the record's version after the entry
  item_count int4 check (item_count between 1 and 2048),  -- number of records in a batch
  prev_seq bigint check (prev_seq < seq), -- the record's previous entry, if it has one
  actor_id uuid,                          -- null if the actor is `system`
  key_id uuid,
  recorded_at timestamptz not null,
  leaf bytea not null check (length(leaf) = 32),
  chain bytea not null check (length(chain) = 32),
  envelope bytea check (length(envelope) between 1 and 32768),
  signer_kid bytea check (length(signer_kid) = 32),  -- null if the entry is signed with the ledger's envelope key
  primary key (ledger_id, seq),
  constraint entries_leaf check (leaf = sha256('\x00'::bytea || envelope)),
  constraint entries_batch check ((item_count is not null) = (kind = 'batch-notarized')),
  constraint entries_record_event check ((version is null and prev_seq is null) or subject_id is not null),
  -- A ledger begins with its ledger-created entry, and no other entry has this kind.
  constraint entries_begin check ((seq = 0) = (kind = 'ledger-created')
    and (seq > 0 or subject_id is not distinct from ledger_id))
) with (autovacuum_vacuum_scale_factor = 0.02);
comment on table entries is
  'The chain: signed envelopes in their order, append-only. An entry never changes, except that the envelope of a notarization leaves for the archive.';
comment on column entries.subject_id is 'Record, batch, agent, key or ledger that the entry is about.';
comment on column entries.version is 'Version of the record after the event.';
comment on column entries.item_count is 'Number of records in a batch; null: the entry is no batch.';
comment on column entries.prev_seq is 'Previous entry of the record.';
comment on column entries.actor_id is 'Agent that acted; null: the actor is `system`.';
comment on column entries.leaf is 'SHA-256 of 0x00 and the envelope (RFC 9162, section 2.1.1).';
comment on column entries.chain is 'Chain after this entry (docs/formats/chain-and-checkpoints.md).';
comment on column entries.signer_kid is 'Key of the agent that signed the entry itself; null: the server signed it.';
comment on column entries.envelope is 'COSE_Sign1 over an in-toto Statement (docs/formats/envelopes.md). For kind statement it is the envelope of another party (docs/formats/registered-statements.md); null: only the archive has the envelope.';

-- Index of the steps of records, with at most one entry for each version. If somebody inserts a copy of an old entry,
-- the index refuses it. If the index is missing, an audit finds the copy. Notarizations are not in the index.
create unique index entries_by_record on entries (ledger_id, subject_id, version) include (seq, kind) where version > 1;
-- Index for searches by actor. It contains only the first entry of each record. Batches are found by batch_keys.
create index entries_by_actor on entries (ledger_id, actor_id, seq nulls first) where version = 1 and item_count is null;

-- Finds a ledger's newest registration policy without reading other entries.
create index entries_policies on entries (ledger_id, seq) where kind = 'registration-policy-set';

create trigger entries_extend_chain after insert on entries
  referencing new table as added for each statement execute function entries_extend_chain();
alter table entries enable always trigger entries_extend_chain;
create trigger entries_append_only before update or delete on entries
  for each row execute function entries_change();
create trigger entries_no_truncate before truncate on entries
  for each statement execute function refuse_change();

create aggregate chain_extend(leaf bytea, head bytea) (sfunc = chain_step, stype = bytea);
comment on aggregate chain_extend(bytea, bytea) is 'Chain after each leaf, as a window aggregate, starting from the chain of the head.';

create table idempotency_keys (
  ledger_id uuid not null,
  actor_id uuid not null,
  key_hash bytea not null check (length(key_hash) = 16),
  salt bytea check (length(salt) = 16),
  fingerprint bytea check (length(fingerprint) = 32),
  seq bigint not null,
  check ((salt is null) = (fingerprint is null)),
  primary key (ledger_id, actor_id, key_hash)
);
comment on table idempotency_keys is
  'Answered requests, stored forever. key_hash is the hash of the key''s text. The fingerprint is H(salt || H(method, path, JCS(body))). A short request could be guessed from it after the payload was erased, so an erasure removes salt and fingerprint.';
create index idempotency_keys_by_seq on idempotency_keys (ledger_id, seq);

create trigger idempotency_keys_no_truncate before truncate on idempotency_keys
  for each statement execute function refuse_change();
create trigger idempotency_keys_no_delete before delete on idempotency_keys
  for each row execute function refuse_change();
create trigger idempotency_keys_change before update on idempotency_keys
  for each row execute function idempotency_keys_change();
