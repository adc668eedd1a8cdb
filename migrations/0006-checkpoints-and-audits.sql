-- Checkpoints, the stored part of the Merkle tree, and the worker's verification.

set local search_path = tallystick;

create table tree_frontiers (
  ledger_id uuid primary key references ledgers,
  size bigint not null check (size > 0),
  hashes bytea not null check (length(hashes) % 32 = 0)   -- roots of perfect subtrees, largest first
);
comment on table tree_frontiers is
  'Roots of the perfect subtrees of each Merkle tree, largest first.';
create trigger tree_frontiers_grow before update on tree_frontiers for each row execute function tree_grows();

create table tree_tiles (
  ledger_id uuid not null references ledgers,
  level int2 not null check (level between 0 and 7),
  tile_index bigint not null check (tile_index >= 0),
  hashes bytea not null check (length(hashes) % 32 = 0 and length(hashes) between 32 and 8192),
  primary key (ledger_id, level, tile_index)
);
comment on table tree_tiles is
  'Hash tiles. Level l, tile n, hash i is the root of the perfect subtree over 256^l leaves, number n * 256 + i. Level 0 is stored when its 256 leaves exist; higher levels grow hash by hash.';
create trigger tree_tiles_grow before update on tree_tiles for each row execute function tree_grows();

create table checkpoints (
  ledger_id uuid not null references ledgers,
  size bigint not null check (size > 0),
  root bytea not null check (length(root) = 32),
  chain bytea not null check (length(chain) = 32),
  note text not null check (length(note) <= 4096),
  published_at timestamptz not null default now(),
  primary key (ledger_id, size)
);
comment on table checkpoints is
  'Signed checkpoints (C2SP signed notes).';

create trigger checkpoints_agree before insert on checkpoints
  for each row execute function checkpoints_agree();
create trigger checkpoints_append_only before update or delete on checkpoints
  for each row execute function refuse_change();
create trigger checkpoints_no_truncate before truncate on checkpoints
  for each statement execute function refuse_change();

create table cosignatures (
  ledger_id uuid not null,
  size bigint not null,
  witness_kid bytea not null check (length(witness_kid) = 32),
  -- The peer that cosigned, or null for a witness that the operator has named. The constraint below makes a peer count
  -- only once, even if it changes its key.
  peer_id uuid,
  line text not null check (length(line) <= 512 and line ~ '^\u2014 [^\n]+\n$'),
  cosigned_at timestamptz not null default now(),
  primary key (ledger_id, size, witness_kid),
  constraint cosignatures_once_a_peer unique (ledger_id, size, peer_id),
  foreign key (ledger_id, size) references checkpoints
);
comment on table cosignatures is
  'Signature lines of witnesses (C2SP tlog-cosignature) on checkpoints. They are served after the note. witness_kid is the thumbprint of the witness''s key.';
create index cosignatures_by_witness on cosignatures (ledger_id, witness_kid, size);

create trigger cosignatures_append_only before update or delete on cosignatures
  for each row execute function refuse_change();
create trigger cosignatures_no_truncate before truncate on cosignatures
  for each statement execute function refuse_change();

create table audits (
  ledger_id uuid not null references ledgers,
  audit_id uuid not null,
  requested_by uuid,                      -- agent that requested the audit; null if the schedule did
  requested_at timestamptz not null default now(),
  state text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed')),
  job_id uuid,
  entries_total bigint,
  entries_done bigint not null default 0,
  started_at timestamptz,
  finished_at timestamptz,
  ok boolean,
  report jsonb,
  error jsonb,                            -- {code, reason} of the newest attempt, if it ended without a report
  primary key (ledger_id, audit_id),
  constraint audits_outcome check ((state = 'done') = (ok is not null) and (state = 'done') = (report is not null)
    and (state in ('done', 'failed')) = (finished_at is not null)
    and (state = 'done') <= (error is null) and (state = 'failed') <= (error is not null))
);
comment on table audits is
  'Audits of whole ledgers: queued (with job_id once there is a job), running, done or failed. ok and report have the result of a done audit, error the reason of a failed audit. The rows are no evidence: a reader who doubts a ledger verifies it.';
