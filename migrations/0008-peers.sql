-- Federation (docs/formats/federation.md): peerings with ledgers of other servers, records shared with them, and
-- entries received from them.
--
-- Received entries are evidence, so their envelopes are stored. Each has an entry in the chain of this ledger, which
-- records that it was received. The progress of sending is no evidence.

set local search_path = tallystick;

-- ---------------------------------------------------------------------------------------------------------
-- Peerings
-- ---------------------------------------------------------------------------------------------------------

create table peers (
  ledger_id uuid not null references ledgers,
  peer_id uuid not null,                  -- id of the peering, the same on both sides
  name text not null check (length(name) between 1 and 256),
  role text not null check (role in ('inviter', 'invited')),
  state text not null check (state in ('invited', 'pending', 'active', 'suspended', 'revoked')),
  created_by uuid not null,
  created_at timestamptz not null default clock_timestamp(),
  token_hash bytea not null check (length(token_hash) = 32),
  expires_at timestamptz not null,        -- time when the invitation ends
  sealed_token bytea check (length(sealed_token) <= 256),  -- stored on the invited side until the handshake is complete
  -- Identities of both sides in canonical JSON. The invitation fixes the identity of the inviter. The handshake fixes
  -- the identity of the invited side.
  inviter text not null check (length(inviter) <= 4096),
  invited text check (length(invited) <= 4096),
  remote_ledger_id uuid,
  remote_url text check (length(remote_url) <= 2048),
  handshake bytea check (length(handshake) = 32),
  added_seq bigint,
  added_leaf bytea check (length(added_leaf) = 32),
  counterpart bytea check (length(counterpart) = 32),      -- leaf of the other side's peer-added entry
  revoked_seq bigint,
  primary key (ledger_id, peer_id),
  constraint peers_known check (state = 'invited' or state = 'revoked' or remote_ledger_id is not null),
  constraint peers_added check (state in ('invited', 'pending', 'revoked') or (added_seq is not null and handshake is not null))
);
comment on table peers is
  'Peerings with ledgers of other servers (docs/formats/federation.md).';
-- A ledger has at most one peering with each other ledger. Revoked peerings do not count.
create unique index peers_remote on peers (ledger_id, remote_ledger_id) where state <> 'revoked' and remote_ledger_id is not null;

create table peer_keys (
  ledger_id uuid not null,
  peer_id uuid not null,
  kid bytea not null check (length(kid) = 32),
  alg text not null check (alg in ('EdDSA', 'ES256')),
  spki bytea not null check (length(spki) <= 256),
  since timestamptz not null default clock_timestamp(),
  until_seq bigint check (until_seq >= 0),
  mac bytea check (length(mac) = 32),
  primary key (ledger_id, peer_id, kid),
  foreign key (ledger_id, peer_id) references peers
);
comment on table peer_keys is
  'Keys of the other ledger, as its chain named them. until_seq is the last entry of that chain under the key. The MAC under the master key covers ledger, peering and key. A row without a valid MAC is not trusted.';
create unique index peer_keys_current on peer_keys (ledger_id, peer_id) where until_seq is null;
create trigger peer_keys_no_delete before delete on peer_keys
  for each row execute function refuse_change();

create table peer_inboxes (
  ledger_id uuid not null,
  peer_id uuid not null,
  primary key (ledger_id, peer_id),
  foreign key (ledger_id, peer_id) references peers
);
comment on table peer_inboxes is
  'Lock of a peering, so that only one request runs at a time, on any server. It is a table of its own, because peers is written under the lock of the chain''s head.';

create table peer_nonces (
  ledger_id uuid not null,
  peer_id uuid not null,
  nonce bytea not null check (length(nonce) = 16),
  seen_at timestamptz not null default clock_timestamp(),
  primary key (ledger_id, peer_id, nonce)
);
comment on table peer_nonces is
  'Nonces of received signed requests, against replay.';