-- A ledger has at most one open audit. An audit reads the whole ledger, and two audits at the same time would only be
-- slower.
create unique index audits_open on audits (ledger_id) where state in ('queued', 'running');
create index audits_waiting on audits (requested_at) where state = 'queued' and job_id is null;
create index audits_done on audits (ok, finished_at) where state = 'done';

create table audit_cursors (
  ledger_id uuid primary key,
  next_seq bigint not null check (next_seq > 0),
  chain bytea not null check (length(chain) = 32),
  envelope_kid bytea not null check (length(envelope_kid) = 32),
  agent_keys bytea check (length(agent_keys) = 32),  -- digest of the agents' signing keys; null if no agent ever had a signing key
  mac bytea not null check (length(mac) = 32)
) with (fillfactor = 50);
comment on table audit_cursors is
  'Position of the follower: every entry before next_seq is verified, and the next entry must continue chain and envelope_kid. next_seq is the ledger''s verified size: money moves only on entries below it. A row is trusted only with its MAC under the master key. There is no foreign key, because the row of the ledger may be the one that is missing.';

create table ledger_faults (
  ledger_id uuid not null,
  found_at timestamptz not null default clock_timestamp(),
  found_by text not null check (found_by in ('follower', 'audit')),
  seq bigint,                             -- null if the fault concerns the whole ledger
  code text not null check (length(code) <= 64),
  reason text not null check (length(reason) <= 2000),
  cleared_at timestamptz,
  cleared_note text check (length(cleared_note) between 1 and 1000),
  primary key (ledger_id, found_at),
  constraint ledger_faults_cleared check ((cleared_at is null) = (cleared_note is null))
);
comment on table ledger_faults is
  'Faults of ledgers. A ledger with an open fault gets no checkpoints. The first fault stays open until the operator clears it with the login of the owner.';
create unique index ledger_faults_open on ledger_faults (ledger_id) where cleared_at is null;

create table archives (
  ledger_id uuid primary key references ledgers,
  size bigint not null default 0 check (size >= 0),
  seal_digest bytea check (length(seal_digest) = 32),
  sealed_at timestamptz,
  claimed_by uuid,
  claimed_until timestamptz,
  constraint archives_sealed check ((size > 0) = (seal_digest is not null) and (size > 0) = (sealed_at is not null))
);
comment on table archives is
  'Number of archived entries of each ledger, and the SHA-256 of the newest seal. The worker with the claim writes the next seal.';

create table archive_keys (
  ledger_id uuid not null references ledgers,
  from_seq bigint not null check (from_seq >= 0),
  sealed bytea not null,
  primary key (ledger_id, from_seq)
);
comment on table archive_keys is
  'Secrets from which the keys of archived documents are derived, for the piece that begins at from_seq. They are sealed under the master key. A document is erased from the archive by removing the secret from which its key is derived.';

create table archive_pieces (
  ledger_id uuid not null references archives on delete cascade,
  from_seq bigint not null check (from_seq >= 0),
  end_seq bigint not null check (end_seq > from_seq),
  lines_digest bytea not null check (length(lines_digest) = 32),
  lines_bytes int4 not null check (lines_bytes > 0),
  documents_digest bytea check (length(documents_digest) = 32),
  documents_bytes int4 check (documents_bytes > 0),
  state text not null default 'kept' check (state in ('kept', 'leaving', 'left')),
  primary key (ledger_id, from_seq),
  check ((documents_digest is null) = (documents_bytes is null))
);
comment on table archive_pieces is
  'Pieces of archives, with the SHA-256 and length of their objects. They are read for content that has left Postgres. State kept: all content is in Postgres too; leaving: some of it has left; left: all content that may leave has left.';
comment on column archive_pieces.documents_digest is 'null: the piece has no documents.';
create index archive_pieces_here on archive_pieces (ledger_id, from_seq) where state <> 'left';

create trigger archive_pieces_change before update or delete on archive_pieces
  for each row execute function archive_pieces_change();
create trigger archive_pieces_no_truncate before truncate on archive_pieces
  for each statement execute function refuse_change();