create table peer_budgets (
  ledger_id uuid not null,
  peer_id uuid not null,
  entries_max int8 check (entries_max > 0),
  bytes_max int8 check (bytes_max > 0),
  began_at timestamptz not null default '-infinity',
  entries int8 not null default 0 check (entries >= 0),
  bytes int8 not null default 0 check (bytes >= 0),
  primary key (ledger_id, peer_id),
  -- The delete cascades, because an invitation that nobody accepted is removed.
  foreign key (ledger_id, peer_id) references peers on delete cascade
) with (fillfactor = 50);
comment on table peer_budgets is
  'Storage that a peer may use in a day (null: the defaults in src/outside/federation/limits.ts) and has used since began_at. After a day the count starts again. An append locks the row of peer_inboxes first, so that no transaction waits for a row of this table.';

-- ---------------------------------------------------------------------------------------------------------
-- Shared and received records
-- ---------------------------------------------------------------------------------------------------------

create table shared_records (
  ledger_id uuid not null,
  record_id uuid not null,
  peer_id uuid not null,
  documents text not null check (documents in ('whole', 'digests')),
  shared_seq bigint not null,
  foreign key (ledger_id, peer_id) references peers
);
comment on table shared_records is
  'Records that a peer may read, with or without their documents.';
create index shared_records_by_peer on shared_records (ledger_id, peer_id, record_id);
-- The primary key is created last, because on an empty table the planner takes the index that was created last
-- (0004-records.sql, `records`).
alter table shared_records add primary key (ledger_id, record_id, peer_id);

create table received_entries (
  ledger_id uuid not null,
  seq bigint not null,
  peer_id uuid not null,
  remote_seq bigint not null check (remote_seq >= 0),
  kind text not null,
  record_id uuid,
  version int4 check (version >= 1),      -- version of the record after the entry; null if the entry is not an event of a record
  leaf bytea not null check (length(leaf) = 32),
  envelope bytea not null check (length(envelope) between 1 and 32768),
  primary key (ledger_id, seq),
  foreign key (ledger_id, peer_id) references peers,
  constraint received_entries_leaf check (leaf = sha256('\x00'::bytea || envelope)),
  constraint received_entries_once unique (ledger_id, peer_id, remote_seq)
);
comment on table received_entries is
  'Entries of other ledgers, each with the local entry that received it: entry-received, the step that took an offer, offer-refused, or peer-key-rotated.';
-- Finds the steps of records of the other ledger.
create unique index received_entries_by_record on received_entries (ledger_id, peer_id, record_id, version)
  where version is not null;
create index received_entries_about_record on received_entries (ledger_id, peer_id, record_id, remote_seq)
  where version is null and record_id is not null;

create trigger received_entries_append_only before update or delete on received_entries
  for each row execute function refuse_change();
create trigger received_entries_no_truncate before truncate on received_entries
  for each statement execute function refuse_change();
create trigger received_entries_charged after insert on received_entries referencing new table as came
  for each statement execute function charge_peers();

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
create index received_documents_erased on received_documents (ledger_id, erased_seq) where erased_seq is not null;
comment on table received_documents is
  'Documents whose digests are in entries of other ledgers, as received.';
create trigger received_documents_charged after insert on received_documents referencing new table as came
  for each statement execute function charge_peers();

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
comment on table received_types is
  'Types of other ledgers, as received.';
create trigger received_types_charged after insert on received_types referencing new table as came
  for each statement execute function charge_peers();

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
  -- The key includes the peer, because another peer may claim a record with the same id.
  primary key (ledger_id, record_id, peer_id),
  foreign key (ledger_id, peer_id) references peers
) with (autovacuum_vacuum_scale_factor = 0.02);
comment on table remote_records is
  'State of records of other ledgers, from received entries. The next step is checked against standing (src/proof/ledger/gated-record.ts).';
create index remote_records_by_peer on remote_records (ledger_id, peer_id, record_id);

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
comment on table offers is
  'Steps that agents of this ledger took in records of other ledgers, with the other side''s decision.';
create unique index offers_pending on offers (ledger_id, record_id, peer_id) where state = 'pending';
create index offers_by_record on offers (ledger_id, record_id, peer_id, seq);

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
comment on table peer_forks is
  'Entries of peers for whose position another entry is stored. They were refused and are stored as evidence.';
create trigger peer_forks_append_only before update or delete on peer_forks
  for each row execute function refuse_change();
create trigger peer_forks_charged after insert on peer_forks referencing new table as came
  for each statement execute function charge_peers();

create table peer_witnesses (
  ledger_id uuid not null,
  peer_id uuid not null,
  -- The key with which the other side cosigns checkpoints of this ledger, as the other side's server reported it. It is
  -- stored as a C2SP verifier key, and as its thumbprint.
  remote_key text check (length(remote_key) <= 512),
  remote_kid bytea check (length(remote_kid) = 32),
  -- The largest tree of the other ledger that this side has cosigned.
  seen_size bigint check (seen_size >= 0),
  seen_root bytea check (length(seen_root) = 32),
  seen_note text check (length(seen_note) <= 24576),
  -- The first fork that was found: two trees of the same size with different roots. `fork_held` is the tree that this
  -- side had cosigned, and `fork_note` is the other tree.
  fork_note text check (length(fork_note) <= 24576),
  fork_held text check (length(fork_held) <= 24576),
  primary key (ledger_id, peer_id),
  foreign key (ledger_id, peer_id) references peers,
  constraint peer_witnesses_seen check (num_nulls(seen_size, seen_root, seen_note) in (0, 3)),
  constraint peer_witnesses_fork check (num_nulls(fork_note, fork_held) in (0, 2))
);
comment on table peer_witnesses is
  'Peers as witnesses of each other (docs/formats/witnesses.md). The seen tree only grows: this side never cosigns a smaller tree.';
create trigger peer_witnesses_grow before update on peer_witnesses
  for each row execute function peer_witnesses_grow();
create trigger peer_witnesses_no_delete before delete on peer_witnesses
  for each row execute function refuse_change();

-- ---------------------------------------------------------------------------------------------------------
-- Sending
-- ---------------------------------------------------------------------------------------------------------

create table peer_cursors (
  ledger_id uuid not null,
  peer_id uuid not null,
  next_seq bigint not null check (next_seq >= 0),
  -- newest key of this ledger that the other side knows
  known_kid bytea not null check (length(known_kid) = 32),
  job_id uuid,
  leased_until timestamptz,
  served_at timestamptz not null default '-infinity',
  failures int4 not null default 0 check (failures >= 0),
  failing_since timestamptz,
  last_error text check (length(last_error) <= 1000),
  last_success_at timestamptz,
  resume_at timestamptz,
  -- Maximum size in bytes of the entries in a request; null means the default limit. request_refused_at is the time at
  -- which an intermediary last refused a larger request.
  request_bytes int4 check (request_bytes > 0),
  request_refused_at timestamptz,
  -- The other side's list of the records that it has stored, from the last comparison.
  summary text,
  summary_at timestamptz,
  summary_wanted boolean not null default false,
  primary key (ledger_id, peer_id),
  foreign key (ledger_id, peer_id) references peers
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
comment on table peer_cursors is
  'Progress of sending to each peer. The rows are no evidence.';

create table ledger_rotations (
  ledger_id uuid not null references ledgers,
  seq bigint not null,
  new_kid bytea not null check (length(new_kid) = 32),
  primary key (ledger_id, seq)
);
comment on table ledger_rotations is
  'Entries that replaced a ledger''s key. Peers get them before anything else. They are listed here, because finding them in the chain would take a scan.';

create table peer_backlog (
  ledger_id uuid not null,
  peer_id uuid not null,
  record_id uuid not null,
  from_seq bigint not null,
  primary key (ledger_id, peer_id, record_id),
  foreign key (ledger_id, peer_id) references peers
);
comment on table peer_backlog is
  'Records to send again from from_seq on, although the cursor has passed them.';

create table peer_receipts (
  ledger_id uuid not null,
  seq bigint not null,
  peer_id uuid not null,
  envelope bytea not null check (length(envelope) between 1 and 32768),
  primary key (ledger_id, seq, peer_id),
  foreign key (ledger_id, peer_id) references peers
);
comment on table peer_receipts is
  'Signed answers of the other side to entries of this ledger.';
create index peer_receipts_by_peer on peer_receipts (ledger_id, peer_id, seq);

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
comment on table peer_dead_letters is
  'Entries that the other side refused for good. Later entries of the record wait.';
create index peer_dead_letters_by_record on peer_dead_letters (ledger_id, peer_id, record_id);
