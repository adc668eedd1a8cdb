-- What the migrations add up to. Made by `node tools/run.mjs tools/dump-schema.ts`; never edited, never run.

-- Logins

create role tallystick_api login nosuperuser nocreatedb nocreaterole noinherit;
create role tallystick_owner login nosuperuser nocreatedb createrole inherit;
create role tallystick_worker login nosuperuser nocreatedb nocreaterole noinherit;

-- Memberships of the logins

grant tallystick_api to tallystick_owner with admin option;
grant tallystick_worker to tallystick_owner with admin option;

-- Schemas

create schema tallystick authorization tallystick_owner;
create schema tallystick_jobs authorization tallystick_owner;

-- Tables

create table tallystick.agent_signing_keys (
  ledger_id uuid not null,
  agent_id uuid not null,
  kid bytea not null,
  alg text not null,
  spki bytea not null,
  required boolean not null,
  registered_seq bigint not null,
  revoked_seq bigint,
  constraint agent_signing_keys_alg_check CHECK ((alg = ANY (ARRAY['EdDSA'::text, 'ES256'::text]))),
  constraint agent_signing_keys_check CHECK ((revoked_seq > registered_seq)),
  constraint agent_signing_keys_kid_check CHECK ((length(kid) = 32)),
  constraint agent_signing_keys_ledger_id_agent_id_fkey FOREIGN KEY (ledger_id, agent_id) REFERENCES tallystick.agents(ledger_id, agent_id),
  constraint agent_signing_keys_pkey PRIMARY KEY (ledger_id, kid),
  constraint agent_signing_keys_spki_check CHECK ((length(spki) <= 91))
);

create table tallystick.agents (
  ledger_id uuid not null,
  agent_id uuid not null,
  name text not null,
  registered_seq bigint not null,
  disabled_seq bigint,
  constraint agents_check CHECK ((disabled_seq > registered_seq)),
  constraint agents_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint agents_ledger_id_name_key UNIQUE (ledger_id, name),
  constraint agents_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint agents_pkey PRIMARY KEY (ledger_id, agent_id)
);

create table tallystick.api_key_secrets (
  ledger_id uuid not null,
  secret_hash bytea not null,
  key_id uuid not null,
  mac bytea not null,
  expires_at timestamp with time zone,
  constraint api_key_secrets_ledger_id_key_id_fkey FOREIGN KEY (ledger_id, key_id) REFERENCES tallystick.api_keys(ledger_id, key_id),
  constraint api_key_secrets_mac_check CHECK ((length(mac) = 32)),
  constraint api_key_secrets_pkey PRIMARY KEY (ledger_id, secret_hash),
  constraint api_key_secrets_secret_hash_check CHECK ((length(secret_hash) = 32))
);

create table tallystick.api_keys (
  ledger_id uuid not null,
  key_id uuid not null,
  agent_id uuid not null,
  name text not null,
  scopes text[] not null,
  expires_at timestamp with time zone,
  created_seq bigint not null,
  revoked_seq bigint,
  rate_limit_per_second real,
  rate_limit_burst integer,
  otlp jsonb,
  constraint api_keys_check CHECK ((revoked_seq > created_seq)),
  constraint api_keys_check1 CHECK (((rate_limit_per_second IS NULL) = (rate_limit_burst IS NULL))),
  constraint api_keys_ledger_id_agent_id_fkey FOREIGN KEY (ledger_id, agent_id) REFERENCES tallystick.agents(ledger_id, agent_id),
  constraint api_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint api_keys_otlp_check CHECK ((jsonb_typeof(otlp) = 'object'::text)),
  constraint api_keys_pkey PRIMARY KEY (ledger_id, key_id),
  constraint api_keys_rate_limit_burst_check CHECK ((rate_limit_burst > 0)),
  constraint api_keys_rate_limit_per_second_check CHECK ((rate_limit_per_second > (0)::double precision))
);

create table tallystick.archive_keys (
  ledger_id uuid not null,
  from_seq bigint not null,
  sealed bytea not null,
  constraint archive_keys_from_seq_check CHECK ((from_seq >= 0)),
  constraint archive_keys_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint archive_keys_pkey PRIMARY KEY (ledger_id, from_seq)
);

create table tallystick.archive_pieces (
  ledger_id uuid not null,
  from_seq bigint not null,
  end_seq bigint not null,
  lines_digest bytea not null,
  lines_bytes integer not null,
  documents_digest bytea,
  documents_bytes integer,
  state text not null default 'kept'::text,
  constraint archive_pieces_check CHECK ((end_seq > from_seq)),
  constraint archive_pieces_check1 CHECK (((documents_digest IS NULL) = (documents_bytes IS NULL))),
  constraint archive_pieces_documents_bytes_check CHECK ((documents_bytes > 0)),
  constraint archive_pieces_documents_digest_check CHECK ((length(documents_digest) = 32)),
  constraint archive_pieces_from_seq_check CHECK ((from_seq >= 0)),
  constraint archive_pieces_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.archives(ledger_id) ON DELETE CASCADE,
  constraint archive_pieces_lines_bytes_check CHECK ((lines_bytes > 0)),
  constraint archive_pieces_lines_digest_check CHECK ((length(lines_digest) = 32)),
  constraint archive_pieces_pkey PRIMARY KEY (ledger_id, from_seq),
  constraint archive_pieces_state_check CHECK ((state = ANY (ARRAY['kept'::text, 'leaving'::text, 'left'::text])))
);

create table tallystick.archives (
  ledger_id uuid not null,
  size bigint not null default 0,
  seal_digest bytea,
  sealed_at timestamp with time zone,
  claimed_by uuid,
  claimed_until timestamp with time zone,
  constraint archives_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint archives_pkey PRIMARY KEY (ledger_id),
  constraint archives_seal_digest_check CHECK ((length(seal_digest) = 32)),
  constraint archives_sealed CHECK ((((size > 0) = (seal_digest IS NOT NULL)) AND ((size > 0) = (sealed_at IS NOT NULL)))),
  constraint archives_size_check CHECK ((size >= 0))
);

create table tallystick.audit_cursors (
  ledger_id uuid not null,
  next_seq bigint not null,
  chain bytea not null,
  envelope_kid bytea not null,
  agent_keys bytea,
  mac bytea not null,
  constraint audit_cursors_agent_keys_check CHECK ((length(agent_keys) = 32)),
  constraint audit_cursors_chain_check CHECK ((length(chain) = 32)),
  constraint audit_cursors_envelope_kid_check CHECK ((length(envelope_kid) = 32)),
  constraint audit_cursors_mac_check CHECK ((length(mac) = 32)),
  constraint audit_cursors_next_seq_check CHECK ((next_seq > 0)),
  constraint audit_cursors_pkey PRIMARY KEY (ledger_id)
) with (fillfactor=50);

create table tallystick.audits (
  ledger_id uuid not null,
  audit_id uuid not null,
  requested_by uuid,
  requested_at timestamp with time zone not null default now(),
  state text not null default 'queued'::text,
  job_id uuid,
  entries_total bigint,
  entries_done bigint not null default 0,
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  ok boolean,
  report jsonb,
  error jsonb,
  constraint audits_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint audits_outcome CHECK ((((state = 'done'::text) = (ok IS NOT NULL)) AND ((state = 'done'::text) = (report IS NOT NULL)) AND ((state = ANY (ARRAY['done'::text, 'failed'::text])) = (finished_at IS NOT NULL)) AND ((state = 'done'::text) <= (error IS NULL)) AND ((state = 'failed'::text) <= (error IS NOT NULL)))),
  constraint audits_pkey PRIMARY KEY (ledger_id, audit_id),
  constraint audits_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'done'::text, 'failed'::text])))
);

create table tallystick.batch_chunks (
  ledger_id uuid not null,
  seq bigint not null,
  chunk integer not null,
  first_record_id uuid not null,
  count integer not null,
  content bytea,
  erased_seq bigint,
  released_bytes integer,
  metadata bytea,
  constraint batch_chunks_check CHECK ((erased_seq > seq)),
  constraint batch_chunks_chunk_check CHECK (((chunk >= 0) AND (chunk <= 31))),
  constraint batch_chunks_content_check CHECK (((length(content) >= 1) AND (length(content) <= 5242880))),
  constraint batch_chunks_count_check CHECK (((count >= 1) AND (count <= 64))),
  constraint batch_chunks_ids CHECK (((((get_byte(uuid_send(first_record_id), 14) & 15) * 256) + get_byte(uuid_send(first_record_id), 15)) = (64 * chunk))),
  constraint batch_chunks_metadata_check CHECK (((length(metadata) >= 1) AND (length(metadata) <= 5242880))),
  constraint batch_chunks_pkey PRIMARY KEY (ledger_id, seq, chunk),
  constraint batch_chunks_released CHECK ((((content IS NULL) = (released_bytes IS NOT NULL)) AND ((content IS NULL) OR (metadata IS NULL)))),
  constraint batch_chunks_released_bytes_check CHECK ((released_bytes > 0))
) with (autovacuum_vacuum_scale_factor=0.02);

create table tallystick.batch_keys (
  ledger_id uuid not null,
  key bytea not null,
  seq bigint not null,
  chunk integer not null,
  constraint batch_keys_key_check CHECK (((length(key) >= 2) AND (length(key) <= 1100))),
  constraint batch_keys_pkey PRIMARY KEY (ledger_id, key, seq, chunk)
);

create table tallystick.chain_heads (
  ledger_id uuid not null,
  size bigint not null,
  chain bytea not null,
  envelope_kid bytea not null,
  closed text,
  constraint chain_heads_chain_check CHECK ((length(chain) = 32)),
  constraint chain_heads_check CHECK (((size > 0) OR (chain = sha256(('\x74616c6c79737469636b2d636861696e2d7631'::bytea || uuid_send(ledger_id)))))),
  constraint chain_heads_closed_check CHECK ((closed = ANY (ARRAY['frozen'::text, 'restored'::text, 'moving'::text, 'moved'::text]))),
  constraint chain_heads_envelope_kid_check CHECK ((length(envelope_kid) = 32)),
  constraint chain_heads_pkey PRIMARY KEY (ledger_id),
  constraint chain_heads_size_check CHECK ((size >= 0))
) with (fillfactor=50, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0);

create table tallystick.checkpoints (
  ledger_id uuid not null,
  size bigint not null,
  root bytea not null,
  chain bytea not null,
  note text not null,
  published_at timestamp with time zone not null default now(),
  constraint checkpoints_chain_check CHECK ((length(chain) = 32)),
  constraint checkpoints_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint checkpoints_note_check CHECK ((length(note) <= 4096)),
  constraint checkpoints_pkey PRIMARY KEY (ledger_id, size),
  constraint checkpoints_root_check CHECK ((length(root) = 32)),
  constraint checkpoints_size_check CHECK ((size > 0))
);

create table tallystick.cosignatures (
  ledger_id uuid not null,
  size bigint not null,
  witness_kid bytea not null,
  peer_id uuid,
  line text not null,
  cosigned_at timestamp with time zone not null default now(),
  constraint cosignatures_ledger_id_size_fkey FOREIGN KEY (ledger_id, size) REFERENCES tallystick.checkpoints(ledger_id, size),
  constraint cosignatures_line_check CHECK (((length(line) <= 512) AND (line ~ '^\u2014 [^\n]+\n$'::text))),
  constraint cosignatures_once_a_peer UNIQUE (ledger_id, size, peer_id),
  constraint cosignatures_pkey PRIMARY KEY (ledger_id, size, witness_kid),
  constraint cosignatures_witness_kid_check CHECK ((length(witness_kid) = 32))
);

create table tallystick.documents (
  ledger_id uuid not null,
  seq bigint not null,
  document text not null,
  subject_id uuid not null,
  digest bytea not null,
  salt bytea,
  content bytea,
  erased_seq bigint,
  constraint documents_check CHECK ((erased_seq > seq)),
  constraint documents_content_check CHECK (((length(content) >= 2) AND (length(content) <= 65536))),
  constraint documents_content_or_erased CHECK ((((content IS NULL) = (salt IS NULL)) AND ((content IS NULL) = (erased_seq IS NOT NULL)))),
  constraint documents_digest_check CHECK ((length(digest) = 32)),
  constraint documents_document_check CHECK ((document = ANY (ARRAY['evidence'::text, 'values'::text, 'reason'::text]))),
  constraint documents_pkey PRIMARY KEY (ledger_id, seq),
  constraint documents_salt_check CHECK ((length(salt) = 16))
);

create table tallystick.entries (
  ledger_id uuid not null,
  seq bigint not null,
  kind text not null,
  subject_id uuid,
  version integer,
  item_count integer,
  prev_seq bigint,
  actor_id uuid,
  key_id uuid,
  recorded_at timestamp with time zone not null,
  leaf bytea not null,
  chain bytea not null,
  envelope bytea,
  signer_kid bytea,
  constraint entries_batch CHECK (((item_count IS NOT NULL) = (kind = 'batch-notarized'::text))),
  constraint entries_begin CHECK ((((seq = 0) = (kind = 'ledger-created'::text)) AND ((seq > 0) OR (NOT (subject_id IS DISTINCT FROM ledger_id))))),
  constraint entries_chain_check CHECK ((length(chain) = 32)),
  constraint entries_check CHECK ((prev_seq < seq)),
  constraint entries_envelope_check CHECK (((length(envelope) >= 1) AND (length(envelope) <= 32768))),
  constraint entries_item_count_check CHECK (((item_count >= 1) AND (item_count <= 2048))),
  constraint entries_leaf CHECK ((leaf = sha256(('\x00'::bytea || envelope)))),
  constraint entries_leaf_check CHECK ((length(leaf) = 32)),
  constraint entries_pkey PRIMARY KEY (ledger_id, seq),
  constraint entries_record_event CHECK ((((version IS NULL) AND (prev_seq IS NULL)) OR (subject_id IS NOT NULL))),
  constraint entries_seq_check CHECK ((seq >= 0)),
  constraint entries_signer_kid_check CHECK ((length(signer_kid) = 32))
) with (autovacuum_vacuum_scale_factor=0.02);

create table tallystick.entry_kinds (
  kind text not null,
  record_event boolean not null,
  worker_only boolean not null,
  constraint entry_kinds_pkey PRIMARY KEY (kind)
);

create table tallystick.envelope_key_secrets (
  kid bytea not null,
  sealed bytea not null,
  constraint envelope_key_secrets_kid_fkey FOREIGN KEY (kid) REFERENCES tallystick.server_keys(kid),
  constraint envelope_key_secrets_pkey PRIMARY KEY (kid)
);

create table tallystick.erasures (
  ledger_id uuid not null,
  subject_id uuid not null,
  document text not null,
  seq bigint not null,
  reason text,
  erased_at timestamp with time zone,
  document_seq bigint not null,
  constraint erasures_check CHECK ((document_seq < seq)),
  constraint erasures_document_check CHECK ((document = ANY (ARRAY['payload'::text, 'evidence'::text, 'values'::text, 'reason'::text]))),
  constraint erasures_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint erasures_pkey PRIMARY KEY (ledger_id, subject_id, document, document_seq),
  constraint erasures_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 1000)))
);

create table tallystick.gated_records (
  ledger_id uuid not null,
  record_id uuid not null,
  first_seq bigint not null,
  principal_id uuid not null,
  performer_id uuid,
  gate text not null,
  deadline timestamp with time zone,
  max_revisions integer not null,
  tolerances bytea,
  state text not null,
  version integer not null,
  last_seq bigint not null,
  revisions integer not null default 0,
  ended_as text not null generated always as stored 
CASE
    WHEN (state = ANY (ARRAY['ACCEPTED'::text, 'REJECTED'::text, 'CANCELLED'::text, 'EXPIRED'::text])) THEN state
    ELSE ''::text
END,
  performer_remote text,
  constraint gated_records_check CHECK ((last_seq >= first_seq)),
  constraint gated_records_deadline_check CHECK (isfinite(deadline)),
  constraint gated_records_gate_check CHECK ((gate = ANY (ARRAY['principal'::text, 'auto'::text]))),
  constraint gated_records_max_revisions_check CHECK ((max_revisions >= 0)),
  constraint gated_records_parties CHECK ((performer_id <> principal_id)),
  constraint gated_records_performer CHECK (((performer_id IS NOT NULL) OR (state = ANY (ARRAY['CREATED'::text, 'CANCELLED'::text, 'EXPIRED'::text])))),
  constraint gated_records_performer_remote_check CHECK ((performer_remote ~~ 'led\_%/agt\_%'::text)),
  constraint gated_records_pkey PRIMARY KEY (ledger_id, record_id),
  constraint gated_records_revisions CHECK ((revisions <= max_revisions)),
  constraint gated_records_revisions_check CHECK ((revisions >= 0)),
  constraint gated_records_tolerances_check CHECK (((length(tolerances) >= 2) AND (length(tolerances) <= 16384))),
  constraint gated_records_version_check CHECK ((version >= 1))
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0.02);

create table tallystick.guards (
  relation text not null,
  name text not null,
  always boolean not null,
  constraint guards_pkey PRIMARY KEY (relation, name)
);

create table tallystick.hold_records (
  ledger_id uuid not null,
  record_id uuid not null,
  seq bigint not null,
  constraint hold_records_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint hold_records_pkey PRIMARY KEY (ledger_id, record_id, seq)
);

create table tallystick.holds (
  ledger_id uuid not null,
  seq bigint not null,
  case_id text not null,
  type text,
  agent_id uuid,
  record_ids uuid[],
  lifted_seq bigint,
  constraint holds_case_id_check CHECK (((length(case_id) >= 1) AND (length(case_id) <= 63))),
  constraint holds_check CHECK ((lifted_seq > seq)),
  constraint holds_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint holds_pkey PRIMARY KEY (ledger_id, seq),
  constraint holds_record_ids_check CHECK (((cardinality(record_ids) >= 1) AND (cardinality(record_ids) <= 500))),
  constraint holds_type_check CHECK ((length(type) <= 80))
);

create table tallystick.idempotency_keys (
  ledger_id uuid not null,
  actor_id uuid not null,
  key_hash bytea not null,
  salt bytea,
  fingerprint bytea,
  seq bigint not null,
  constraint idempotency_keys_check CHECK (((salt IS NULL) = (fingerprint IS NULL))),
  constraint idempotency_keys_fingerprint_check CHECK ((length(fingerprint) = 32)),
  constraint idempotency_keys_key_hash_check CHECK ((length(key_hash) = 16)),
  constraint idempotency_keys_pkey PRIMARY KEY (ledger_id, actor_id, key_hash),
  constraint idempotency_keys_salt_check CHECK ((length(salt) = 16))
);

create table tallystick.ledger_closures (
  ledger_id uuid not null,
  closed_at timestamp with time zone not null default now(),
  known_size bigint not null,
  known_chain bytea not null,
  was_frozen boolean not null,
  restored_seq bigint,
  constraint ledger_closures_known_chain_check CHECK ((length(known_chain) = 32)),
  constraint ledger_closures_known_size_check CHECK ((known_size > 0)),
  constraint ledger_closures_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint ledger_closures_pkey PRIMARY KEY (ledger_id, known_size, known_chain)
);

create table tallystick.ledger_faults (
  ledger_id uuid not null,
  found_at timestamp with time zone not null default clock_timestamp(),
  found_by text not null,
  seq bigint,
  code text not null,
  reason text not null,
  cleared_at timestamp with time zone,
  cleared_note text,
  constraint ledger_faults_cleared CHECK (((cleared_at IS NULL) = (cleared_note IS NULL))),
  constraint ledger_faults_cleared_note_check CHECK (((length(cleared_note) >= 1) AND (length(cleared_note) <= 1000))),
  constraint ledger_faults_code_check CHECK ((length(code) <= 64)),
  constraint ledger_faults_found_by_check CHECK ((found_by = ANY (ARRAY['follower'::text, 'audit'::text]))),
  constraint ledger_faults_pkey PRIMARY KEY (ledger_id, found_at),
  constraint ledger_faults_reason_check CHECK ((length(reason) <= 2000))
);

create table tallystick.ledger_rotations (
  ledger_id uuid not null,
  seq bigint not null,
  new_kid bytea not null,
  constraint ledger_rotations_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint ledger_rotations_new_kid_check CHECK ((length(new_kid) = 32)),
  constraint ledger_rotations_pkey PRIMARY KEY (ledger_id, seq)
);

create table tallystick.ledgers (
  ledger_id uuid not null,
  name text not null,
  issuer text not null,
  origin text not null,
  note_kid bytea not null,
  rate_limit_per_second real,
  rate_limit_burst integer,
  tiles_public boolean not null default false,
  subject_salt bytea not null default (uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
  constraint ledgers_check CHECK (((rate_limit_per_second IS NULL) = (rate_limit_burst IS NULL))),
  constraint ledgers_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint ledgers_note_kid_fkey FOREIGN KEY (note_kid) REFERENCES tallystick.server_keys(kid),
  constraint ledgers_origin_key UNIQUE (origin),
  constraint ledgers_pkey PRIMARY KEY (ledger_id),
  constraint ledgers_rate_limit_burst_check CHECK ((rate_limit_burst > 0)),
  constraint ledgers_rate_limit_per_second_check CHECK ((rate_limit_per_second > (0)::double precision)),
  constraint ledgers_subject_salt_check CHECK ((length(subject_salt) = 32))
);

create table tallystick.mac_keys (
  key_id bytea not null,
  inner_pad bytea not null,
  outer_pad bytea not null,
  installed_at timestamp with time zone not null default clock_timestamp(),
  constraint mac_keys_inner_pad_check CHECK ((length(inner_pad) = 64)),
  constraint mac_keys_key_id_check CHECK ((length(key_id) = 8)),
  constraint mac_keys_outer_pad_check CHECK ((length(outer_pad) = 64)),
  constraint mac_keys_pkey PRIMARY KEY (key_id)
);

create table tallystick.master_key_changes (
  changed_at timestamp with time zone not null default clock_timestamp(),
  changed_by text not null default SESSION_USER,
  previous_id bytea not null,
  current_id bytea not null,
  server_keys integer not null,
  webhook_secrets integer not null,
  api_key_secrets integer not null,
  refused integer not null,
  peer_keys integer not null default 0,
  constraint master_key_changes_current_id_check CHECK ((length(current_id) = 8)),
  constraint master_key_changes_pkey PRIMARY KEY (changed_at),
  constraint master_key_changes_previous_id_check CHECK ((length(previous_id) = 8))
);

create table tallystick.note_key_secrets (
  kid bytea not null,
  sealed bytea not null,
  constraint note_key_secrets_kid_fkey FOREIGN KEY (kid) REFERENCES tallystick.server_keys(kid),
  constraint note_key_secrets_pkey PRIMARY KEY (kid)
);

create table tallystick.offers (
  ledger_id uuid not null,
  seq bigint not null,
  peer_id uuid not null,
  record_id uuid not null,
  version integer not null,
  step text not null,
  agent_id uuid not null,
  leaf bytea not null,
  state text not null default 'pending'::text,
  code text,
  decided_seq bigint,
  constraint offers_check CHECK ((decided_seq > seq)),
  constraint offers_code_check CHECK ((length(code) <= 64)),
  constraint offers_decided CHECK ((((state = 'pending'::text) = (decided_seq IS NULL)) AND ((state = 'refused'::text) = (code IS NOT NULL)))),
  constraint offers_leaf_check CHECK ((length(leaf) = 32)),
  constraint offers_ledger_id_peer_id_fkey FOREIGN KEY (ledger_id, peer_id) REFERENCES tallystick.peers(ledger_id, peer_id),
  constraint offers_pkey PRIMARY KEY (ledger_id, seq),
  constraint offers_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'taken'::text, 'refused'::text]))),
  constraint offers_step_check CHECK ((step = ANY (ARRAY['record-activated'::text, 'completion-submitted'::text]))),
  constraint offers_version_check CHECK ((version >= 2))
);

create table tallystick.open_deadlines (
  ledger_id uuid not null,
  record_id uuid not null,
  deadline timestamp with time zone not null,
  constraint open_deadlines_pkey PRIMARY KEY (ledger_id, record_id)
) with (autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0);

create table tallystick.peer_backlog (
  ledger_id uuid not null,
  peer_id uuid not null,
  record_id uuid not null,
  from_seq bigint not null,
  constraint peer_backlog_ledger_id_peer_id_fkey FOREIGN KEY (ledger_id, peer_id) REFERENCES tallystick.peers(ledger_id, peer_id),
  constraint peer_backlog_pkey PRIMARY KEY (ledger_id, peer_id, record_id)
);

create table tallystick.peer_budgets (
  ledger_id uuid not null,
  peer_id uuid not null,
  entries_max bigint,
  bytes_max bigint,
  began_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  entries bigint not null default 0,
  bytes bigint not null default 0,
  constraint peer_budgets_bytes_check CHECK ((bytes >= 0)),
  constraint peer_budgets_bytes_max_check CHECK ((bytes_max > 0)),
  constraint peer_budgets_entries_check CHECK ((entries >= 0)),
  constraint peer_budgets_entries_max_check CHECK ((entries_max > 0)),
  constraint peer_budgets_ledger_id_peer_id_fkey FOREIGN KEY (ledger_id, peer_id) REFERENCES tallystick.peers(ledger_id, peer_id) ON DELETE CASCADE,
  constraint peer_budgets_pkey PRIMARY KEY (ledger_id, peer_id)
) with (fillfactor=50);

create table tallystick.peer_cursors (
  ledger_id uuid not null,
  peer_id uuid not null,
  next_seq bigint not null,
  known_kid bytea not null,
  job_id uuid,
  leased_until timestamp with time zone,
  served_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  failures integer not null default 0,
  failing_since timestamp with time zone,
  last_error text,
  last_success_at timestamp with time zone,
  resume_at timestamp with time zone,
  request_bytes integer,
  request_refused_at timestamp with time zone,
  summary text,
  summary_at timestamp with time zone,
  summary_wanted boolean not null default false,
  constraint peer_cursors_failures_check CHECK ((failures >= 0)),
  constraint peer_cursors_known_kid_check CHECK ((length(known_kid) = 32)),
  constraint peer_cursors_last_error_check CHECK ((length(last_error) <= 1000)),
  constraint peer_cursors_ledger_id_peer_id_fkey FOREIGN KEY (ledger_id, peer_id) REFERENCES tallystick.peers(ledger_id, peer_id),
  constraint peer_cursors_next_seq_check CHECK ((next_seq >= 0)),
  constraint peer_cursors_pkey PRIMARY KEY (ledger_id, peer_id),
  constraint peer_cursors_request_bytes_check CHECK ((request_bytes > 0))
) with (fillfactor=50, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0);

create table tallystick.peer_dead_letters (
  ledger_id uuid not null,
  peer_id uuid not null,
  seq bigint not null,
  record_id uuid,
  kind text not null,
  code text not null,
  detail text,
  died_at timestamp with time zone not null default clock_timestamp(),
  constraint peer_dead_letters_code_check CHECK ((length(code) <= 64)),
  constraint peer_dead_letters_detail_check CHECK ((length(detail) <= 1000)),
  constraint peer_dead_letters_ledger_id_peer_id_fkey FOREIGN KEY (ledger_id, peer_id) REFERENCES tallystick.peers(ledger_id, peer_id),
  constraint peer_dead_letters_pkey PRIMARY KEY (ledger_id, peer_id, seq)
);

create table tallystick.peer_forks (
  ledger_id uuid not null,
  peer_id uuid not null,
  leaf bytea not null,
  remote_seq bigint not null,
  record_id uuid,
  version integer,
  held_leaf bytea not null,
  envelope bytea not null,
  seen_at timestamp with time zone not null default clock_timestamp(),
  constraint peer_forks_envelope_check CHECK (((length(envelope) >= 1) AND (length(envelope) <= 32768))),
  constraint peer_forks_held_leaf_check CHECK ((length(held_leaf) = 32)),
  constraint peer_forks_leaf_check CHECK ((length(leaf) = 32)),
  constraint peer_forks_ledger_id_peer_id_fkey FOREIGN KEY (ledger_id, peer_id) REFERENCES tallystick.peers(ledger_id, peer_id),
  constraint peer_forks_pkey PRIMARY KEY (ledger_id, peer_id, leaf)
);

create table tallystick.peer_inboxes (
  ledger_id uuid not null,
  peer_id uuid not null,
  constraint peer_inboxes_ledger_id_peer_id_fkey FOREIGN KEY (ledger_id, peer_id) REFERENCES tallystick.peers(ledger_id, peer_id),
  constraint peer_inboxes_pkey PRIMARY KEY (ledger_id, peer_id)
);

create table tallystick.peer_keys (
  ledger_id uuid not null,
  peer_id uuid not null,
  kid bytea not null,
  alg text not null,
  spki bytea not null,
  since timestamp with time zone not null default clock_timestamp(),
  until_seq bigint,
  mac bytea,
  constraint peer_keys_alg_check CHECK ((alg = ANY (ARRAY['EdDSA'::text, 'ES256'::text]))),
  constraint peer_keys_kid_check CHECK ((length(kid) = 32)),
  constraint peer_keys_ledger_id_peer_id_fkey FOREIGN KEY (ledger_id, peer_id) REFERENCES tallystick.peers(ledger_id, peer_id),
  constraint peer_keys_mac_check CHECK ((length(mac) = 32)),
  constraint peer_keys_pkey PRIMARY KEY (ledger_id, peer_id, kid),
  constraint peer_keys_spki_check CHECK ((length(spki) <= 256)),
  constraint peer_keys_until_seq_check CHECK ((until_seq >= 0))
);

create table tallystick.peer_nonces (
  ledger_id uuid not null,
  peer_id uuid not null,
  nonce bytea not null,
  seen_at timestamp with time zone not null default clock_timestamp(),
  constraint peer_nonces_nonce_check CHECK ((length(nonce) = 16)),
  constraint peer_nonces_pkey PRIMARY KEY (ledger_id, peer_id, nonce)
);

create table tallystick.peer_receipts (
  ledger_id uuid not null,
  seq bigint not null,
  peer_id uuid not null,
  envelope bytea not null,
  constraint peer_receipts_envelope_check CHECK (((length(envelope) >= 1) AND (length(envelope) <= 32768))),
  constraint peer_receipts_ledger_id_peer_id_fkey FOREIGN KEY (ledger_id, peer_id) REFERENCES tallystick.peers(ledger_id, peer_id),
  constraint peer_receipts_pkey PRIMARY KEY (ledger_id, seq, peer_id)
);

create table tallystick.peer_witnesses (
  ledger_id uuid not null,
  peer_id uuid not null,
  remote_key text,
  remote_kid bytea,
  seen_size bigint,
  seen_root bytea,
  seen_note text,
  fork_note text,
  fork_held text,
  constraint peer_witnesses_fork CHECK ((num_nulls(fork_note, fork_held) = ANY (ARRAY[0, 2]))),
  constraint peer_witnesses_fork_held_check CHECK ((length(fork_held) <= 24576)),
  constraint peer_witnesses_fork_note_check CHECK ((length(fork_note) <= 24576)),
  constraint peer_witnesses_ledger_id_peer_id_fkey FOREIGN KEY (ledger_id, peer_id) REFERENCES tallystick.peers(ledger_id, peer_id),
  constraint peer_witnesses_pkey PRIMARY KEY (ledger_id, peer_id),
  constraint peer_witnesses_remote_key_check CHECK ((length(remote_key) <= 512)),
  constraint peer_witnesses_remote_kid_check CHECK ((length(remote_kid) = 32)),
  constraint peer_witnesses_seen CHECK ((num_nulls(seen_size, seen_root, seen_note) = ANY (ARRAY[0, 3]))),
  constraint peer_witnesses_seen_note_check CHECK ((length(seen_note) <= 24576)),
  constraint peer_witnesses_seen_root_check CHECK ((length(seen_root) = 32)),
  constraint peer_witnesses_seen_size_check CHECK ((seen_size >= 0))
);

create table tallystick.peers (
  ledger_id uuid not null,
  peer_id uuid not null,
  name text not null,
  role text not null,
  state text not null,
  created_by uuid not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  token_hash bytea not null,
  expires_at timestamp with time zone not null,
  sealed_token bytea,
  inviter text not null,
  invited text,
  remote_ledger_id uuid,
  remote_url text,
  handshake bytea,
  added_seq bigint,
  added_leaf bytea,
  counterpart bytea,
  revoked_seq bigint,
  constraint peers_added CHECK (((state = ANY (ARRAY['invited'::text, 'pending'::text, 'revoked'::text])) OR ((added_seq IS NOT NULL) AND (handshake IS NOT NULL)))),
  constraint peers_added_leaf_check CHECK ((length(added_leaf) = 32)),
  constraint peers_counterpart_check CHECK ((length(counterpart) = 32)),
  constraint peers_handshake_check CHECK ((length(handshake) = 32)),
  constraint peers_invited_check CHECK ((length(invited) <= 4096)),
  constraint peers_inviter_check CHECK ((length(inviter) <= 4096)),
  constraint peers_known CHECK (((state = 'invited'::text) OR (state = 'revoked'::text) OR (remote_ledger_id IS NOT NULL))),
  constraint peers_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint peers_name_check CHECK (((length(name) >= 1) AND (length(name) <= 256))),
  constraint peers_pkey PRIMARY KEY (ledger_id, peer_id),
  constraint peers_remote_url_check CHECK ((length(remote_url) <= 2048)),
  constraint peers_role_check CHECK ((role = ANY (ARRAY['inviter'::text, 'invited'::text]))),
  constraint peers_sealed_token_check CHECK ((length(sealed_token) <= 256)),
  constraint peers_state_check CHECK ((state = ANY (ARRAY['invited'::text, 'pending'::text, 'active'::text, 'suspended'::text, 'revoked'::text]))),
  constraint peers_token_hash_check CHECK ((length(token_hash) = 32))
);

create table tallystick.received_documents (
  ledger_id uuid not null,
  seq bigint not null,
  subject text not null,
  digest bytea not null,
  salt bytea,
  content bytea,
  reference_list bytea,
  erased_seq bigint,
  constraint received_documents_check CHECK ((erased_seq > seq)),
  constraint received_documents_content_check CHECK (((length(content) >= 2) AND (length(content) <= 65536))),
  constraint received_documents_content_or_erased CHECK ((((content IS NULL) = (salt IS NULL)) AND ((content IS NULL) = (erased_seq IS NOT NULL)))),
  constraint received_documents_digest_check CHECK ((length(digest) = 32)),
  constraint received_documents_ledger_id_seq_fkey FOREIGN KEY (ledger_id, seq) REFERENCES tallystick.received_entries(ledger_id, seq),
  constraint received_documents_pkey PRIMARY KEY (ledger_id, seq),
  constraint received_documents_reference_list_check CHECK (((length(reference_list) >= 2) AND (length(reference_list) <= 4096))),
  constraint received_documents_salt_check CHECK ((length(salt) = 16)),
  constraint received_documents_subject_check CHECK ((length(subject) <= 80))
);

create table tallystick.received_entries (
  ledger_id uuid not null,
  seq bigint not null,
  peer_id uuid not null,
  remote_seq bigint not null,
  kind text not null,
  record_id uuid,
  version integer,
  leaf bytea not null,
  envelope bytea not null,
  constraint received_entries_envelope_check CHECK (((length(envelope) >= 1) AND (length(envelope) <= 32768))),
  constraint received_entries_leaf CHECK ((leaf = sha256(('\x00'::bytea || envelope)))),
  constraint received_entries_leaf_check CHECK ((length(leaf) = 32)),
  constraint received_entries_ledger_id_peer_id_fkey FOREIGN KEY (ledger_id, peer_id) REFERENCES tallystick.peers(ledger_id, peer_id),
  constraint received_entries_once UNIQUE (ledger_id, peer_id, remote_seq),
  constraint received_entries_pkey PRIMARY KEY (ledger_id, seq),
  constraint received_entries_remote_seq_check CHECK ((remote_seq >= 0)),
  constraint received_entries_version_check CHECK ((version >= 1))
);

create table tallystick.received_types (
  ledger_id uuid not null,
  peer_id uuid not null,
  digest bytea not null,
  name text not null,
  definition bytea not null,
  constraint received_types_definition_check CHECK ((length(definition) <= 65536)),
  constraint received_types_digest CHECK ((digest = sha256(definition))),
  constraint received_types_digest_check CHECK ((length(digest) = 32)),
  constraint received_types_ledger_id_peer_id_fkey FOREIGN KEY (ledger_id, peer_id) REFERENCES tallystick.peers(ledger_id, peer_id),
  constraint received_types_name_check CHECK ((length(name) <= 80)),
  constraint received_types_pkey PRIMARY KEY (ledger_id, peer_id, digest)
);

create table tallystick.record_references (
  ledger_id uuid not null,
  reference text not null,
  first_seq bigint not null,
  record_id uuid not null,
  constraint record_references_pkey PRIMARY KEY (ledger_id, reference, first_seq, record_id),
  constraint record_references_reference_check CHECK (((length(reference) >= 1) AND (length(reference) <= 256)))
);

create table tallystick.record_states (
  state text not null,
  terminal boolean not null,
  constraint record_states_pkey PRIMARY KEY (state)
);

create table tallystick.record_transitions (
  from_state text not null,
  kind text not null,
  to_state text not null,
  constraint record_transitions_kind_fkey FOREIGN KEY (kind) REFERENCES tallystick.entry_kinds(kind),
  constraint record_transitions_pkey PRIMARY KEY (from_state, kind, to_state),
  constraint record_transitions_to_state_fkey FOREIGN KEY (to_state) REFERENCES tallystick.record_states(state)
);

create table tallystick.records (
  ledger_id uuid not null,
  record_id uuid not null,
  type text not null,
  first_seq bigint not null,
  actor_id uuid not null,
  on_behalf_of uuid,
  occurred_at timestamp with time zone,
  traceparent text,
  digest bytea not null,
  salt bytea,
  payload bytea,
  metadata bytea,
  payload_erased_seq bigint,
  parent_id uuid,
  reference_list bytea,
  subject bytea,
  other_members jsonb,
  constraint records_check1 CHECK ((payload_erased_seq > first_seq)),
  constraint records_digest_check CHECK ((length(digest) = 32)),
  constraint records_ids CHECK (((get_byte(uuid_send(record_id), 14) & 8) = 8)),
  constraint records_metadata_check CHECK (((length(metadata) >= 2) AND (length(metadata) <= 4096))),
  constraint records_other_members_check CHECK (((jsonb_typeof(other_members) = 'object'::text) AND ((length((other_members)::text) >= 8) AND (length((other_members)::text) <= 4096)))),
  constraint records_payload_check CHECK (((length(payload) >= 2) AND (length(payload) <= 65536))),
  constraint records_payload_or_erased CHECK ((((payload IS NULL) = (salt IS NULL)) AND ((payload IS NOT NULL) OR (payload_erased_seq IS NOT NULL)))),
  constraint records_pkey PRIMARY KEY (ledger_id, record_id),
  constraint records_reference_list_check CHECK (((length(reference_list) >= 2) AND (length(reference_list) <= 4096))),
  constraint records_salt_check CHECK ((length(salt) = 16)),
  constraint records_subject_check CHECK ((length(subject) = 16)),
  constraint records_traceparent_check CHECK ((length(traceparent) <= 64)),
  constraint records_type_check CHECK ((length(type) <= 80))
);

create table tallystick.remote_records (
  ledger_id uuid not null,
  record_id uuid not null,
  peer_id uuid not null,
  type text not null,
  documents text not null,
  state text not null,
  version integer not null,
  leaf bytea not null,
  standing text not null,
  first_seq bigint not null,
  last_seq bigint not null,
  constraint remote_records_documents_check CHECK ((documents = ANY (ARRAY['whole'::text, 'digests'::text]))),
  constraint remote_records_leaf_check CHECK ((length(leaf) = 32)),
  constraint remote_records_ledger_id_peer_id_fkey FOREIGN KEY (ledger_id, peer_id) REFERENCES tallystick.peers(ledger_id, peer_id),
  constraint remote_records_pkey PRIMARY KEY (ledger_id, record_id, peer_id),
  constraint remote_records_standing_check CHECK ((length(standing) <= 8192)),
  constraint remote_records_type_check CHECK ((length(type) <= 80)),
  constraint remote_records_version_check CHECK ((version >= 1))
) with (autovacuum_vacuum_scale_factor=0.02);

create table tallystick.retention_rules (
  ledger_id uuid not null,
  seq bigint not null,
  type text,
  agent_id uuid,
  days integer,
  constraint retention_rules_days_check CHECK (((days >= 1) AND (days <= 36500))),
  constraint retention_rules_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint retention_rules_pkey PRIMARY KEY (ledger_id, seq),
  constraint retention_rules_type_check CHECK ((length(type) <= 80))
);

create table tallystick.retention_sweeps (
  ledger_id uuid not null,
  changed_seq bigint not null,
  next_seq bigint not null default 0,
  due_at timestamp with time zone not null default now(),
  claimed_until timestamp with time zone not null default '-infinity'::timestamp with time zone,
  failing boolean not null default false,
  constraint retention_sweeps_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint retention_sweeps_pkey PRIMARY KEY (ledger_id)
);

create table tallystick.schema_migrations (
  version integer not null,
  name text not null,
  sha256 text not null,
  applied_at timestamp with time zone not null default now(),
  constraint schema_migrations_pkey PRIMARY KEY (version)
);

create table tallystick.schema_serves (
  version integer not null,
  serves_from integer not null,
  constraint schema_serves_check CHECK ((serves_from <= version)),
  constraint schema_serves_pkey PRIMARY KEY (version)
);

create table tallystick.server_keys (
  kid bytea not null,
  use text not null,
  alg text not null,
  spki bytea not null,
  activated_at timestamp with time zone not null default now(),
  retired_at timestamp with time zone,
  compromised_at timestamp with time zone,
  constraint server_keys_alg_check CHECK ((alg = ANY (ARRAY['EdDSA'::text, 'ES256'::text]))),
  constraint server_keys_kid_check CHECK ((length(kid) = 32)),
  constraint server_keys_pkey PRIMARY KEY (kid),
  constraint server_keys_use_check CHECK ((use = ANY (ARRAY['envelope'::text, 'note'::text])))
);

create table tallystick.shared_records (
  ledger_id uuid not null,
  record_id uuid not null,
  peer_id uuid not null,
  documents text not null,
  shared_seq bigint not null,
  constraint shared_records_documents_check CHECK ((documents = ANY (ARRAY['whole'::text, 'digests'::text]))),
  constraint shared_records_ledger_id_peer_id_fkey FOREIGN KEY (ledger_id, peer_id) REFERENCES tallystick.peers(ledger_id, peer_id),
  constraint shared_records_pkey PRIMARY KEY (ledger_id, record_id, peer_id)
);

create table tallystick.statements (
  ledger_id uuid not null,
  statement_id uuid not null,
  seq bigint not null,
  leaf bytea not null,
  issuer text not null,
  subject text not null,
  content_type text not null,
  kid bytea not null,
  constraint statements_kid_check CHECK (((length(kid) >= 1) AND (length(kid) <= 64))),
  constraint statements_leaf_check CHECK ((length(leaf) = 32)),
  constraint statements_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint statements_ledger_id_leaf_key UNIQUE (ledger_id, leaf),
  constraint statements_ledger_id_seq_key UNIQUE (ledger_id, seq),
  constraint statements_pkey PRIMARY KEY (ledger_id, statement_id)
);

create table tallystick.tree_frontiers (
  ledger_id uuid not null,
  size bigint not null,
  hashes bytea not null,
  constraint tree_frontiers_hashes_check CHECK (((length(hashes) % 32) = 0)),
  constraint tree_frontiers_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint tree_frontiers_pkey PRIMARY KEY (ledger_id),
  constraint tree_frontiers_size_check CHECK ((size > 0))
);

create table tallystick.tree_tiles (
  ledger_id uuid not null,
  level smallint not null,
  tile_index bigint not null,
  hashes bytea not null,
  constraint tree_tiles_hashes_check CHECK ((((length(hashes) % 32) = 0) AND ((length(hashes) >= 32) AND (length(hashes) <= 8192)))),
  constraint tree_tiles_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint tree_tiles_level_check CHECK (((level >= 0) AND (level <= 7))),
  constraint tree_tiles_pkey PRIMARY KEY (ledger_id, level, tile_index),
  constraint tree_tiles_tile_index_check CHECK ((tile_index >= 0))
);

create table tallystick.types (
  ledger_id uuid not null,
  name text not null,
  gated boolean not null,
  definition bytea not null,
  digest bytea not null,
  registered_seq bigint not null,
  constraint types_definition_check CHECK ((length(definition) <= 65536)),
  constraint types_digest CHECK ((digest = sha256(definition))),
  constraint types_digest_check CHECK ((length(digest) = 32)),
  constraint types_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint types_name_check CHECK ((length(name) <= 80)),
  constraint types_pkey PRIMARY KEY (ledger_id, name)
);

create table tallystick.waiting_completions (
  ledger_id uuid not null,
  seq bigint not null,
  record_id uuid not null,
  verification_job uuid,
  constraint waiting_completions_pkey PRIMARY KEY (ledger_id, seq)
) with (autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0);

create table tallystick.webhook_cursors (
  ledger_id uuid not null,
  webhook_id uuid not null,
  next_seq bigint not null,
  checkpoint_size bigint not null,
  due_at timestamp with time zone not null default 'infinity'::timestamp with time zone,
  job_id uuid,
  leased_until timestamp with time zone,
  served_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  failures integer not null default 0,
  failing_since timestamp with time zone,
  failing_days integer not null default 0,
  resume_at timestamp with time zone,
  last_success_at timestamp with time zone,
  last_failure_at timestamp with time zone,
  recover_seq bigint,
  recover_end bigint,
  recover_delivered boolean not null default false,
  constraint webhook_cursors_checkpoint_size_check CHECK ((checkpoint_size >= 0)),
  constraint webhook_cursors_failing_days_check CHECK ((failing_days >= 0)),
  constraint webhook_cursors_failures_check CHECK ((failures >= 0)),
  constraint webhook_cursors_ledger_id_webhook_id_fkey FOREIGN KEY (ledger_id, webhook_id) REFERENCES tallystick.webhooks(ledger_id, webhook_id),
  constraint webhook_cursors_next_seq_check CHECK ((next_seq >= 0)),
  constraint webhook_cursors_pkey PRIMARY KEY (ledger_id, webhook_id),
  constraint webhook_cursors_recover CHECK (((recover_seq IS NULL) = (recover_end IS NULL)))
) with (fillfactor=50, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0);

create table tallystick.webhook_deliveries (
  ledger_id uuid not null,
  webhook_id uuid not null,
  event_id uuid not null,
  event text not null,
  seq bigint,
  place smallint not null default 0,
  record_id uuid,
  notice text,
  state text not null,
  tries smallint not null,
  attempts integer not null,
  attempt_log jsonb not null,
  due_at timestamp with time zone,
  created_at timestamp with time zone not null default clock_timestamp(),
  finished_at timestamp with time zone,
  constraint webhook_deliveries_attempts_check CHECK ((attempts >= 0)),
  constraint webhook_deliveries_due CHECK (((state = 'pending'::text) = (due_at IS NOT NULL))),
  constraint webhook_deliveries_event_check CHECK ((length(event) <= 64)),
  constraint webhook_deliveries_finished CHECK (((state = ANY (ARRAY['delivered'::text, 'dead'::text])) = (finished_at IS NOT NULL))),
  constraint webhook_deliveries_notice CHECK (((seq IS NULL) = (notice IS NOT NULL))),
  constraint webhook_deliveries_notice_check CHECK ((length(notice) <= 4096)),
  constraint webhook_deliveries_pkey PRIMARY KEY (ledger_id, webhook_id, event_id),
  constraint webhook_deliveries_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'held'::text, 'delivered'::text, 'dead'::text]))),
  constraint webhook_deliveries_tries_check CHECK ((tries >= 0))
) with (autovacuum_vacuum_scale_factor=0.02);

create table tallystick.webhook_secrets (
  ledger_id uuid not null,
  webhook_id uuid not null,
  secret_id uuid not null,
  sealed bytea not null,
  public_key bytea not null,
  expires_at timestamp with time zone,
  constraint webhook_secrets_ledger_id_webhook_id_fkey FOREIGN KEY (ledger_id, webhook_id) REFERENCES tallystick.webhooks(ledger_id, webhook_id),
  constraint webhook_secrets_pkey PRIMARY KEY (ledger_id, webhook_id, secret_id),
  constraint webhook_secrets_public_key_check CHECK ((length(public_key) = 32)),
  constraint webhook_secrets_sealed_check CHECK ((length(sealed) <= 256))
);

create table tallystick.webhooks (
  ledger_id uuid not null,
  webhook_id uuid not null,
  url text not null,
  description text,
  events text[] not null,
  types text[] not null default '{}'::text[],
  include text[] not null default '{}'::text[],
  created_by uuid not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  state text not null default 'active'::text,
  reason text,
  state_at timestamp with time zone not null default clock_timestamp(),
  constraint webhooks_description_check CHECK (((length(description) >= 1) AND (length(description) <= 200))),
  constraint webhooks_events_check CHECK (((cardinality(events) >= 1) AND (cardinality(events) <= 32))),
  constraint webhooks_include_check CHECK ((include <@ '{documents,envelope}'::text[])),
  constraint webhooks_ledger_id_fkey FOREIGN KEY (ledger_id) REFERENCES tallystick.ledgers(ledger_id),
  constraint webhooks_pkey PRIMARY KEY (ledger_id, webhook_id),
  constraint webhooks_reason CHECK (((reason IS NULL) = (state = ANY (ARRAY['active'::text, 'deleted'::text])))),
  constraint webhooks_reason_check CHECK ((reason = ANY (ARRAY['requested'::text, 'failing'::text, 'gone'::text]))),
  constraint webhooks_state_check CHECK ((state = ANY (ARRAY['active'::text, 'paused'::text, 'disabled'::text, 'deleted'::text]))),
  constraint webhooks_types_check CHECK ((cardinality(types) <= 32)),
  constraint webhooks_url_check CHECK (((length(url) >= 1) AND (length(url) <= 2048)))
);

-- Indexes that no constraint makes

CREATE INDEX agent_signing_keys_by_agent ON tallystick.agent_signing_keys USING btree (ledger_id, agent_id);
CREATE INDEX agent_signing_keys_required ON tallystick.agent_signing_keys USING btree (ledger_id, agent_id) WHERE required;
CREATE INDEX api_key_secrets_by_key ON tallystick.api_key_secrets USING btree (ledger_id, key_id);
CREATE INDEX archive_pieces_here ON tallystick.archive_pieces USING btree (ledger_id, from_seq) WHERE (state <> 'left'::text);
CREATE INDEX audits_done ON tallystick.audits USING btree (ok, finished_at) WHERE (state = 'done'::text);
CREATE UNIQUE INDEX audits_open ON tallystick.audits USING btree (ledger_id) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));
CREATE INDEX audits_waiting ON tallystick.audits USING btree (requested_at) WHERE ((state = 'queued'::text) AND (job_id IS NULL));
CREATE UNIQUE INDEX batch_chunks_by_record ON tallystick.batch_chunks USING btree (ledger_id, first_record_id);
CREATE INDEX batch_keys_by_seq ON tallystick.batch_keys USING btree (ledger_id, seq NULLS FIRST, chunk);
CREATE INDEX cosignatures_by_witness ON tallystick.cosignatures USING btree (ledger_id, witness_kid, size);
CREATE INDEX entries_by_actor ON tallystick.entries USING btree (ledger_id, actor_id, seq NULLS FIRST) WHERE ((version = 1) AND (item_count IS NULL));
CREATE UNIQUE INDEX entries_by_record ON tallystick.entries USING btree (ledger_id, subject_id, version) INCLUDE (seq, kind) WHERE (version > 1);
CREATE INDEX entries_policies ON tallystick.entries USING btree (ledger_id, seq) WHERE (kind = 'registration-policy-set'::text);
CREATE UNIQUE INDEX erasures_by_seq ON tallystick.erasures USING btree (ledger_id, seq);
CREATE INDEX erasures_pending ON tallystick.erasures USING btree (ledger_id, seq) WHERE (erased_at IS NULL);
CREATE INDEX gated_records_by_end ON tallystick.gated_records USING btree (ledger_id, ended_as COLLATE "C", first_seq NULLS FIRST);
CREATE INDEX gated_records_by_performer ON tallystick.gated_records USING btree (ledger_id, performer_id, first_seq NULLS FIRST) WHERE (performer_id IS NOT NULL);
CREATE INDEX holds_standing ON tallystick.holds USING btree (ledger_id, COALESCE(lifted_seq, '9223372036854775807'::bigint));
CREATE INDEX idempotency_keys_by_seq ON tallystick.idempotency_keys USING btree (ledger_id, seq);
CREATE UNIQUE INDEX ledger_closures_open ON tallystick.ledger_closures USING btree (ledger_id) WHERE (restored_seq IS NULL);
CREATE UNIQUE INDEX ledger_faults_open ON tallystick.ledger_faults USING btree (ledger_id) WHERE (cleared_at IS NULL);
CREATE INDEX ledgers_public ON tallystick.ledgers USING btree (ledger_id) WHERE tiles_public;
CREATE INDEX offers_by_record ON tallystick.offers USING btree (ledger_id, record_id, peer_id, seq);
CREATE UNIQUE INDEX offers_pending ON tallystick.offers USING btree (ledger_id, record_id, peer_id) WHERE (state = 'pending'::text);
CREATE INDEX open_deadlines_due ON tallystick.open_deadlines USING btree (deadline, ledger_id, record_id);
CREATE INDEX peer_dead_letters_by_record ON tallystick.peer_dead_letters USING btree (ledger_id, peer_id, record_id);
CREATE UNIQUE INDEX peer_keys_current ON tallystick.peer_keys USING btree (ledger_id, peer_id) WHERE (until_seq IS NULL);
CREATE INDEX peer_receipts_by_peer ON tallystick.peer_receipts USING btree (ledger_id, peer_id, seq);
CREATE UNIQUE INDEX peers_remote ON tallystick.peers USING btree (ledger_id, remote_ledger_id) WHERE ((state <> 'revoked'::text) AND (remote_ledger_id IS NOT NULL));
CREATE INDEX received_documents_erased ON tallystick.received_documents USING btree (ledger_id, erased_seq) WHERE (erased_seq IS NOT NULL);
CREATE INDEX received_entries_about_record ON tallystick.received_entries USING btree (ledger_id, peer_id, record_id, remote_seq) WHERE ((version IS NULL) AND (record_id IS NOT NULL));
CREATE UNIQUE INDEX received_entries_by_record ON tallystick.received_entries USING btree (ledger_id, peer_id, record_id, version) WHERE (version IS NOT NULL);
CREATE INDEX record_references_by_record ON tallystick.record_references USING btree (ledger_id, record_id);
CREATE INDEX records_by_day ON tallystick.records USING btree (ledger_id, date_trunc('day'::text, (occurred_at AT TIME ZONE 'UTC'::text)), first_seq NULLS FIRST) WHERE (occurred_at IS NOT NULL);
CREATE INDEX records_by_on_behalf_of ON tallystick.records USING btree (ledger_id, on_behalf_of, first_seq NULLS FIRST) WHERE (on_behalf_of IS NOT NULL);
CREATE INDEX records_by_parent ON tallystick.records USING btree (ledger_id, parent_id, first_seq NULLS FIRST) WHERE (parent_id IS NOT NULL);
CREATE UNIQUE INDEX records_by_seq ON tallystick.records USING btree (ledger_id, first_seq);
CREATE INDEX records_by_subject ON tallystick.records USING btree (ledger_id, subject, first_seq NULLS FIRST) WHERE (subject IS NOT NULL);
CREATE INDEX records_by_trace ON tallystick.records USING btree (ledger_id, substr(traceparent, 4, 32) COLLATE "C", first_seq NULLS FIRST) WHERE (traceparent IS NOT NULL);
CREATE INDEX records_by_type ON tallystick.records USING btree (ledger_id, type COLLATE "C", first_seq NULLS FIRST) WHERE (first_seq >= 0);
CREATE INDEX records_labels_left ON tallystick.records USING btree (ledger_id, record_id) WHERE ((subject IS NOT NULL) AND (payload_erased_seq IS NOT NULL));
CREATE INDEX remote_records_by_peer ON tallystick.remote_records USING btree (ledger_id, peer_id, record_id);
CREATE INDEX retention_sweeps_due ON tallystick.retention_sweeps USING btree (due_at);
CREATE INDEX retention_sweeps_failing ON tallystick.retention_sweeps USING btree (ledger_id) WHERE failing;
CREATE UNIQUE INDEX server_keys_current_note ON tallystick.server_keys USING btree (use) WHERE ((use = 'note'::text) AND (retired_at IS NULL));
CREATE INDEX shared_records_by_peer ON tallystick.shared_records USING btree (ledger_id, peer_id, record_id);
CREATE INDEX statements_by_both ON tallystick.statements USING btree (ledger_id, issuer, subject, seq);
CREATE INDEX statements_by_issuer ON tallystick.statements USING btree (ledger_id, issuer, seq);
CREATE INDEX statements_by_subject ON tallystick.statements USING btree (ledger_id, subject, seq);
CREATE INDEX waiting_completions_free ON tallystick.waiting_completions USING btree (ledger_id, seq) WHERE (verification_job IS NULL);
CREATE INDEX webhook_deliveries_dead ON tallystick.webhook_deliveries USING btree (ledger_id, webhook_id, event_id) WHERE (state = 'dead'::text);
CREATE INDEX webhook_deliveries_due ON tallystick.webhook_deliveries USING btree (ledger_id, webhook_id, due_at) WHERE (state = 'pending'::text);
CREATE INDEX webhook_deliveries_open ON tallystick.webhook_deliveries USING btree (ledger_id, webhook_id, record_id, seq, place) WHERE (state = ANY (ARRAY['pending'::text, 'held'::text]));

-- Functions

CREATE OR REPLACE FUNCTION tallystick.accept_peer(ledger uuid, peer uuid, peer_name text, agent uuid, token_hash bytea, expires timestamp with time zone, sealed bytea, inviter text, remote_ledger uuid, url text, own_kid bytea, peers_max integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.append_details(ledger_ids uuid[], kinds text[], subject_ids uuid[], details text[], outcomes smallint[], seqs bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
-- If a detail is missing, its values are null and the columns refuse null. So no administrative entry is stored without
-- its row. An entry that ends a row, such as a revocation, must find a row that has not ended yet.
declare
  expected bigint;
  changed bigint;
begin
  -- Returns early if no entry has one of these kinds. Otherwise nine statements would run and find nothing, which would
  -- double the cost of an offer or of a peer's request.
  if not kinds && '{ledger-created,agent-registered,agent-key-registered,agent-key-revoked,key-created,type-registered,payload-erased,agent-disabled,key-revoked,server-key-rotated,ledger-restored}'
    then return; end if;

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

  -- A call has at most one agent-key-registered for each ledger, because append_entries gives the outcome `again` to
  -- all items after an agent-key-registered.
  if 'agent-key-registered' = any (kinds) then
    perform register_signing_keys(ledger_ids, kinds, subject_ids, details, outcomes, seqs);
  end if;

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
  select ledger_id, decode("secretHash", 'hex'), subject_id, decode(mac, 'hex'), "expiresAt" from made
  -- The secret is null when a ledger is restored from its archive.
  where "secretHash" is not null;

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
  where i.outcome = 0 and i.kind in ('agent-disabled', 'agent-key-revoked', 'key-revoked', 'server-key-rotated', 'ledger-restored');
  if expected = 0 then return; end if;

  with item as (
    select i.ledger_id, i.kind, i.subject_id, i.seq, d."newKid", d.kid,
      count(*) over (partition by i.ledger_id) as of_ledger
    from unnest(ledger_ids, kinds, subject_ids, details, outcomes, seqs)
        i (ledger_id, kind, subject_id, detail, outcome, seq)
    left join lateral json_to_record(i.detail::json) d ("newKid" text, kid text) on true
    where i.outcome = 0
  ), disabled as (
    update agents a set disabled_seq = i.seq from item i
    where i.kind = 'agent-disabled' and a.ledger_id = i.ledger_id and a.agent_id = i.subject_id and a.disabled_seq is null
    returning 1
  ), silenced as (
    update agent_signing_keys k set revoked_seq = i.seq from item i
    where i.kind = 'agent-key-revoked' and k.ledger_id = i.ledger_id and k.kid = decode(i.kid, 'hex')
      and k.agent_id = i.subject_id and k.revoked_seq is null
    returning 1
  ), revoked as (
    update api_keys k set revoked_seq = i.seq from item i
    where i.kind = 'key-revoked' and k.ledger_id = i.ledger_id and k.key_id = i.subject_id and k.revoked_seq is null
    returning k.ledger_id, k.key_id
  ), forgotten as (
    delete from api_key_secrets s using revoked r where s.ledger_id = r.ledger_id and s.key_id = r.key_id
  ), rotated as (
    -- A server-key-rotated must be the only entry of its ledger in the call. Later entries would have been checked
    -- against the old key.
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
  select (select count(*) from disabled) + (select count(*) from silenced) + (select count(*) from revoked) + (select count(*) from rotated)
    + (select count(*) from restored)
  into changed;
  if changed <> expected then
    raise exception 'an entry can end only something that exists and has not ended'
      using errcode = 'integrity_constraint_violation', constraint = 'entries_end_once';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.append_entries(ledger_ids uuid[], kinds text[], subject_ids uuid[], versions integer[], to_states text[], previous_leaves bytea[], item_counts integer[], actor_ids uuid[], party_ids uuid[], key_ids uuid[], kids bytea[], recorded_ats timestamp with time zone[], leaves bytea[], envelopes bytea[], idempotency_hashes bytea[], request_salts bytea[], request_hashes bytea[], details text[], unseen_befores bigint[], record_items integer[], record_ids uuid[], record_types text[], record_digests bytea[], record_salts bytea[], record_payloads bytea[], record_occurred_ats timestamp with time zone[], record_on_behalf_ofs uuid[], record_parent_ids uuid[], record_traceparents text[], record_other_members text[], record_metadata bytea[], record_reference_lists bytea[], record_subjects bytea[], chunk_items integer[], chunk_numbers integer[], chunk_record_ids uuid[], chunk_counts integer[], chunk_contents bytea[], chunk_key_items integer[], chunk_key_numbers integer[], chunk_keys bytea[], gated_items integer[], gated_performers uuid[], gated_gates text[], gated_deadlines timestamp with time zone[], gated_max_revisions integer[], gated_tolerances bytea[], document_items integer[], document_names text[], document_subjects uuid[], document_digests bytea[], document_salts bytea[], document_contents bytea[], mac bytea)
 RETURNS bytea
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  by_worker boolean;
  is_sure boolean := false;
  others bigint[];
  outcomes int2[];
  seqs bigint[];
  chains bytea[];
  prev_seqs bigint[];
  signer_kids bytea[];
  was_written boolean;
  answer bytea;
  head chain_heads;
  keys_change int8;
  signing boolean;
  overtaken int4[];
begin
  if not mac_holds(array_send(array[
      array_send(ledger_ids), array_send(kinds), array_send(subject_ids), array_send(versions), array_send(to_states),
      array_send(previous_leaves), array_send(item_counts), array_send(actor_ids), array_send(party_ids), array_send(key_ids),
      array_send(kids), array_send(recorded_ats), array_send(leaves), array_send(envelopes), array_send(idempotency_hashes),
      array_send(request_salts), array_send(request_hashes), array_send(details), array_send(unseen_befores), array_send(record_items),
      array_send(record_ids), array_send(record_types), array_send(record_digests),
      array_send(record_salts), array_send(record_payloads), array_send(record_occurred_ats),
      array_send(record_on_behalf_ofs), array_send(record_parent_ids), array_send(record_traceparents),
      array_send(record_other_members), array_send(record_metadata), array_send(record_reference_lists),
      array_send(record_subjects), array_send(chunk_items), array_send(chunk_numbers),
      array_send(chunk_record_ids), array_send(chunk_counts), array_send(chunk_contents), array_send(chunk_key_items),
      array_send(chunk_key_numbers), array_send(chunk_keys), array_send(gated_items),
      array_send(gated_performers), array_send(gated_gates), array_send(gated_deadlines), array_send(gated_max_revisions),
      array_send(gated_tolerances), array_send(document_items), array_send(document_names), array_send(document_subjects),
      array_send(document_digests), array_send(document_salts), array_send(document_contents)]), mac) then
    raise exception 'only a caller that has the master key may call append_entries'
      using errcode = 'invalid_authorization_specification', constraint = 'append_entries_mac';
  end if;
  if current_setting('session_replication_role') = 'replica' then
    perform refuse_without_triggers();
  end if;

  if 'ledger-created' = any (kinds) then
    insert into chain_heads (ledger_id, size, chain, envelope_kid)
    select n.ledger_id, 0, sha256('\x74616c6c79737469636b2d636861696e2d7631'::bytea || uuid_send(n.ledger_id)), n.kid
    from unnest(ledger_ids, kinds, kids) n (ledger_id, kind, kid)
    where n.kind = 'ledger-created'
    order by n.ledger_id
    on conflict do nothing;
  end if;

  -- Short path: notarizations for one open ledger, signed by its current keys, within the clock tolerance, without
  -- known idempotency keys.
  --
  -- The long path gives the same result for these items. If the short path cannot decide one item, the long path
  -- decides all items. The head is then already locked.
  if kinds <@ array['record-notarized', 'batch-notarized'] and ledger_ids[1] = all (ledger_ids) and 1 = all (versions)
    and 'RECORDED' = all (to_states) and array_position(actor_ids, null) is null and array_position(subject_ids, null) is null
    and num_nonnulls(variadic previous_leaves) + num_nonnulls(variadic details) + num_nonnulls(variadic record_reference_lists) = 0
    and cardinality(gated_items) + cardinality(document_items) = 0 then
    select * into head from chain_heads h where h.ledger_id = ledger_ids[1] for update;
    if head.closed is null and head.size > 0
      and (num_nonnulls(variadic unseen_befores) = 0
        or cardinality(items_overtaken(ledger_ids, actor_ids, unseen_befores, chunk_key_items, chunk_keys)) = 0)
      and (head.envelope_kid = all (kids) or own_signatures_hold(head.ledger_id, head.envelope_kid, kids, actor_ids, subject_ids, recorded_ats))
      and not exists (select from agent_signing_keys x where x.ledger_id = head.ledger_id and x.required and (
        head.envelope_kid = any (kids) or x.agent_id = any (party_ids) or '\x42'::bytea || uuid_send(x.agent_id) = any (chunk_keys)))
      and clock_timestamp() - interval '30 s' <= all (recorded_ats) and clock_timestamp() + interval '30 s' >= all (recorded_ats) then
      is_sure := cardinality(kinds) = 1 and idempotency_hashes[1] is null and record_items || chunk_items[:1] = array[1];
      -- This query is a statement of its own. A call of one item does not run the statement, and so does not pay for
      -- its plan.
      if not is_sure then
        is_sure := (
          select count(distinct i.subject_id) = count(*) and count(distinct n.item) = count(*)
            and count(distinct (i.actor_id, i.key_hash)) filter (where i.key_hash is not null) = count(i.key_hash)
            and count(k.known) = 0
          from unnest(subject_ids, actor_ids, idempotency_hashes) with ordinality i (subject_id, actor_id, key_hash, ix)
          left join lateral (
            select true as known from idempotency_keys x
            where x.ledger_id = ledger_ids[1] and x.actor_id = i.actor_id and x.key_hash = i.key_hash offset 0
          ) k on true
          left join (select distinct item from unnest(record_items || chunk_items) r (item)) n on n.item = i.ix
        );
      end if;
    end if;
    if is_sure then
      outcomes := array_fill(0::int2, array[cardinality(kinds)]);
      seqs[1] := head.size;
      chains[1] := chain_link(head.chain, leaves[1]);
      for ix in 2 .. cardinality(kinds) loop
        chains[ix] := chain_link(chains[ix - 1], leaves[ix]);
      end loop;
      if cardinality(kinds) > 1 then seqs := array(select head.size + ix - 1 from generate_subscripts(kinds, 1) ix); end if;
      if head.envelope_kid <> any (kids) then
        signer_kids := array(select nullif(i.kid, head.envelope_kid) from unnest(kids) with ordinality i (kid, ix) order by i.ix);
      end if;
    end if;
  end if;

  if outcomes is null then
    by_worker := has_table_privilege(session_user, 'tallystick.checkpoints', 'insert');
    -- An agent-key-registered or agent-key-revoked changes the valid keys of its agent. So all items after it get the
    -- outcome `again`.
    keys_change := least(array_position(kinds, 'agent-key-registered'), array_position(kinds, 'agent-key-revoked'));
    -- Heads are locked in the order of their ids, so that two calls never deadlock.
    perform from chain_heads h where h.ledger_id = any (ledger_ids) order by h.ledger_id for update;
    signing := exists (select from agent_signing_keys s where s.ledger_id = any (ledger_ids));
    if num_nonnulls(variadic unseen_befores) > 0 then
      overtaken := items_overtaken(ledger_ids, actor_ids, unseen_befores, chunk_key_items, chunk_keys);
    end if;

    -- Each `statement` and its `statement-registered` are a pair, and so are each `completion-verified` and the `auto`
    -- verdict that follows it. `others` maps the index of each item of a pair to the index of the other item.
    if 'statement-registered' = any (kinds) then
      select array_agg(case when p.follows then p.ix - 1 when p.leads then p.ix + 1 end order by p.ix)
      into others
      from (
        select f.*, lead(f.follows) over (order by f.ix) as leads
        from (
          select i.ix, i.kind = 'statement-registered' and lag(i.kind) over w = 'statement'
            and lag(i.ledger_id) over w = i.ledger_id and lag(i.subject_id) over w = i.subject_id
            and lag(i.leaf) over w = i.previous_leaf as follows
          from unnest(ledger_ids, kinds, subject_ids, previous_leaves, leaves)
            with ordinality i (ledger_id, kind, subject_id, previous_leaf, leaf, ix)
          window w as (order by i.ix)
        ) f
      ) p;
    elsif by_worker and 'completion-verified' = any (kinds) then
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
        s.holds as by_agent, q.agents as unsigned,
        r.last_seq, r.principal_id, r.performer_id, r.gate, r.deadline, r.revisions < r.max_revisions as may_revise,
        i.idempotency_hash is not null
          and row_number() over (partition by i.ledger_id, i.actor_id, i.idempotency_hash order by i.ix) > 1 as same_key,
        i.version is not null
          and row_number() over (partition by i.ledger_id, i.subject_id order by i.ix) > 1 as same_subject
      from unnest(ledger_ids, kinds, subject_ids, versions, to_states, previous_leaves, item_counts, actor_ids, party_ids, key_ids,
          kids, recorded_ats, leaves, envelopes, idempotency_hashes, request_salts, request_hashes)
        with ordinality i (ledger_id, kind, subject_id, version, to_state, previous_leaf, item_count, actor_id, party_id, key_id, kid,
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
      -- Reads facts about agents' keys. `holds`: whether a current key of the actor has signed. `agents`: the agents
      -- that must sign for themselves and did not.
      left join lateral (
        select x.agent_id = i.actor_id and x.revoked_seq is null as holds from agent_signing_keys x
        where signing and i.kid <> h.envelope_kid and x.ledger_id = i.ledger_id and x.kid = i.kid
        offset 0
      ) s on true
      left join lateral (
        select array_agg(x.agent_id) as agents from agent_signing_keys x
        where signing and x.ledger_id = i.ledger_id and x.required
          and not (x.agent_id = i.actor_id and coalesce(s.holds, i.kind in ('agent-key-registered', 'agent-key-revoked')))
          and (x.agent_id in (i.actor_id, i.party_id) or i.kind = 'batch-notarized' and exists (
            select from unnest(chunk_key_items, chunk_keys) c (item, key)
            where c.item = i.ix and c.key = '\x42'::bytea || uuid_send(x.agent_id)))
        offset 0
      ) q on true
      -- The first entry of a record needs no look-up here. If the record exists already, the primary key of records
      -- refuses the insert.
      left join lateral (
        select x.state, x.version, x.last_seq, x.principal_id, x.performer_id, x.gate, x.deadline, x.revisions, x.max_revisions,
          e.leaf as last_leaf
        from gated_records x
        -- The join is lateral, because a session may keep a plan that it made on empty tables. Such a plan of a plain
        -- join would read all entries of the ledger for each step.
        cross join lateral (select n.leaf from entries n where n.ledger_id = x.ledger_id and n.seq = x.last_seq offset 0) e
        where i.version > 1 and x.ledger_id = i.ledger_id and x.record_id = i.subject_id
        offset 0
      ) r on true
    ), decided as (
      select i.*, case
          when i.head_size is null or (i.kind = 'ledger-created' and i.head_size > 0) then 5
          when i.first_seq is not null then
            case when i.first_fingerprint = sha256(i.first_salt || i.request_hash) then 1 else 2 end
          -- The worker may rotate the key even if the ledger is frozen. Otherwise the old key could never be retired.
          when i.closed = 'frozen' and not (i.kind = 'server-key-rotated' and by_worker) then 9
          when i.closed = 'restored' and i.kind <> 'ledger-restored' then 10
          when i.closed = 'moving' then 15
          when i.closed = 'moved' then 16
          when i.closed is distinct from 'restored' and i.kind = 'ledger-restored' then 3
          -- A second step of a record in the same call gets `again`, if its version is above the record's version. Any
          -- other step is too late, and a later branch refuses it in this call. If late steps got `again` too, each
          -- call would decide only one of a record's many late steps.
          when i.ix > keys_change or i.same_key or (i.same_subject and i.follows is not true and i.version > coalesce(i.from_version, 0)) then 7
          when k.kind is null or k.record_event <> (i.version is not null) then 8
          -- A statement is appended only together with the entry that registers it, and that entry must be the next
          -- item.
          when i.kind in ('statement', 'statement-registered') and i.other is null then 8
          -- Only the worker may act as `system` on records, or erase by a retention rule.
          when (k.worker_only or (i.actor_id is null and (k.record_event or i.kind = 'payload-erased'))) and not by_worker then 8
          when i.kid is distinct from i.envelope_kid and i.by_agent is null or i.ix = any (overtaken) then 6
          when i.by_agent is false or i.unsigned is not null then 13
          when i.by_agent and i.version = 1 and (
            exists (select from records x where x.ledger_id = i.ledger_id and x.record_id = i.subject_id)
            or exists (select from batch_chunks x where x.ledger_id = i.ledger_id and x.first_record_id = i.subject_id)) then 14
          when k.record_event and not exists (
            select from record_transitions t
            where t.from_state = coalesce(i.from_state, '') and t.kind = i.kind and t.to_state = i.to_state) then 3
          when i.kind = 'revision-requested' and not i.may_revise then 3
          -- A shared record accepts no step that an agent has signed, because peers know only the keys of servers.
          when i.by_agent and i.version > 1
            and exists (select from shared_records x where x.ledger_id = i.ledger_id and x.record_id = i.subject_id) then 3
          when i.version <> coalesce(i.from_version, 0) + 1 or i.previous_leaf is distinct from i.last_leaf then 6
          when i.version > 1 and case
              when i.kind in ('completion-verified', 'record-expired') then i.actor_id is null
              -- The worker may accept only if the rules passed, and reject only if the rules failed.
              when i.kind = 'verdict-rendered' and i.gate = 'auto' then
                i.actor_id is null and (i.from_state = 'VERIFIED') = (i.to_state = 'ACCEPTED')
              when i.actor_id is null then false
              when i.kind = 'record-activated' then
                i.party_id <> i.principal_id and i.party_id = coalesce(i.performer_id, i.party_id)
              when i.kind = 'completion-submitted' then i.party_id = i.performer_id
              -- The performer must not overturn a verdict, neither in its own name nor in another agent's.
              when i.kind = 'verdict-overturned' then i.performer_id <> all (array[i.party_id, i.actor_id])
              when i.kind = 'verdict-rendered' then i.party_id = i.principal_id and i.actor_id <> i.performer_id
              else i.party_id = i.principal_id
            end is not true then 12
          when i.kind in ('record-activated', 'completion-submitted') and i.deadline <= clock_timestamp() then 11
          when i.kind = 'record-expired' and (i.deadline is null or i.deadline > clock_timestamp()) then 11
          when abs(extract(epoch from i.recorded_at - clock_timestamp())) > 30 - 10 * (i.by_agent is true)::int then 4
          else 0
        end as outcome
      from item i left join entry_kinds k on k.kind = i.kind
    ), appended as (
      select d.*, d.head_size + row_number() over w - 1 as seq, chain_extend(d.leaf, d.head_chain) over w as chain
      from decided d
      where d.outcome = 0
        and (d.other is null or d.other <> all (array(select x.ix from decided x where x.outcome <> 0)))
      window w as (partition by d.ledger_id order by d.ix)
    )
    select array_agg(o.outcome order by d.ix), array_agg(coalesce(a.seq, d.first_seq, 0) order by d.ix),
      array_agg(a.chain order by d.ix), array_agg(case when a.follows then a.seq - 1 else a.last_seq end order by d.ix),
      array_agg(case when a.by_agent then a.kid end order by d.ix),
      string_agg(set_byte('\x00'::bytea, 0, o.outcome) || int8send(coalesce(a.seq, d.first_seq, 0))
        || coalesce(a.chain, '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea), '' order by d.ix)
    into outcomes, seqs, chains, prev_seqs, signer_kids, answer
    from decided d left join appended a on a.ix = d.ix
    -- An item gets the outcome `again` if the other item of its pair was not appended.
    cross join lateral (select case when d.outcome = 0 and a.ix is null then 7 else d.outcome end as outcome) o;

    -- Raises an error if an item would create records but the call has no rows for them. Otherwise the entry would be
    -- stored without its records, and only an audit would find this.
    if (select count(*) from unnest(versions, outcomes) i (version, outcome) where i.outcome = 0 and i.version = 1)
      <> (select count(distinct n.item) from unnest(record_items || chunk_items) n (item) where outcomes[n.item] = 0) then
      raise exception 'an entry that begins records must come with their rows'
        using errcode = 'integrity_constraint_violation', constraint = 'entries_make_records';
    end if;
  end if;

  if 0 = any (outcomes) then
    was_written := write_entries(false, outcomes, seqs, chains, prev_seqs, signer_kids,
      ledger_ids, kinds, subject_ids, versions, to_states, previous_leaves, item_counts, actor_ids, party_ids, key_ids,
      recorded_ats, leaves, envelopes, idempotency_hashes, request_salts, request_hashes, details,
      record_items, record_ids, record_types, record_digests, record_salts, record_payloads, record_occurred_ats,
      record_on_behalf_ofs, record_parent_ids, record_traceparents, record_other_members, record_metadata, record_reference_lists,
      record_subjects,
      chunk_items, chunk_numbers, chunk_record_ids, chunk_counts, chunk_contents, chunk_key_items, chunk_key_numbers, chunk_keys,
      gated_items, gated_performers, gated_gates, gated_deadlines, gated_max_revisions, gated_tolerances,
      document_items, document_names, document_subjects, document_digests, document_salts, document_contents);
  end if;
  if answer is null and outcomes is not null then
    if not exists (select from chain_heads h where h.ledger_id = head.ledger_id and h.size = head.size + cardinality(kinds)) then
      perform refuse_unmoved();
    end if;
    if cardinality(kinds) = 1 then return '\x00'::bytea || int8send(seqs[1]) || chains[1]; end if;
    return (
      select string_agg('\x00'::bytea || int8send(a.seq) || a.chain, '' order by a.ix)
      from unnest(seqs, chains) with ordinality a (seq, chain, ix)
    );
  end if;

  if exists (
    select from (
      select i.ledger_id, max(i.seq) + 1 as size from unnest(ledger_ids, outcomes, seqs) i (ledger_id, outcome, seq)
      where i.outcome = 0 group by i.ledger_id
    ) n
    left join lateral (select c.size from chain_heads c where c.ledger_id = n.ledger_id offset 0) h on true
    where h.size is distinct from n.size) then
    perform refuse_unmoved();
  end if;
  -- Removes the head of a ledger whose ledger-created was refused.
  if 'ledger-created' = any (kinds) then
    delete from chain_heads h where h.ledger_id = any (ledger_ids) and h.size = 0;
  end if;
  return coalesce(answer, '');
end $function$;

CREATE OR REPLACE FUNCTION tallystick.append_federation(ledger_ids uuid[], kinds text[], subject_ids uuid[], leaves bytea[], details text[], outcomes smallint[], seqs bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.append_keeping(ledger_ids uuid[], kinds text[], details text[], outcomes smallint[], seqs bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
declare
  lifted bigint;
begin
  insert into retention_rules (ledger_id, seq, type, agent_id, days)
  select i.ledger_id, i.seq, d.type, d."agentId", d.days
  from unnest(ledger_ids, kinds, details, outcomes, seqs) i (ledger_id, kind, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json) d (type text, "agentId" uuid, days int4) on true
  where i.outcome = 0 and i.kind = 'retention-set';

  insert into holds (ledger_id, seq, case_id, type, agent_id, record_ids)
  select i.ledger_id, i.seq, d."caseId", d.type, d."agentId", d."recordIds"
  from unnest(ledger_ids, kinds, details, outcomes, seqs) i (ledger_id, kind, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json) d ("caseId" text, type text, "agentId" uuid, "recordIds" uuid[]) on true
  where i.outcome = 0 and i.kind = 'hold-set';
  insert into hold_records (ledger_id, record_id, seq)
  select distinct i.ledger_id, record_id, i.seq
  from unnest(ledger_ids, kinds, details, outcomes, seqs) i (ledger_id, kind, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json) d ("recordIds" uuid[]) on true
  cross join lateral unnest(d."recordIds") record_id
  where i.outcome = 0 and i.kind = 'hold-set';

  update holds h set lifted_seq = i.seq
  from unnest(ledger_ids, kinds, details, outcomes, seqs) i (ledger_id, kind, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json) d (hold bigint) on true
  where i.outcome = 0 and i.kind = 'hold-lifted' and h.ledger_id = i.ledger_id and h.seq = d.hold and h.lifted_seq is null;
  get diagnostics lifted = row_count;
  if lifted <> (select count(*) from unnest(kinds, outcomes) i (kind, outcome) where i.outcome = 0 and i.kind = 'hold-lifted') then
    raise exception 'only a hold that is in force can be lifted'
      using errcode = 'integrity_constraint_violation', constraint = 'entries_end_once';
  end if;

  -- Restarts the sweep, because a new rule or a lifted hold may have made documents due for erasure.
  insert into retention_sweeps (ledger_id, changed_seq)
  select i.ledger_id, max(i.seq) from unnest(ledger_ids, kinds, outcomes, seqs) i (ledger_id, kind, outcome, seq)
  where i.outcome = 0 and i.kind in ('retention-set', 'hold-lifted')
  group by i.ledger_id
  on conflict (ledger_id) do update set changed_seq = excluded.changed_seq, next_seq = 0, due_at = now();

  if exists (
    select from unnest(ledger_ids, kinds, outcomes) i (ledger_id, kind, outcome)
    where i.outcome = 0 and i.kind in ('retention-set', 'hold-set') and (
      (select count(*) from retention_rules x where x.ledger_id = i.ledger_id) > 1024
      or (select count(*) from holds x
        where x.ledger_id = i.ledger_id and coalesce(x.lifted_seq, 9223372036854775807) = 9223372036854775807) > 1024)
  ) then
    raise exception 'a ledger can have 1,024 retention rules and 1,024 holds in force'
      using errcode = 'integrity_constraint_violation', constraint = 'keeping_max';
  end if;
  if exists (
    select from unnest(ledger_ids, kinds, outcomes) i (ledger_id, kind, outcome)
    where i.outcome = 0 and i.kind = 'hold-set' and (
      select sum(cardinality(x.record_ids)) from holds x
      where x.ledger_id = i.ledger_id and coalesce(x.lifted_seq, 9223372036854775807) = 9223372036854775807) > 65536
  ) then
    raise exception 'holds in force can name 65,536 records of a ledger'
      using errcode = 'integrity_constraint_violation', constraint = 'holds_records_max';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.append_received(ledger_ids uuid[], kinds text[], subject_ids uuid[], details text[], outcomes smallint[], seqs bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
  -- `document`, `type`, `standing`, `offer`, `erased` and `peer` are read only for entry-received. The details of other
  -- entries may have members of the same names with another meaning.
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.append_statements(ledger_ids uuid[], kinds text[], subject_ids uuid[], previous_leaves bytea[], details text[], outcomes smallint[], seqs bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  insert into statements (ledger_id, statement_id, seq, leaf, issuer, subject, content_type, kid)
  select i.ledger_id, i.subject_id, i.seq - 1, i.leaf, d.issuer, d.subject, d."contentType", decode(d.kid, 'hex')
  from unnest(ledger_ids, kinds, subject_ids, previous_leaves, details, outcomes, seqs)
      i (ledger_id, kind, subject_id, leaf, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json) d (issuer text, subject text, "contentType" text, kid text) on true
  where i.outcome = 0 and i.kind = 'statement-registered';

  -- A newer policy may have replaced the policy that the server applied. This check is final, because the head is
  -- locked.
  if exists (
    select from unnest(ledger_ids, kinds, details, outcomes, seqs) i (ledger_id, kind, detail, outcome, seq)
    left join lateral json_to_record(i.detail::json) d (policy text) on true
    left join lateral (
      select e.leaf from entries e
      where e.ledger_id = i.ledger_id and e.kind = 'registration-policy-set' and e.seq < i.seq
      order by e.seq desc limit 1
    ) newest on true
    where i.outcome = 0 and i.kind = 'statement-registered' and newest.leaf is distinct from decode(d.policy, 'hex')
  ) then
    raise exception 'a statement must be registered under the newest policy of its ledger'
      using errcode = 'integrity_constraint_violation', constraint = 'statements_policy';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.archive_pieces_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.batch_chunks_begin()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.batch_chunks_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.begin_peer_request(ledger uuid, peer uuid, request_nonce bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  perform from peer_inboxes i where i.ledger_id = ledger and i.peer_id = peer for update;
  -- Nonces are stored for 150 s. This is longer than a request is valid, from its earliest to its latest accepted time.
  delete from peer_nonces n where n.ledger_id = ledger and n.peer_id = peer and n.seen_at < clock_timestamp() - interval '150 seconds';
  insert into peer_nonces (ledger_id, peer_id, nonce) values (ledger, peer, request_nonce) on conflict do nothing;
  return found;
end $function$;

create aggregate tallystick.chain_extend(bytea,bytea) (sfunc = tallystick.chain_step, stype = bytea);

CREATE OR REPLACE FUNCTION tallystick.chain_heads_forward_only()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.chain_link(previous bytea, leaf bytea)
 RETURNS bytea
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN sha256((('\x02'::bytea || previous) || leaf));

CREATE OR REPLACE FUNCTION tallystick.chain_step(state bytea, leaf bytea, head bytea)
 RETURNS bytea
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
begin
  return sha256('\x02'::bytea || coalesce(state, head) || leaf);
end $function$;

CREATE OR REPLACE FUNCTION tallystick.change_webhook(ledger uuid, webhook uuid, settings jsonb, with_documents boolean)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
declare
  w webhooks;
begin
  if not lock_webhook(ledger, webhook) then return 'missing'; end if;
  select * into w from webhooks o where o.ledger_id = ledger and o.webhook_id = webhook;
  w = jsonb_populate_record(w, webhook_settings(settings));
  if 'documents' = any (w.include) and not with_documents then return 'documents'; end if;
  -- Updates all columns, because a statement with the names of the changed columns would have to be extended for each
  -- new setting. The row is locked, so no other change is overwritten.
  execute (
    select format('update webhooks set (%1$s) = (select %1$s from (select ($1).*) n) where ledger_id = $2 and webhook_id = $3',
      string_agg(quote_ident(a.attname), ', '))
    from pg_attribute a where a.attrelid = 'webhooks'::regclass and a.attnum > 0 and not a.attisdropped
  ) using w, ledger, webhook;
  return 'changed';
end $function$;

CREATE OR REPLACE FUNCTION tallystick.charge_peer(ledger uuid, peer uuid, stored_entries bigint, stored_bytes bigint)
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
  insert into peer_budgets as b (ledger_id, peer_id, began_at, entries, bytes)
  values (ledger, peer, now(), stored_entries, stored_bytes)
  on conflict on constraint peer_budgets_pkey do update set
    began_at = case when b.began_at > now() - interval '1 day' then b.began_at else excluded.began_at end,
    entries = case when b.began_at > now() - interval '1 day' then b.entries else 0 end + excluded.entries,
    bytes = case when b.began_at > now() - interval '1 day' then b.bytes else 0 end + excluded.bytes
$function$;

CREATE OR REPLACE FUNCTION tallystick.charge_peers()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  case tg_table_name
    when 'received_entries' then
      perform charge_peer(c.ledger_id, c.peer_id, count(*),
        sum(length(c.envelope) + length(e.envelope) + coalesce(length(d.content), 0)))
      from came c
      join entries e on e.ledger_id = c.ledger_id and e.seq = c.seq
      left join documents d on d.ledger_id = c.ledger_id and d.seq = c.seq
      group by c.ledger_id, c.peer_id;
    when 'received_documents' then
      perform charge_peer(r.ledger_id, r.peer_id, 0,
        sum(coalesce(length(c.content), 0) + coalesce(length(c.reference_list), 0)))
      from came c
      join received_entries r on r.ledger_id = c.ledger_id and r.seq = c.seq
      group by r.ledger_id, r.peer_id;
    when 'received_types' then
      perform charge_peer(c.ledger_id, c.peer_id, 0, sum(length(c.definition))) from came c group by c.ledger_id, c.peer_id;
    when 'peer_forks' then
      perform charge_peer(c.ledger_id, c.peer_id, count(*), sum(length(c.envelope))) from came c group by c.ledger_id, c.peer_id;
  end case;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.checkpoints_agree()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.close_restored_ledgers(ledgers uuid[], known_sizes bigint[], known_chains bytea[], refused_seqs bigint[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.create_webhook(ledger uuid, webhook uuid, settings jsonb, creator uuid, secret uuid, new_sealed bytea, new_public_key bytea, webhooks_max integer)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
declare
  w constant webhooks := jsonb_populate_record(null::webhooks, webhook_settings(settings) || jsonb_build_object(
    'ledger_id', ledger, 'webhook_id', webhook, 'created_by', creator, 'created_at', clock_timestamp(),
    'state', 'active', 'state_at', clock_timestamp()));
  twin uuid;
begin
  -- Locks the creation of endpoints for this ledger. So no other endpoint is created between the check and the insert.
  perform pg_advisory_xact_lock(hashtextextended('webhooks ' || ledger, 0));
  select o.webhook_id into twin from webhooks o
  where o.ledger_id = ledger and o.state <> 'deleted'
    and webhook_settings(to_jsonb(o)) - 'description' = webhook_settings(to_jsonb(w)) - 'description'
  limit 1;
  if found then return twin; end if;
  if (select count(*) from webhooks o where o.ledger_id = ledger and o.state <> 'deleted') >= webhooks_max then
    return null;
  end if;
  insert into webhooks select w.*;
  insert into webhook_secrets (ledger_id, webhook_id, secret_id, sealed, public_key)
  values (ledger, webhook, secret, new_sealed, new_public_key);
  insert into webhook_cursors (ledger_id, webhook_id, next_seq, checkpoint_size)
  select ledger, webhook, e.size, e.checkpoint from ledger_ends(ledger) e;
  return webhook;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.delete_webhook(ledger uuid, webhook uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  if not lock_webhook(ledger, webhook) then return false; end if;
  update webhooks w set state = 'deleted', reason = null, state_at = clock_timestamp()
  where w.ledger_id = ledger and w.webhook_id = webhook;
  delete from webhook_secrets s where s.ledger_id = ledger and s.webhook_id = webhook;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.documents_keep()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.entries_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.entries_extend_chain()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.erase_documents(ledger uuid, ats bigint[], chunk_seqs bigint[], chunk_numbers integer[], chunks_before bytea[], chunks_after bytea[], key_chunks integer[], keys_gone bytea[])
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  erased erasures[];
  changed int4;
begin
  -- Rows are locked in order, so that two workers never deadlock.
  perform from erasures e where e.ledger_id = ledger and e.seq = any (ats) and e.erased_at is null order by e.seq for update;
  with done as (
    update erasures e set erased_at = now() where e.ledger_id = ledger and e.seq = any (ats) and e.erased_at is null
    returning e.*
  )
  select array_agg(d::erasures order by d.seq) into erased from done d;
  if erased is null then return 0; end if;

  if cardinality(chunk_seqs) > 0 then
    with item as (
      select x.seq, x.document_seq, place_in_batch(x.subject_id) / 64 as chunk, place_in_batch(x.subject_id) % 64 as place
      from unnest(erased) x where x.document = 'payload' and is_of_batch(x.subject_id)
    ), rewritten as (
      select n.seq, n.chunk, n.before, n.after, max(i.seq) as at
      from unnest(chunk_seqs, chunk_numbers, chunks_before, chunks_after) n (seq, chunk, before, after)
      join item i on i.document_seq = n.seq and i.chunk = n.chunk
      group by n.seq, n.chunk, n.before, n.after
    ), written as (
      update batch_chunks c set erased_seq = n.at, content = case when c.content is not null then n.after end,
        metadata = case when c.content is null and n.after <> '' then n.after end
      from rewritten n
      where c.ledger_id = ledger and c.seq = n.seq and c.chunk = n.chunk
        and sha256(coalesce(c.content, int8send(coalesce(c.erased_seq, -1)) || coalesce(c.metadata, ''))) = n.before
      returning 1
    )
    select count(*) into changed from written;
    if changed <> cardinality(chunk_seqs) then
      raise exception 'the chunk has changed meanwhile' using errcode = 'serialization_failure';
    end if;
    -- Keys of references begin with `R`. Keys of data subjects begin with `S` and end with the record's index in the
    -- chunk.
    delete from batch_keys k using unnest(key_chunks, keys_gone) g (n, key)
    where k.ledger_id = ledger and k.key = g.key and get_byte(k.key, 0) = ascii('R')
      and k.seq = chunk_seqs[g.n] and k.chunk = chunk_numbers[g.n];
    delete from batch_keys k using (
      select x.document_seq, place_in_batch(x.subject_id) / 64 as chunk, array_agg(place_in_batch(x.subject_id) % 64) as places
      from unnest(erased) x where x.document = 'payload' and is_of_batch(x.subject_id)
      group by 1, 2
    ) g
    where k.ledger_id = ledger and k.seq = g.document_seq and k.chunk = g.chunk
      and k.key between '\x53'::bytea and '\x54'::bytea
      and case when length(k.key) = 18 then get_byte(k.key, 17) = any (g.places) end;
  end if;

  -- The label of a gated record stays, because it is needed to find the record's other documents. forget_labels removes
  -- the label later.
  update records r set payload = null, salt = null, metadata = null, reference_list = null, payload_erased_seq = x.seq,
    subject = case when exists (select from gated_records g where g.ledger_id = ledger and g.record_id = r.record_id)
      then r.subject end
  from unnest(erased) x
  where x.document = 'payload' and r.ledger_id = ledger and r.record_id = x.subject_id and not is_of_batch(x.subject_id);
  get diagnostics changed = row_count;
  if changed + (
    select count(*) from unnest(erased) x
    join unnest(chunk_seqs, chunk_numbers) n (seq, chunk)
      on n.seq = x.document_seq and n.chunk = place_in_batch(x.subject_id) / 64
    where x.document = 'payload' and is_of_batch(x.subject_id)
  ) <> (select count(*) from unnest(erased) x where x.document = 'payload') then
    raise exception 'the record has no row' using errcode = 'no_data_found';
  end if;
  delete from record_references f using unnest(erased) x
  where x.document = 'payload' and f.ledger_id = ledger and f.record_id = x.subject_id and not is_of_batch(x.subject_id);
  update documents d set salt = null, content = null, erased_seq = x.seq
  from unnest(erased) x
  where x.document <> 'payload' and d.ledger_id = ledger and d.seq = x.document_seq and d.document = x.document;
  update idempotency_keys k set salt = null, fingerprint = null
  where k.ledger_id = ledger and k.seq = any (array(select x.document_seq from unnest(erased) x)) and k.salt is not null;
  return cardinality(erased);
end $function$;

CREATE OR REPLACE FUNCTION tallystick.find_replay(ledger uuid, actor uuid, key bytea, request_hash bytea)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  return (
    select case when k.fingerprint = sha256(k.salt || request_hash) then k.seq else -1 end
    from idempotency_keys k where k.ledger_id = ledger and k.actor_id = actor and k.key_hash = key);
end $function$;

CREATE OR REPLACE FUNCTION tallystick.forget_labels(after_ledger uuid, after_record uuid, page integer, OUT last_ledger uuid, OUT last_record uuid)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  found_records records[];
begin
  perform require_proof();
  select array_agg(r::records order by r.ledger_id, r.record_id) into found_records from (
    select * from records r
    where r.subject is not null and r.payload_erased_seq is not null and (r.ledger_id, r.record_id) > (after_ledger, after_record)
    order by r.ledger_id, r.record_id limit page
  ) r;
  update records r set subject = null
  from unnest(found_records) f
  where r.ledger_id = f.ledger_id and r.record_id = f.record_id
    and not exists (
      select from chain_heads h where h.ledger_id = r.ledger_id and h.closed in ('moving', 'moved'))
    and exists (
      select from gated_records g where g.ledger_id = r.ledger_id and g.record_id = r.record_id and g.ended_as <> '')
    and not exists (
      select from entries e join documents d on d.ledger_id = e.ledger_id and d.seq = e.seq
      where e.ledger_id = r.ledger_id and e.subject_id = r.record_id and e.version > 1 and d.content is not null);
  if cardinality(found_records) = page then
    last_ledger := found_records[page].ledger_id;
    last_record := found_records[page].record_id;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.gated_records_begin()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.gated_records_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.holds_on(ledger uuid, record uuid, of_type text, agents uuid[], at bigint)
 RETURNS TABLE(seq bigint, case_id text)
 LANGUAGE sql
 STABLE
AS $function$
  select h.seq, h.case_id from (
    select x.* from tallystick.holds x
    where x.ledger_id = ledger and coalesce(x.lifted_seq, 9223372036854775807) > at and x.record_ids is null
    union all
    select x.* from (
      select y.seq from tallystick.hold_records y where y.ledger_id = ledger and y.record_id = record offset 0
    ) n
    cross join lateral (select y.* from tallystick.holds y where y.ledger_id = ledger and y.seq = n.seq offset 0) x
    where coalesce(x.lifted_seq, 9223372036854775807) > at and record = any (x.record_ids)
  ) h
  where h.seq < at and (h.type is null or h.type = of_type) and (h.agent_id is null or h.agent_id = any (agents))
$function$;

CREATE OR REPLACE FUNCTION tallystick.idempotency_keys_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.invite_peer(ledger uuid, peer uuid, peer_name text, agent uuid, token_hash bytea, expires timestamp with time zone, inviter text, open_max integer, peers_max integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  perform from ledgers l where l.ledger_id = ledger for no key update;
  if (select count(*) from peers p where p.ledger_id = ledger and p.state = 'invited' and p.expires_at > now()) >= open_max
    or (select count(*) from peers p where p.ledger_id = ledger and p.state not in ('invited', 'revoked')) >= peers_max then
    return false;
  end if;
  delete from peers p where p.ledger_id = ledger and p.state = 'invited' and p.expires_at < now() - interval '30 days';
  insert into peers (ledger_id, peer_id, name, role, state, created_by, token_hash, expires_at, inviter)
  values (ledger, peer, peer_name, 'inviter', 'invited', agent, token_hash, expires, inviter);
  return true;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.is_of_batch(record_id uuid)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN ((get_byte(uuid_send(record_id), 14) & 8) = 0);

CREATE OR REPLACE FUNCTION tallystick.items_overtaken(ledger_ids uuid[], actor_ids uuid[], unseen_befores bigint[], items integer[], keys bytea[])
 RETURNS integer[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  return array(
    select distinct c.item
    from unnest(items, keys) c (item, key)
    cross join lateral (
      select from batch_keys x
      cross join lateral (
        select e.actor_id from entries e where e.ledger_id = x.ledger_id and e.seq = x.seq offset 0
      ) e
      where x.ledger_id = ledger_ids[c.item] and x.key = c.key and x.seq >= unseen_befores[c.item]
        and e.actor_id = actor_ids[c.item]
      limit 1
    ) x
    where unseen_befores[c.item] is not null
      and (get_byte(c.key, 0) = ascii('C') or substr(c.key, 1, 11) = '\x526f74656c2e6c6f67733a'::bytea)
  );
end $function$;

CREATE OR REPLACE FUNCTION tallystick.keep_fork(ledger uuid, peer uuid, fork_leaf bytea, at bigint, record uuid, record_version integer, held bytea, fork bytea, forks_max integer)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  if (select count(*) from (select from peer_forks f where f.ledger_id = ledger and f.peer_id = peer limit forks_max) f) >= forks_max then
    return;
  end if;
  insert into peer_forks (ledger_id, peer_id, leaf, remote_seq, record_id, version, held_leaf, envelope)
  values (ledger, peer, fork_leaf, at, record, record_version, held, fork) on conflict do nothing;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.keep_peer_witness(ledger uuid, peer uuid, other_key text, other_kid bytea, tree_size bigint, tree_root bytea, tree_note text, other_note text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  insert into peer_witnesses (ledger_id, peer_id) values (ledger, peer) on conflict do nothing;
  update peer_witnesses w set
    remote_key = coalesce(other_key, w.remote_key), remote_kid = coalesce(other_kid, w.remote_kid),
    seen_size = coalesce(tree_size, w.seen_size), seen_root = coalesce(tree_root, w.seen_root),
    seen_note = coalesce(tree_note, w.seen_note),
    fork_note = coalesce(w.fork_note, other_note),
    fork_held = case when w.fork_note is null and other_note is not null then w.seen_note else w.fork_held end
  where w.ledger_id = ledger and w.peer_id = peer;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.keeping_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  if tg_table_name = 'hold_records' then
    if tg_op = 'DELETE' and not exists (select from holds h
        where h.ledger_id = old.ledger_id and h.seq = old.seq and h.lifted_seq is null) then
      return old;
    end if;
  elsif tg_table_name = 'holds' then
    if (new.ledger_id, new.seq, new.case_id, new.type, new.agent_id, new.record_ids)
        is not distinct from (old.ledger_id, old.seq, old.case_id, old.type, old.agent_id, old.record_ids)
      and old.lifted_seq is null
      and exists (select from entries e
        where e.ledger_id = new.ledger_id and e.seq = new.lifted_seq and e.kind = 'hold-lifted') then
      return new;
    end if;
  end if;
  raise exception 'retention rules and holds may change only by an entry'
    using errcode = 'integrity_constraint_violation', constraint = tg_table_name || '_change';
end $function$;

CREATE OR REPLACE FUNCTION tallystick.keeping_facts(ledger uuid, record uuid, document_seq bigint, given_type text, given_agents uuid[])
 RETURNS TABLE(type text, agents uuid[], made_seq bigint, since timestamp with time zone)
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(r.type, given_type, m.type),
    case when r.type is not null then array_remove(array[r.actor_id, r.on_behalf_of, g.performer_id], null)
      when given_type is not null then given_agents
      else array_remove(array[e.actor_id, o.agent_id], null) end,
    coalesce(r.first_seq, document_seq),
    case when g.state is null then e.recorded_at when g.ended_as <> '' then l.recorded_at end
  from (select ledger as ledger_id) i
  left join lateral (
    select x.type, x.actor_id, x.on_behalf_of, x.first_seq from tallystick.records x
    where x.ledger_id = i.ledger_id and x.record_id = record offset 0
  ) r on true
  left join lateral (
    select x.state, x.ended_as, x.performer_id, x.last_seq from tallystick.gated_records x
    where x.ledger_id = i.ledger_id and x.record_id = record offset 0
  ) g on true
  left join lateral (
    select x.agent_id, x.peer_id from tallystick.offers x
    where r.type is null and given_type is null and x.ledger_id = i.ledger_id and x.seq = document_seq and x.record_id = record offset 0
  ) o on true
  left join lateral (
    select x.type from tallystick.remote_records x
    where x.ledger_id = i.ledger_id and x.record_id = record and x.peer_id = o.peer_id offset 0
  ) m on true
  left join lateral (
    select x.actor_id, x.recorded_at from tallystick.entries x
    where x.ledger_id = i.ledger_id and x.seq = coalesce(r.first_seq, document_seq) offset 0
  ) e on true
  left join lateral (
    select x.recorded_at from tallystick.entries x where x.ledger_id = i.ledger_id and x.seq = g.last_seq offset 0
  ) l on true
$function$;

CREATE OR REPLACE FUNCTION tallystick.leaves_for_archive(kind text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (kind = ANY (ARRAY['record-notarized'::text, 'batch-notarized'::text]));

CREATE OR REPLACE FUNCTION tallystick.ledger_ends(ledger uuid, OUT size bigint, OUT checkpoint bigint)
 RETURNS record
 LANGUAGE sql
 STABLE
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
  select h.size, coalesce((select max(c.size) from checkpoints c where c.ledger_id = h.ledger_id), 0)
  from chain_heads h where h.ledger_id = ledger
$function$;

CREATE OR REPLACE FUNCTION tallystick.lock_webhook(ledger uuid, webhook uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  perform from webhook_cursors c where c.ledger_id = ledger and c.webhook_id = webhook for update;
  perform from webhooks w
  where w.ledger_id = ledger and w.webhook_id = webhook and w.state <> 'deleted' for update;
  return found;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.mac_holds(message bytea, mac bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  return exists (
    select from mac_keys k
    where k.key_id = substr(mac, 1, 8)
      and sha256(k.outer_pad || sha256(k.outer_pad || sha256(k.inner_pad || message))) = sha256(k.outer_pad || substr(mac, 9)));
end $function$;

CREATE OR REPLACE FUNCTION tallystick.missing_guards()
 RETURNS text[]
 LANGUAGE sql
 STABLE
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
  select coalesce(array_agg(m.text order by m.text), '{}')
  from (
    select format('the trigger %s of %s is %s', g.name, g.relation, case when t.oid is null then 'missing' else 'off' end)
    from guards g
    left join pg_trigger t
      on t.tgrelid = to_regclass(format('tallystick.%I', g.relation)) and t.tgname = g.name and not t.tgisinternal
    where t.tgenabled is distinct from case when g.always then 'A' else 'O' end
    union all
    select distinct format('foreign keys of %s are off', c.relname)
    from pg_class c join pg_trigger t on t.tgrelid = c.oid
    where c.relnamespace = 'tallystick'::regnamespace and t.tgisinternal and t.tgenabled not in ('O', 'A')
    union all
    select format('the table %s is unlogged', c.relname)
    from pg_class c where c.relnamespace = 'tallystick'::regnamespace and c.relkind = 'r' and c.relpersistence <> 'p'
  ) m (text);
$function$;

CREATE OR REPLACE FUNCTION tallystick.own_signatures_hold(of_ledger uuid, envelope_kid bytea, kids bytea[], actor_ids uuid[], subject_ids uuid[], recorded_ats timestamp with time zone[])
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  return not exists (
    select from unnest(kids, actor_ids, subject_ids, recorded_ats) i (kid, actor_id, subject_id, recorded_at)
    left join lateral (
      select true as holds from agent_signing_keys x
      where x.ledger_id = of_ledger and x.kid = i.kid and x.agent_id = i.actor_id and x.revoked_seq is null offset 0
    ) s on true
    left join lateral (
      select true as taken from records x where x.ledger_id = of_ledger and x.record_id = i.subject_id offset 0
    ) r on true
    left join lateral (
      select true as taken from batch_chunks x where x.ledger_id = of_ledger and x.first_record_id = i.subject_id offset 0
    ) b on true
    where i.kid <> envelope_kid and (s.holds is null or r.taken or b.taken
      or abs(extract(epoch from i.recorded_at - clock_timestamp())) > 20)
  );
end $function$;

CREATE OR REPLACE FUNCTION tallystick.owner_silences_triggers()
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
  select pg_has_role(session_user, (select nspowner from pg_namespace where nspname = 'tallystick'), 'member');
$function$;

CREATE OR REPLACE FUNCTION tallystick.pause_webhook(ledger uuid, webhook uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  if not lock_webhook(ledger, webhook) then return false; end if;
  update webhooks w set state = 'paused', reason = 'requested', state_at = clock_timestamp()
  where w.ledger_id = ledger and w.webhook_id = webhook and w.state = 'active';
  return true;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.peer_witnesses_grow()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  if (new.ledger_id, new.peer_id) = (old.ledger_id, old.peer_id)
    and (old.seen_size is null or new.seen_size > old.seen_size
      or (new.seen_size, new.seen_root) = (old.seen_size, old.seen_root))
    and (old.fork_note is null or (new.fork_note, new.fork_held) = (old.fork_note, old.fork_held)) then
    return new;
  end if;
  raise exception 'the cosigned size of a peer may only grow'
    using errcode = 'integrity_constraint_violation', constraint = 'peer_witnesses_grow';
end $function$;

CREATE OR REPLACE FUNCTION tallystick.place_in_batch(record_id uuid)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (((get_byte(uuid_send(record_id), 14) & 15) * 256) + get_byte(uuid_send(record_id), 15));

CREATE OR REPLACE FUNCTION tallystick.records_begin()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.records_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.recover_webhook(ledger uuid, webhook uuid, from_seq bigint, end_seq bigint, delivered boolean)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
declare
  c webhook_cursors;
  last_seq bigint;
begin
  if not lock_webhook(ledger, webhook) then return 'missing'; end if;
  select * into c from webhook_cursors x where x.ledger_id = ledger and x.webhook_id = webhook;
  last_seq = least(end_seq, c.next_seq);  -- `least` ignores null arguments
  if c.recover_seq is not null then
    -- A recovery is running. This request may be a repetition of the request that started it. The original start of the
    -- recovery is not stored. So the answer is `recovering` if the recovery still has to deliver all of the requested
    -- entries, and `busy` otherwise.
    return case when c.recover_delivered = delivered and from_seq >= c.recover_seq
      and (end_seq is null or last_seq <= c.recover_end) then 'recovering' else 'busy' end;
  end if;
  if from_seq < last_seq then
    update webhook_cursors x set recover_seq = from_seq, recover_end = last_seq, recover_delivered = delivered
    where x.ledger_id = ledger and x.webhook_id = webhook;
    -- Updates the row without changing its content. This changes its `xmin`, so that the delivering worker reads the
    -- endpoint again.
    update webhooks w set url = w.url where w.ledger_id = ledger and w.webhook_id = webhook;
  end if;
  return 'recovering';
end $function$;

CREATE OR REPLACE FUNCTION tallystick.redeliver_dead_webhook_events(ledger uuid, webhook uuid, first_event uuid, deliveries_max integer)
 RETURNS TABLE(redelivered integer, more boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
declare
  events uuid[];
begin
  if not lock_webhook(ledger, webhook) then return; end if;
  events = array(select d.event_id from webhook_deliveries d
    where d.ledger_id = ledger and d.webhook_id = webhook and d.state = 'dead' and d.event_id >= first_event
    order by d.event_id limit deliveries_max);
  redelivered = cardinality(events);
  if redelivered > 0 then perform redeliver_events(ledger, webhook, events); end if;
  more = exists (select from webhook_deliveries d
    where d.ledger_id = ledger and d.webhook_id = webhook and d.state = 'dead' and d.event_id >= first_event);
  return next;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.redeliver_events(ledger uuid, webhook uuid, events uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  update webhook_deliveries d set state = 'held', tries = 0, due_at = null, finished_at = null
  where d.ledger_id = ledger and d.webhook_id = webhook and d.event_id = any (events);
  -- For each record, the first waiting event becomes due. The record's other events continue to wait.
  update webhook_deliveries d set state = 'pending', due_at = clock_timestamp()
  where d.ledger_id = ledger and d.webhook_id = webhook and d.event_id = any (events) and not exists (
    select from webhook_deliveries e
    where e.ledger_id = ledger and e.webhook_id = webhook and e.record_id = d.record_id and e.state in ('pending', 'held')
      and (e.seq, e.place) < (d.seq, d.place));
  update webhook_cursors c set due_at = clock_timestamp() where c.ledger_id = ledger and c.webhook_id = webhook;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.redeliver_webhook_event(ledger uuid, webhook uuid, that_event uuid)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
declare
  was text;
begin
  if not lock_webhook(ledger, webhook) then return 'missing'; end if;
  select d.state into was from webhook_deliveries d
  where d.ledger_id = ledger and d.webhook_id = webhook and d.event_id = that_event for update;
  if not found then return 'missing'; end if;
  if was = 'held' then return 'held'; end if;
  perform redeliver_events(ledger, webhook, array[that_event]);
  return 'redelivered';
end $function$;

CREATE OR REPLACE FUNCTION tallystick.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  raise exception 'table % is append-only: % is refused', tg_table_name, lower(tg_op)
    using errcode = 'integrity_constraint_violation', constraint = tg_table_name || '_append_only';
end $function$;

CREATE OR REPLACE FUNCTION tallystick.refuse_inserts_while_moving()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.refuse_kept(ledger_ids uuid[], kinds text[], details text[], outcomes smallint[], seqs bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
declare
  refused text;
begin
  select case when k.hold is not null then 'erasures_held' else 'erasures_kept' end into refused
  from unnest(ledger_ids, kinds, details, outcomes, seqs) i (ledger_id, kind, detail, outcome, seq)
  cross join lateral json_to_record(i.detail::json)
    d ("recordId" uuid, "documentSeq" bigint, type text, agents uuid[], rule bigint)
  cross join lateral keeping_facts(i.ledger_id, d."recordId", d."documentSeq", d.type, d.agents) f
  cross join lateral (
    select min(h.seq) as hold from holds_on(i.ledger_id, d."recordId", f.type, f.agents, i.seq) h
  ) k
  left join lateral retention_of(i.ledger_id, f.type, f.agents, f.made_seq) r on d.rule is not null
  where i.outcome = 0 and i.kind = 'payload-erased' and (
    k.hold is not null
    or d.rule is not null and (f.since + r.days * interval '24 hours' <= clock_timestamp() and r.rule_seq = d.rule) is not true)
  limit 1;
  if refused is not null then
    raise exception 'a hold or a retention rule prevents the erasure'
      using errcode = 'integrity_constraint_violation', constraint = refused;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.refuse_unmoved()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the entries did not move their chain''s head: is a trigger off?'
    using errcode = 'object_not_in_prerequisite_state';
end $function$;

CREATE OR REPLACE FUNCTION tallystick.refuse_while_moving()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
declare
  ledger constant uuid := case tg_op when 'DELETE' then old.ledger_id else new.ledger_id end;
begin
  if not exists (select from chain_heads h where h.ledger_id = ledger and h.closed in ('moving', 'moved')) then
    return case tg_op when 'DELETE' then old else new end;
  end if;
  if has_table_privilege(session_user, 'tallystick.checkpoints', 'insert') then return null; end if;
  raise exception 'the ledger is being moved to another database'
    using errcode = 'object_not_in_prerequisite_state', constraint = 'ledger_moving';
end $function$;

CREATE OR REPLACE FUNCTION tallystick.refuse_without_triggers()
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  if not owner_silences_triggers() then
    raise exception 'session_replication_role is replica: triggers and foreign keys are off'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.register_signing_keys(ledger_ids uuid[], kinds text[], subject_ids uuid[], details text[], outcomes smallint[], seqs bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  if exists (
    select from unnest(ledger_ids, kinds, subject_ids, details, outcomes) i (ledger_id, kind, subject_id, detail, outcome)
    left join lateral json_to_record(i.detail::json) d ("endorsedBy" text) on true
    cross join lateral (
      select count(*) as known, count(*) filter (where k.revoked_seq is null) as current,
        coalesce(bool_or(k.revoked_seq is null and k.kid = decode(d."endorsedBy", 'hex')), false) as endorsed
      from agent_signing_keys k where k.ledger_id = i.ledger_id and k.agent_id = i.subject_id
    ) k
    where i.outcome = 0 and i.kind = 'agent-key-registered'
      and (k.current >= 8 or k.known >= 256 or case when d."endorsedBy" is null then k.known > 0 else not k.endorsed end)
  ) then
    raise exception 'a current key of the agent must endorse another key; an agent can have 8 current keys, and 256 in all'
      using errcode = 'integrity_constraint_violation', constraint = 'agent_signing_keys_endorsed';
  end if;
  insert into agent_signing_keys (ledger_id, agent_id, kid, alg, spki, required, registered_seq)
  select i.ledger_id, i.subject_id, decode(d.kid, 'hex'), d.alg, decode(d.spki, 'base64'), d.required, i.seq
  from unnest(ledger_ids, kinds, subject_ids, details, outcomes, seqs) i (ledger_id, kind, subject_id, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json) d (kid text, alg text, spki text, required boolean) on true
  where i.outcome = 0 and i.kind = 'agent-key-registered';
end $function$;

CREATE OR REPLACE FUNCTION tallystick.release_content(ledger uuid, piece_from bigint, seqs bigint[], chunk_numbers integer[], chunks_before bytea[], kept_metadata bytea[], entry_seqs bigint[], entry_leaves bytea[], is_last boolean, OUT chunks integer, OUT envelopes integer)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  piece_end bigint;
  piece_state text;
begin
  chunks := 0;
  envelopes := 0;
  perform require_proof();
  select p.end_seq, p.state into piece_end, piece_state from archive_pieces p join archives a on a.ledger_id = p.ledger_id
  where p.ledger_id = ledger and p.from_seq = piece_from and p.end_seq <= a.size for update of p;
  if piece_end is null then
    raise exception 'the archive has no such piece' using errcode = 'no_data_found';
  end if;
  if piece_state = 'left' or exists (select from chain_heads h where h.ledger_id = ledger and h.closed in ('moving', 'moved')) then
    return;
  end if;
  if piece_state = 'kept' then
    update archive_pieces p set state = 'leaving' where p.ledger_id = ledger and p.from_seq = piece_from;
    -- If no row was updated, the ledger began to be moved meanwhile (refuse_while_moving).
    if not found then return; end if;
  end if;
  update batch_chunks c set content = null, released_bytes = length(c.content), metadata = n.metadata
  from unnest(seqs, chunk_numbers, chunks_before, kept_metadata) n (seq, chunk, before, metadata)
  where c.ledger_id = ledger and c.seq = n.seq and c.chunk = n.chunk and c.seq >= piece_from and c.seq < piece_end
    and sha256(c.content) = n.before;
  get diagnostics chunks = row_count;
  update entries e set envelope = null
  from unnest(entry_seqs, entry_leaves) n (seq, leaf)
  where e.ledger_id = ledger and e.seq = n.seq and e.seq >= piece_from and e.seq < piece_end
    and e.leaf = n.leaf and e.envelope is not null and leaves_for_archive(e.kind);
  get diagnostics envelopes = row_count;
  if is_last then
    update archive_pieces p set state = 'left'
    where p.ledger_id = ledger and p.from_seq = piece_from
      and not exists (
        select from batch_chunks c
        where c.ledger_id = ledger and c.seq >= piece_from and c.seq < piece_end and c.content is not null)
      and not exists (
        select from entries e
        where e.ledger_id = ledger and e.seq >= piece_from and e.seq < piece_end and e.envelope is not null
          and leaves_for_archive(e.kind));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.replace_key_secrets(ledger uuid, key uuid, expected bytea[], secret_hashes bytea[], macs bytea[], expires timestamp with time zone[])
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.replay_peer(ledger uuid, peer uuid, at bigint[])
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
declare
  replayed bigint;
begin
  with gone as (
    delete from peer_dead_letters d
    where d.ledger_id = ledger and d.peer_id = peer and (at is null or d.seq = any (at))
      -- A dead letter without a record is about the peering itself. It is not sent again.
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.request_audit(ledger uuid, audit uuid, agent uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
declare
  found_id uuid;
begin
  -- Locks the audit requests of this ledger. So an open audit cannot end between the insert and the select.
  perform pg_advisory_xact_lock(hashtextextended('audit ' || ledger, 0));
  insert into audits (ledger_id, audit_id, requested_by) values (ledger, audit, agent)
  on conflict (ledger_id) where state in ('queued', 'running') do nothing
  returning audit_id into found_id;
  if found_id is null then
    select a.audit_id into found_id from audits a
    where a.ledger_id = ledger and a.state in ('queued', 'running');
    return coalesce(found_id, request_audit(ledger, audit, agent));
  end if;
  delete from audits a where a.ledger_id = ledger and a.audit_id in (
    select b.audit_id from audits b where b.ledger_id = ledger
    order by b.audit_id desc offset 101);
  return found_id;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.request_webhook_test(ledger uuid, webhook uuid, new_event uuid, about text, open_max integer)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  if not lock_webhook(ledger, webhook) then return 'missing'; end if;
  if not exists (select from webhooks w
    where w.ledger_id = ledger and w.webhook_id = webhook and w.state = 'active') then
    return 'inactive';
  end if;
  if (select count(*) from webhook_deliveries d
    where d.ledger_id = ledger and d.webhook_id = webhook and d.state in ('pending', 'held') and d.record_id is null
      and d.seq is null and d.event = 'webhook.test') >= open_max then
    return 'full';
  end if;
  insert into webhook_deliveries
    (ledger_id, webhook_id, event_id, event, notice, state, tries, attempts, attempt_log, due_at)
  values (ledger, webhook, new_event, 'webhook.test', about, 'pending', 0, 0, '[]', clock_timestamp());
  update webhook_cursors c set due_at = clock_timestamp() where c.ledger_id = ledger and c.webhook_id = webhook;
  return 'requested';
end $function$;

CREATE OR REPLACE FUNCTION tallystick.require_proof()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
declare
  given constant text := current_setting('tallystick.session_mac', true);
begin
  if current_setting('session_replication_role') = 'replica' then perform refuse_without_triggers(); end if;
  if given ~ '^[0-9a-f]{80}$' and mac_holds(convert_to(session_name(), 'UTF8'), decode(given, 'hex')) then return; end if;
  if pg_has_role(session_user, (select nspowner from pg_namespace where nspname = 'tallystick'), 'member') then return; end if;
  raise exception 'this session has not proven that it has the master key'
    using errcode = 'invalid_authorization_specification', constraint = 'session_mac';
end $function$;

CREATE OR REPLACE FUNCTION tallystick.require_proven_session()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  perform require_proof();
  return null;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.resume_webhook(ledger uuid, webhook uuid, skips boolean)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  if not lock_webhook(ledger, webhook) then return false; end if;
  update webhooks w set state = 'active', reason = null, state_at = clock_timestamp()
  where w.ledger_id = ledger and w.webhook_id = webhook and w.state <> 'active';
  update webhook_deliveries d set due_at = clock_timestamp()
  where d.ledger_id = ledger and d.webhook_id = webhook and d.state = 'pending';
  -- The new due time makes the delivering worker read the due deliveries again.
  update webhook_cursors c set failures = 0, failing_since = null, resume_at = null, job_id = null, leased_until = null,
    due_at = clock_timestamp(),
    next_seq = case when skips then greatest(c.next_seq, e.size) else c.next_seq end,
    checkpoint_size = case when skips then greatest(c.checkpoint_size, e.checkpoint) else c.checkpoint_size end
  from ledger_ends(ledger) e where c.ledger_id = ledger and c.webhook_id = webhook;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.retention_of(ledger uuid, of_type text, agents uuid[], made_seq bigint)
 RETURNS TABLE(days integer, rule_seq bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select case when bool_or(r.days is null) then null else max(r.days) end,
    (array_agg(r.seq order by r.days desc nulls first, r.seq desc))[1]
  from (
    select x.seq, x.days, lead(x.seq) over (partition by x.type, x.agent_id order by x.seq) as replaced_seq
    from tallystick.retention_rules x
    where x.ledger_id = ledger and (x.type is null or x.type = of_type) and (x.agent_id is null or x.agent_id = any (agents))
  ) r
  where r.replaced_seq is null or r.replaced_seq > made_seq
$function$;

CREATE OR REPLACE FUNCTION tallystick.retire_envelope_keys()
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION tallystick.rotate_webhook_secret(ledger uuid, webhook uuid, secret uuid, new_sealed bytea, new_public_key bytea, overlap interval, secrets_max integer)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
declare
  overlap_end constant timestamptz := clock_timestamp() + overlap;
begin
  if not lock_webhook(ledger, webhook) then return 'missing'; end if;
  delete from webhook_secrets s where s.ledger_id = ledger and s.webhook_id = webhook
    and least(s.expires_at, overlap_end) <= clock_timestamp();
  if (select count(*) from webhook_secrets s where s.ledger_id = ledger and s.webhook_id = webhook) >= secrets_max then
    return 'full';
  end if;
  update webhook_secrets s set expires_at = least(s.expires_at, overlap_end)
  where s.ledger_id = ledger and s.webhook_id = webhook;
  insert into webhook_secrets (ledger_id, webhook_id, secret_id, sealed, public_key)
  values (ledger, webhook, secret, new_sealed, new_public_key);
  -- Updates the row without changing its content. This changes its `xmin`, so that the delivering worker reads the
  -- endpoint again.
  update webhooks w set url = w.url where w.ledger_id = ledger and w.webhook_id = webhook;
  return 'rotated';
end $function$;

CREATE OR REPLACE FUNCTION tallystick.session_name()
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
  select format('tallystick session %s %s %s', encode(convert_to(session_user, 'UTF8'), 'hex'), pg_backend_pid(), extract(epoch from pg_postmaster_start_time()));
$function$;

CREATE OR REPLACE FUNCTION tallystick.set_key_otlp(ledger uuid, key uuid, settings jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  update api_keys set otlp = settings where ledger_id = ledger and key_id = key;
  return found;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.set_key_rate_limit(ledger uuid, key uuid, per_second real, burst integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  update api_keys set rate_limit_per_second = per_second, rate_limit_burst = burst
  where ledger_id = ledger and key_id = key;
  return found;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.set_ledger_frozen(ledger uuid, frozen boolean)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  perform require_proof();
  update chain_heads set closed = case when frozen then 'frozen' end
  where ledger_id = ledger and closed is not distinct from (case when not frozen then 'frozen' end);
  return found;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.set_ledger_rate_limit(ledger uuid, per_second real, burst integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  update ledgers set rate_limit_per_second = per_second, rate_limit_burst = burst where ledger_id = ledger;
  return found;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.set_ledger_tiles_public(ledger uuid, public boolean, public_max integer)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  if public and public_max <= (select count(*) from ledgers where tiles_public and ledger_id <> ledger) then
    return 'full';
  end if;
  update ledgers set tiles_public = public where ledger_id = ledger;
  return case when found then 'set' else 'absent' end;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.set_peer_budget(ledger uuid, peer uuid, entries_a_day bigint, bytes_a_day bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  insert into peer_budgets as b (ledger_id, peer_id, entries_max, bytes_max)
  select p.ledger_id, p.peer_id, entries_a_day, bytes_a_day from peers p where p.ledger_id = ledger and p.peer_id = peer
  on conflict on constraint peer_budgets_pkey do update set entries_max = excluded.entries_max, bytes_max = excluded.bytes_max;
  return found;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.tree_grows()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  if tg_table_name = 'tree_frontiers' then
    if new.ledger_id = old.ledger_id and new.size > old.size then return new; end if;
  elsif (new.ledger_id, new.level, new.tile_index) = (old.ledger_id, old.level, old.tile_index)
    and substr(new.hashes, 1, length(old.hashes)) = old.hashes then
    return new;
  end if;
  raise exception 'the stored tree may only grow'
    using errcode = 'integrity_constraint_violation', constraint = tg_table_name || '_grow';
end $function$;

CREATE OR REPLACE FUNCTION tallystick.waits_for_worker(state text, gate text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((state = 'SUBMITTED'::text) OR ((gate = 'auto'::text) AND (state = ANY (ARRAY['VERIFIED'::text, 'DISCREPANT'::text]))));

CREATE OR REPLACE FUNCTION tallystick.want_peer_summary(ledger uuid, peer uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  update peer_cursors c set summary_wanted = true where c.ledger_id = ledger and c.peer_id = peer;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.webhook_settings(of_row jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
  select of_row - '{ledger_id,webhook_id,created_by,created_at,state,reason,state_at}'::text[]
$function$;

CREATE OR REPLACE FUNCTION tallystick.withdraw_peer(ledger uuid, peer uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
begin
  update peers p set state = 'revoked', sealed_token = null
  where p.ledger_id = ledger and p.peer_id = peer and p.added_seq is null and p.state in ('invited', 'pending');
  return found;
end $function$;

CREATE OR REPLACE FUNCTION tallystick.write_entries(restores boolean, outcomes smallint[], seqs bigint[], chains bytea[], prev_seqs bigint[], signer_kids bytea[], ledger_ids uuid[], kinds text[], subject_ids uuid[], versions integer[], to_states text[], previous_leaves bytea[], item_counts integer[], actor_ids uuid[], party_ids uuid[], key_ids uuid[], recorded_ats timestamp with time zone[], leaves bytea[], envelopes bytea[], idempotency_hashes bytea[], request_salts bytea[], request_hashes bytea[], details text[], record_items integer[], record_ids uuid[], record_types text[], record_digests bytea[], record_salts bytea[], record_payloads bytea[], record_occurred_ats timestamp with time zone[], record_on_behalf_ofs uuid[], record_parent_ids uuid[], record_traceparents text[], record_other_members text[], record_metadata bytea[], record_reference_lists bytea[], record_subjects bytea[], chunk_items integer[], chunk_numbers integer[], chunk_record_ids uuid[], chunk_counts integer[], chunk_contents bytea[], chunk_key_items integer[], chunk_key_numbers integer[], chunk_keys bytea[], gated_items integer[], gated_performers uuid[], gated_gates text[], gated_deadlines timestamp with time zone[], gated_max_revisions integer[], gated_tolerances bytea[], document_items integer[], document_names text[], document_subjects uuid[], document_digests bytea[], document_salts bytea[], document_contents bytea[])
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'tallystick', 'pg_temp'
AS $function$
declare
  steps int4 := 0;
  moved int4 := 0;
  changed int4;
begin
  -- All inserts are in one statement, because each further statement adds 100 µs to a call of one item.
  with new_entries as (
    insert into entries (ledger_id, seq, kind, subject_id, version, item_count, prev_seq, actor_id, key_id, recorded_at,
      leaf, chain, envelope, signer_kid)
    select i.ledger_id, i.seq, i.kind, i.subject_id, i.version, i.item_count, i.prev_seq, i.actor_id, i.key_id, i.recorded_at,
      i.leaf, i.chain, i.envelope, i.signer_kid
    from unnest(outcomes, ledger_ids, seqs, kinds, subject_ids, versions, item_counts, prev_seqs, actor_ids, key_ids, recorded_ats,
        leaves, chains, envelopes, signer_kids)
      i (outcome, ledger_id, seq, kind, subject_id, version, item_count, prev_seq, actor_id, key_id, recorded_at,
        leaf, chain, envelope, signer_kid)
    where i.outcome = 0
  ), new_idempotency_keys as (
    insert into idempotency_keys (ledger_id, actor_id, key_hash, salt, fingerprint, seq)
    select i.ledger_id, i.actor_id, i.key_hash, i.salt, sha256(i.salt || i.request_hash), i.seq
    from unnest(outcomes, ledger_ids, actor_ids, idempotency_hashes, request_salts, request_hashes, seqs)
      i (outcome, ledger_id, actor_id, key_hash, salt, request_hash, seq)
    where i.outcome = 0 and i.key_hash is not null
  )
  insert into records (ledger_id, record_id, type, first_seq, actor_id,
    occurred_at, on_behalf_of, parent_id, traceparent, other_members, digest, salt, payload, metadata, reference_list, subject)
  select ledger_ids[n.item], n.record_id, n.type, seqs[n.item], actor_ids[n.item],
    n.occurred_at, n.on_behalf_of, n.parent_id, n.traceparent, n.other_members::jsonb, n.digest, n.salt, n.payload, n.metadata,
    n.reference_list, n.subject
  from unnest(record_items, record_ids, record_types, record_digests, record_salts,
      record_payloads, record_occurred_ats, record_on_behalf_ofs, record_parent_ids, record_traceparents, record_other_members,
      record_metadata, record_reference_lists, record_subjects)
    n (item, record_id, type, digest, salt, payload, occurred_at, on_behalf_of, parent_id, traceparent, other_members,
      metadata, reference_list, subject)
  where outcomes[n.item] = 0;
  if num_nonnulls(variadic record_reference_lists) > 0 then
    insert into record_references (ledger_id, reference, first_seq, record_id)
    select distinct ledger_ids[n.item], reference, seqs[n.item], n.record_id
    from unnest(record_items, record_ids, record_reference_lists) n (item, record_id, reference_list)
    cross join lateral jsonb_array_elements_text(convert_from(n.reference_list, 'UTF8')::jsonb) reference
    where outcomes[n.item] = 0;
  end if;

  if cardinality(chunk_items) > 0 then
    insert into batch_chunks (ledger_id, seq, chunk, first_record_id, count, content)
    select ledger_ids[n.item], seqs[n.item], n.chunk, n.first_record_id, n.count, n.content
    from unnest(chunk_items, chunk_numbers, chunk_record_ids, chunk_counts, chunk_contents)
      n (item, chunk, first_record_id, count, content)
    where outcomes[n.item] = 0;
    insert into batch_keys (ledger_id, key, seq, chunk)
    select ledger_ids[n.item], n.key, seqs[n.item], n.chunk
    from unnest(chunk_key_items, chunk_key_numbers, chunk_keys) n (item, chunk, key)
    where outcomes[n.item] = 0;
  end if;

  -- Notarizations create no other rows.
  if kinds <@ '{record-notarized,batch-notarized}' and cardinality(gated_items) + cardinality(document_items) = 0 then return true; end if;

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
      raise exception 'an entry that creates a gated record must come with its terms'
        using errcode = 'integrity_constraint_violation', constraint = 'entries_make_gated_records';
    end if;
  end if;
  if 2 <= any (versions) then
    steps := (select count(*) from unnest(versions, outcomes) i (version, outcome) where i.outcome = 0 and i.version > 1);
  end if;
  -- Each round applies one step of each record, because the trigger of gated_records allows one step at a time. A call
  -- of append_entries has at most two steps of a record. A restore has as many steps as were archived.
  for nth in 1 .. steps loop
    update gated_records r set state = i.to_state, version = i.version, last_seq = i.seq,
      performer_id = case when i.kind = 'record-activated' then i.party_id else r.performer_id end,
      revisions = r.revisions + (i.kind = 'revision-requested')::int4
    from (
      select s.*, row_number() over (partition by s.ledger_id, s.subject_id order by s.version) as place
      from unnest(ledger_ids, kinds, subject_ids, party_ids, to_states, versions, outcomes, seqs)
        s (ledger_id, kind, subject_id, party_id, to_state, version, outcome, seq)
      where s.outcome = 0 and s.version > 1
    ) i
    where i.place = nth and r.ledger_id = i.ledger_id and r.record_id = i.subject_id;
    get diagnostics changed = row_count;
    moved := moved + changed;
    exit when moved = steps or changed = 0;
  end loop;
  if steps > 0 or cardinality(document_items) > 0 then
    insert into documents (ledger_id, seq, document, subject_id, digest, salt, content)
    select ledger_ids[n.item], seqs[n.item], n.document, n.subject_id, n.digest, n.salt, n.content
    from unnest(document_items, document_names, document_subjects, document_digests, document_salts, document_contents)
      n (item, document, subject_id, digest, salt, content)
    where outcomes[n.item] = 0;
    if (select count(*) from unnest(kinds, outcomes) i (kind, outcome)
        where i.outcome = 0 and i.kind in ('completion-submitted', 'completion-verified'))
      <> (select count(*) from unnest(document_items, document_names) n (item, document)
        where outcomes[n.item] = 0 and n.document in ('evidence', 'values') and kinds[n.item] <> 'step-offered') then
      raise exception 'a completion must come with its evidence, and its verification with the compared values'
        using errcode = 'integrity_constraint_violation', constraint = 'entries_make_documents';
    end if;
  end if;

  -- Stores the rows of administrative entries, such as ledgers, agents and keys. These entries have no version. Their
  -- details have the columns of the rows as JSON.
  if array_position(versions, null) is not null then
    perform append_details(ledger_ids, kinds, subject_ids, details, outcomes, seqs);
  end if;
  if kinds && '{retention-set,hold-set,hold-lifted}' then
    perform append_keeping(ledger_ids, kinds, details, outcomes, seqs);
  end if;
  if not restores and 'payload-erased' = any (kinds) and (
    num_nonnulls(variadic actor_ids) < cardinality(actor_ids)
    or exists (select from holds h where h.ledger_id = any (ledger_ids))) then
    perform refuse_kept(ledger_ids, kinds, details, outcomes, seqs);
  end if;
  -- Removes the index rows of lifted holds. refuse_kept must run first, because an entry of this call may erase a
  -- document before a later entry of the call lifts the hold. refuse_kept reads these rows.
  if 'hold-lifted' = any (kinds) then
    delete from hold_records r
    using unnest(ledger_ids, kinds, outcomes, seqs) i (ledger_id, kind, outcome, seq), holds h
    where i.outcome = 0 and i.kind = 'hold-lifted'
      and h.ledger_id = i.ledger_id and coalesce(h.lifted_seq, 9223372036854775807) = i.seq
      and r.ledger_id = h.ledger_id and r.record_id = any (h.record_ids) and r.seq = h.seq;
  end if;
  -- Stores details of entries about peers, shares of records, and offers.
  if num_nonnulls(variadic details) > 0 then
    perform append_federation(ledger_ids, kinds, subject_ids, leaves, details, outcomes, seqs);
  end if;
  if 'statement-registered' = any (kinds) then
    perform append_statements(ledger_ids, kinds, subject_ids, previous_leaves, details, outcomes, seqs);
  end if;
  return true;
end $function$;

-- Triggers

CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.agent_signing_keys FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.agent_signing_keys REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.agent_signing_keys FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.agents FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.agents REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.agents FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.api_key_secrets FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.api_key_secrets REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.api_key_secrets FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.api_keys FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.api_keys REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.api_keys FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.archive_keys FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.archive_keys REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.archive_keys FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER archive_pieces_change BEFORE DELETE OR UPDATE ON tallystick.archive_pieces FOR EACH ROW EXECUTE FUNCTION tallystick.archive_pieces_change();
CREATE TRIGGER archive_pieces_no_truncate BEFORE TRUNCATE ON tallystick.archive_pieces FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.archive_pieces FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.archive_pieces REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.archive_pieces FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.archives FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.archives REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.archives FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.audit_cursors FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.audit_cursors REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.audit_cursors FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.audits FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.audits REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.audits FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER batch_chunks_begin AFTER INSERT ON tallystick.batch_chunks REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.batch_chunks_begin();
CREATE TRIGGER batch_chunks_change BEFORE UPDATE ON tallystick.batch_chunks FOR EACH ROW EXECUTE FUNCTION tallystick.batch_chunks_change();
CREATE TRIGGER batch_chunks_no_delete BEFORE DELETE ON tallystick.batch_chunks FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER batch_chunks_no_truncate BEFORE TRUNCATE ON tallystick.batch_chunks FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER chain_heads_forward_only BEFORE INSERT OR DELETE OR UPDATE ON tallystick.chain_heads FOR EACH ROW EXECUTE FUNCTION tallystick.chain_heads_forward_only(); -- A
CREATE TRIGGER chain_heads_no_truncate BEFORE TRUNCATE ON tallystick.chain_heads FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER checkpoints_agree BEFORE INSERT ON tallystick.checkpoints FOR EACH ROW EXECUTE FUNCTION tallystick.checkpoints_agree();
CREATE TRIGGER checkpoints_append_only BEFORE DELETE OR UPDATE ON tallystick.checkpoints FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER checkpoints_no_truncate BEFORE TRUNCATE ON tallystick.checkpoints FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.checkpoints FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.checkpoints REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.checkpoints FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER cosignatures_append_only BEFORE DELETE OR UPDATE ON tallystick.cosignatures FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER cosignatures_no_truncate BEFORE TRUNCATE ON tallystick.cosignatures FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.cosignatures FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.cosignatures REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.cosignatures FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER documents_keep BEFORE INSERT OR UPDATE ON tallystick.documents FOR EACH ROW EXECUTE FUNCTION tallystick.documents_keep();
CREATE TRIGGER documents_no_delete BEFORE DELETE ON tallystick.documents FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER documents_no_truncate BEFORE TRUNCATE ON tallystick.documents FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER entries_append_only BEFORE DELETE OR UPDATE ON tallystick.entries FOR EACH ROW EXECUTE FUNCTION tallystick.entries_change();
CREATE TRIGGER entries_extend_chain AFTER INSERT ON tallystick.entries REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.entries_extend_chain(); -- A
CREATE TRIGGER entries_no_truncate BEFORE TRUNCATE ON tallystick.entries FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.entry_kinds FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.envelope_key_secrets FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.erasures FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.erasures REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.erasures FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER gated_records_begin AFTER INSERT ON tallystick.gated_records REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.gated_records_begin();
CREATE TRIGGER gated_records_change AFTER UPDATE ON tallystick.gated_records REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION tallystick.gated_records_change();
CREATE TRIGGER gated_records_no_delete BEFORE DELETE ON tallystick.gated_records FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER gated_records_no_truncate BEFORE TRUNCATE ON tallystick.gated_records FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.guards FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER hold_records_change BEFORE DELETE OR UPDATE ON tallystick.hold_records FOR EACH ROW EXECUTE FUNCTION tallystick.keeping_change();
CREATE TRIGGER hold_records_no_truncate BEFORE TRUNCATE ON tallystick.hold_records FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.hold_records FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.hold_records REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.hold_records FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER holds_change BEFORE DELETE OR UPDATE ON tallystick.holds FOR EACH ROW EXECUTE FUNCTION tallystick.keeping_change();
CREATE TRIGGER holds_no_truncate BEFORE TRUNCATE ON tallystick.holds FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.holds FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.holds REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.holds FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER idempotency_keys_change BEFORE UPDATE ON tallystick.idempotency_keys FOR EACH ROW EXECUTE FUNCTION tallystick.idempotency_keys_change();
CREATE TRIGGER idempotency_keys_no_delete BEFORE DELETE ON tallystick.idempotency_keys FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER idempotency_keys_no_truncate BEFORE TRUNCATE ON tallystick.idempotency_keys FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.ledger_closures FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.ledger_closures REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.ledger_closures FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.ledger_faults FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.ledger_faults REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.ledger_faults FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.ledger_rotations FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.ledger_rotations REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.ledger_rotations FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.ledgers FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.ledgers REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.ledgers FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.mac_keys FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER master_key_changes_append_only BEFORE DELETE OR UPDATE ON tallystick.master_key_changes FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER master_key_changes_no_truncate BEFORE TRUNCATE ON tallystick.master_key_changes FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.master_key_changes FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.note_key_secrets FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.offers FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.offers REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.offers FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.peer_backlog FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.peer_backlog REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.peer_backlog FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.peer_budgets FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.peer_budgets REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.peer_budgets FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.peer_cursors FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.peer_cursors REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.peer_cursors FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.peer_dead_letters FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.peer_dead_letters REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.peer_dead_letters FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER peer_forks_append_only BEFORE DELETE OR UPDATE ON tallystick.peer_forks FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER peer_forks_charged AFTER INSERT ON tallystick.peer_forks REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION tallystick.charge_peers();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.peer_forks FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.peer_forks REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.peer_forks FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.peer_inboxes FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.peer_inboxes REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.peer_inboxes FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER peer_keys_no_delete BEFORE DELETE ON tallystick.peer_keys FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.peer_keys FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.peer_keys REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.peer_keys FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.peer_nonces FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.peer_nonces REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.peer_nonces FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.peer_receipts FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.peer_receipts REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.peer_receipts FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER peer_witnesses_grow BEFORE UPDATE ON tallystick.peer_witnesses FOR EACH ROW EXECUTE FUNCTION tallystick.peer_witnesses_grow();
CREATE TRIGGER peer_witnesses_no_delete BEFORE DELETE ON tallystick.peer_witnesses FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.peer_witnesses FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.peer_witnesses REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.peer_witnesses FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.peers FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.peers REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.peers FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.received_documents FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER received_documents_charged AFTER INSERT ON tallystick.received_documents REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION tallystick.charge_peers();
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.received_documents REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.received_documents FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.received_entries FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER received_entries_append_only BEFORE DELETE OR UPDATE ON tallystick.received_entries FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER received_entries_charged AFTER INSERT ON tallystick.received_entries REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION tallystick.charge_peers();
CREATE TRIGGER received_entries_no_truncate BEFORE TRUNCATE ON tallystick.received_entries FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.received_entries REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.received_entries FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.received_types FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER received_types_charged AFTER INSERT ON tallystick.received_types REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION tallystick.charge_peers();
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.received_types REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.received_types FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.record_states FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.record_transitions FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER records_begin AFTER INSERT ON tallystick.records REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.records_begin();
CREATE TRIGGER records_change AFTER UPDATE ON tallystick.records REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION tallystick.records_change();
CREATE TRIGGER records_no_delete BEFORE DELETE ON tallystick.records FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER records_no_truncate BEFORE TRUNCATE ON tallystick.records FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.remote_records FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.remote_records REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.remote_records FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.retention_rules FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.retention_rules REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.retention_rules FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER retention_rules_change BEFORE DELETE OR UPDATE ON tallystick.retention_rules FOR EACH ROW EXECUTE FUNCTION tallystick.keeping_change();
CREATE TRIGGER retention_rules_no_truncate BEFORE TRUNCATE ON tallystick.retention_rules FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_change();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.retention_sweeps FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.retention_sweeps REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.retention_sweeps FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.schema_migrations FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.schema_serves FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.server_keys FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.shared_records FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.shared_records REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.shared_records FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.statements FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.statements REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.statements FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.tree_frontiers FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.tree_frontiers REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.tree_frontiers FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER tree_frontiers_grow BEFORE UPDATE ON tallystick.tree_frontiers FOR EACH ROW EXECUTE FUNCTION tallystick.tree_grows();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.tree_tiles FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.tree_tiles REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.tree_tiles FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER tree_tiles_grow BEFORE UPDATE ON tallystick.tree_tiles FOR EACH ROW EXECUTE FUNCTION tallystick.tree_grows();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.types FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.types REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.types FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE UPDATE ON tallystick.waiting_completions FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.webhook_cursors FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.webhook_cursors REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.webhook_cursors FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.webhook_deliveries FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.webhook_deliveries REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.webhook_deliveries FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.webhook_secrets FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.webhook_secrets REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.webhook_secrets FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();
CREATE TRIGGER proven_session BEFORE INSERT OR DELETE OR UPDATE ON tallystick.webhooks FOR EACH STATEMENT EXECUTE FUNCTION tallystick.require_proven_session(); -- A
CREATE TRIGGER refuse_inserts_while_moving AFTER INSERT ON tallystick.webhooks REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tallystick.refuse_inserts_while_moving();
CREATE TRIGGER refuse_while_moving BEFORE DELETE OR UPDATE ON tallystick.webhooks FOR EACH ROW EXECUTE FUNCTION tallystick.refuse_while_moving();

-- Privileges that are not the owner's

grant select on column tallystick.peers.added_leaf to tallystick_api;
grant select on column tallystick.peers.added_seq to tallystick_api;
grant select on column tallystick.peers.counterpart to tallystick_api;
grant select on column tallystick.peers.created_at to tallystick_api;
grant select on column tallystick.peers.created_by to tallystick_api;
grant select on column tallystick.peers.expires_at to tallystick_api;
grant select on column tallystick.peers.handshake to tallystick_api;
grant select on column tallystick.peers.invited to tallystick_api;
grant select on column tallystick.peers.inviter to tallystick_api;
grant select on column tallystick.peers.ledger_id to tallystick_api;
grant select on column tallystick.peers.name to tallystick_api;
grant select on column tallystick.peers.peer_id to tallystick_api;
grant select on column tallystick.peers.remote_ledger_id to tallystick_api;
grant select on column tallystick.peers.remote_url to tallystick_api;
grant select on column tallystick.peers.revoked_seq to tallystick_api;
grant select on column tallystick.peers.role to tallystick_api;
grant select on column tallystick.peers.state to tallystick_api;
grant select on column tallystick.peers.token_hash to tallystick_api;
grant update on column tallystick.waiting_completions.verification_job to tallystick_worker;
grant select on column tallystick.webhook_secrets.expires_at to tallystick_api;
grant select on column tallystick.webhook_secrets.ledger_id to tallystick_api;
grant select on column tallystick.webhook_secrets.public_key to tallystick_api;
grant select on column tallystick.webhook_secrets.secret_id to tallystick_api;
grant select on column tallystick.webhook_secrets.webhook_id to tallystick_api;
grant update on column tallystick.webhooks.reason to tallystick_worker;
grant update on column tallystick.webhooks.state to tallystick_worker;
grant update on column tallystick.webhooks.state_at to tallystick_worker;
grant execute on function tallystick.accept_peer(uuid,uuid,text,uuid,bytea,timestamp with time zone,bytea,text,uuid,text,bytea,integer) to tallystick_api;
grant execute on function tallystick.append_entries(uuid[],text[],uuid[],integer[],text[],bytea[],integer[],uuid[],uuid[],uuid[],bytea[],timestamp with time zone[],bytea[],bytea[],bytea[],bytea[],bytea[],text[],bigint[],integer[],uuid[],text[],bytea[],bytea[],bytea[],timestamp with time zone[],uuid[],uuid[],text[],text[],bytea[],bytea[],bytea[],integer[],integer[],uuid[],integer[],bytea[],integer[],integer[],bytea[],integer[],uuid[],text[],timestamp with time zone[],integer[],bytea[],integer[],text[],uuid[],bytea[],bytea[],bytea[],bytea) to tallystick_api;
grant execute on function tallystick.append_entries(uuid[],text[],uuid[],integer[],text[],bytea[],integer[],uuid[],uuid[],uuid[],bytea[],timestamp with time zone[],bytea[],bytea[],bytea[],bytea[],bytea[],text[],bigint[],integer[],uuid[],text[],bytea[],bytea[],bytea[],timestamp with time zone[],uuid[],uuid[],text[],text[],bytea[],bytea[],bytea[],integer[],integer[],uuid[],integer[],bytea[],integer[],integer[],bytea[],integer[],uuid[],text[],timestamp with time zone[],integer[],bytea[],integer[],text[],uuid[],bytea[],bytea[],bytea[],bytea) to tallystick_worker;
grant execute on function tallystick.begin_peer_request(uuid,uuid,bytea) to tallystick_api;
grant execute on function tallystick.change_webhook(uuid,uuid,jsonb,boolean) to tallystick_api;
grant execute on function tallystick.close_restored_ledgers(uuid[],bigint[],bytea[],bigint[]) to tallystick_worker;
grant execute on function tallystick.create_webhook(uuid,uuid,jsonb,uuid,uuid,bytea,bytea,integer) to tallystick_api;
grant execute on function tallystick.delete_webhook(uuid,uuid) to tallystick_api;
grant execute on function tallystick.erase_documents(uuid,bigint[],bigint[],integer[],bytea[],bytea[],integer[],bytea[]) to tallystick_worker;
grant execute on function tallystick.find_replay(uuid,uuid,bytea,bytea) to tallystick_api;
grant execute on function tallystick.forget_labels(uuid,uuid,integer) to tallystick_worker;
grant execute on function tallystick.holds_on(uuid,uuid,text,uuid[],bigint) to tallystick_api;
grant execute on function tallystick.holds_on(uuid,uuid,text,uuid[],bigint) to tallystick_worker;
grant execute on function tallystick.invite_peer(uuid,uuid,text,uuid,bytea,timestamp with time zone,text,integer,integer) to tallystick_api;
grant execute on function tallystick.keep_fork(uuid,uuid,bytea,bigint,uuid,integer,bytea,bytea,integer) to tallystick_api;
grant execute on function tallystick.keep_peer_witness(uuid,uuid,text,bytea,bigint,bytea,text,text) to tallystick_api;
grant execute on function tallystick.keeping_facts(uuid,uuid,bigint,text,uuid[]) to tallystick_api;
grant execute on function tallystick.keeping_facts(uuid,uuid,bigint,text,uuid[]) to tallystick_worker;
grant execute on function tallystick.leaves_for_archive(text) to tallystick_worker;
grant execute on function tallystick.missing_guards() to tallystick_api;
grant execute on function tallystick.missing_guards() to tallystick_worker;
grant execute on function tallystick.pause_webhook(uuid,uuid) to tallystick_api;
grant execute on function tallystick.recover_webhook(uuid,uuid,bigint,bigint,boolean) to tallystick_api;
grant execute on function tallystick.redeliver_dead_webhook_events(uuid,uuid,uuid,integer) to tallystick_api;
grant execute on function tallystick.redeliver_webhook_event(uuid,uuid,uuid) to tallystick_api;
grant execute on function tallystick.release_content(uuid,bigint,bigint[],integer[],bytea[],bytea[],bigint[],bytea[],boolean) to tallystick_worker;
grant execute on function tallystick.replace_key_secrets(uuid,uuid,bytea[],bytea[],bytea[],timestamp with time zone[]) to tallystick_api;
grant execute on function tallystick.replay_peer(uuid,uuid,bigint[]) to tallystick_api;
grant execute on function tallystick.request_audit(uuid,uuid,uuid) to tallystick_api;
grant execute on function tallystick.request_audit(uuid,uuid,uuid) to tallystick_worker;
grant execute on function tallystick.request_webhook_test(uuid,uuid,uuid,text,integer) to tallystick_api;
grant execute on function tallystick.resume_webhook(uuid,uuid,boolean) to tallystick_api;
grant execute on function tallystick.retire_envelope_keys() to tallystick_worker;
grant execute on function tallystick.rotate_webhook_secret(uuid,uuid,uuid,bytea,bytea,interval,integer) to tallystick_api;
grant execute on function tallystick.session_name() to tallystick_api;
grant execute on function tallystick.session_name() to tallystick_worker;
grant execute on function tallystick.set_key_otlp(uuid,uuid,jsonb) to tallystick_api;
grant execute on function tallystick.set_key_rate_limit(uuid,uuid,real,integer) to tallystick_api;
grant execute on function tallystick.set_ledger_frozen(uuid,boolean) to tallystick_api;
grant execute on function tallystick.set_ledger_rate_limit(uuid,real,integer) to tallystick_api;
grant execute on function tallystick.set_ledger_tiles_public(uuid,boolean,integer) to tallystick_api;
grant execute on function tallystick.set_peer_budget(uuid,uuid,bigint,bigint) to tallystick_api;
grant execute on function tallystick.want_peer_summary(uuid,uuid) to tallystick_api;
grant execute on function tallystick.withdraw_peer(uuid,uuid) to tallystick_api;
grant usage on schema public to public;
grant usage on schema tallystick to tallystick_api;
grant usage on schema tallystick to tallystick_worker;
grant select on table tallystick.agent_signing_keys to tallystick_api;
grant select on table tallystick.agent_signing_keys to tallystick_worker;
grant select on table tallystick.agents to tallystick_api;
grant select on table tallystick.agents to tallystick_worker;
grant select on table tallystick.api_key_secrets to tallystick_api;
grant select on table tallystick.api_key_secrets to tallystick_worker;
grant select on table tallystick.api_keys to tallystick_api;
grant select on table tallystick.api_keys to tallystick_worker;
grant select on table tallystick.archive_keys to tallystick_api;
grant insert, select, update on table tallystick.archive_keys to tallystick_worker;
grant select on table tallystick.archive_pieces to tallystick_api;
grant insert, select on table tallystick.archive_pieces to tallystick_worker;
grant insert, select, update on table tallystick.archives to tallystick_worker;
grant select on table tallystick.audit_cursors to tallystick_api;
grant delete, insert, select, update on table tallystick.audit_cursors to tallystick_worker;
grant select on table tallystick.audits to tallystick_api;
grant select, update on table tallystick.audits to tallystick_worker;
grant select on table tallystick.batch_chunks to tallystick_api;
grant select on table tallystick.batch_chunks to tallystick_worker;
grant select on table tallystick.batch_keys to tallystick_api;
grant select on table tallystick.batch_keys to tallystick_worker;
grant select on table tallystick.chain_heads to tallystick_api;
grant select on table tallystick.chain_heads to tallystick_worker;
grant select on table tallystick.checkpoints to tallystick_api;
grant insert, select on table tallystick.checkpoints to tallystick_worker;
grant select on table tallystick.cosignatures to tallystick_api;
grant insert, select on table tallystick.cosignatures to tallystick_worker;
grant select on table tallystick.documents to tallystick_api;
grant select on table tallystick.documents to tallystick_worker;
grant select on table tallystick.entries to tallystick_api;
grant select on table tallystick.entries to tallystick_worker;
grant select on table tallystick.entry_kinds to tallystick_api;
grant select on table tallystick.entry_kinds to tallystick_worker;
grant select on table tallystick.envelope_key_secrets to tallystick_api;
grant select on table tallystick.envelope_key_secrets to tallystick_worker;
grant select on table tallystick.erasures to tallystick_api;
grant select on table tallystick.erasures to tallystick_worker;
grant select on table tallystick.gated_records to tallystick_api;
grant select on table tallystick.gated_records to tallystick_worker;
grant select on table tallystick.guards to tallystick_api;
grant select on table tallystick.guards to tallystick_worker;
grant select on table tallystick.hold_records to tallystick_api;
grant select on table tallystick.hold_records to tallystick_worker;
grant select on table tallystick.holds to tallystick_api;
grant select on table tallystick.holds to tallystick_worker;
grant select on table tallystick.idempotency_keys to tallystick_worker;
grant select on table tallystick.ledger_closures to tallystick_api;
grant select on table tallystick.ledger_closures to tallystick_worker;
grant select on table tallystick.ledger_faults to tallystick_api;
grant insert, select on table tallystick.ledger_faults to tallystick_worker;
grant select on table tallystick.ledger_rotations to tallystick_api;
grant select on table tallystick.ledger_rotations to tallystick_worker;
grant select on table tallystick.ledgers to tallystick_api;
grant select on table tallystick.ledgers to tallystick_worker;
grant select on table tallystick.note_key_secrets to tallystick_worker;
grant select on table tallystick.offers to tallystick_api;
grant select on table tallystick.offers to tallystick_worker;
grant select on table tallystick.open_deadlines to tallystick_api;
grant select on table tallystick.open_deadlines to tallystick_worker;
grant select on table tallystick.peer_backlog to tallystick_api;
grant delete, insert, select, update on table tallystick.peer_backlog to tallystick_worker;
grant select on table tallystick.peer_budgets to tallystick_api;
grant select on table tallystick.peer_budgets to tallystick_worker;
grant select on table tallystick.peer_cursors to tallystick_api;
grant select, update on table tallystick.peer_cursors to tallystick_worker;
grant select on table tallystick.peer_dead_letters to tallystick_api;
grant delete, insert, select, update on table tallystick.peer_dead_letters to tallystick_worker;
grant select on table tallystick.peer_forks to tallystick_api;
grant select on table tallystick.peer_forks to tallystick_worker;
grant select on table tallystick.peer_keys to tallystick_api;
grant select on table tallystick.peer_keys to tallystick_worker;
grant select on table tallystick.peer_receipts to tallystick_api;
grant insert, select on table tallystick.peer_receipts to tallystick_worker;
grant select on table tallystick.peer_witnesses to tallystick_api;
grant select on table tallystick.peer_witnesses to tallystick_worker;
grant select on table tallystick.peers to tallystick_worker;
grant select on table tallystick.received_documents to tallystick_api;
grant select on table tallystick.received_documents to tallystick_worker;
grant select on table tallystick.received_entries to tallystick_api;
grant select on table tallystick.received_entries to tallystick_worker;
grant select on table tallystick.received_types to tallystick_api;
grant select on table tallystick.received_types to tallystick_worker;
grant select on table tallystick.record_references to tallystick_api;
grant select on table tallystick.record_references to tallystick_worker;
grant select on table tallystick.record_states to tallystick_api;
grant select on table tallystick.record_states to tallystick_worker;
grant select on table tallystick.record_transitions to tallystick_api;
grant select on table tallystick.record_transitions to tallystick_worker;
grant select on table tallystick.records to tallystick_api;
grant select on table tallystick.records to tallystick_worker;
grant select on table tallystick.remote_records to tallystick_api;
grant select on table tallystick.remote_records to tallystick_worker;
grant select on table tallystick.retention_rules to tallystick_api;
grant select on table tallystick.retention_rules to tallystick_worker;
grant select, update on table tallystick.retention_sweeps to tallystick_worker;
grant select on table tallystick.schema_migrations to tallystick_api;
grant select on table tallystick.schema_migrations to tallystick_worker;
grant select on table tallystick.schema_serves to tallystick_api;
grant select on table tallystick.schema_serves to tallystick_worker;
grant select on table tallystick.server_keys to tallystick_api;
grant select on table tallystick.server_keys to tallystick_worker;
grant select on table tallystick.shared_records to tallystick_api;
grant select on table tallystick.shared_records to tallystick_worker;
grant select on table tallystick.statements to tallystick_api;
grant select on table tallystick.statements to tallystick_worker;
grant select on table tallystick.tree_frontiers to tallystick_api;
grant insert, select, update on table tallystick.tree_frontiers to tallystick_worker;
grant select on table tallystick.tree_tiles to tallystick_api;
grant insert, select, update on table tallystick.tree_tiles to tallystick_worker;
grant select on table tallystick.types to tallystick_api;
grant select on table tallystick.types to tallystick_worker;
grant select on table tallystick.waiting_completions to tallystick_api;
grant select on table tallystick.waiting_completions to tallystick_worker;
grant select on table tallystick.webhook_cursors to tallystick_api;
grant delete, select, update on table tallystick.webhook_cursors to tallystick_worker;
grant select on table tallystick.webhook_deliveries to tallystick_api;
grant delete, insert, select, update on table tallystick.webhook_deliveries to tallystick_worker;
grant delete, select on table tallystick.webhook_secrets to tallystick_worker;
grant select on table tallystick.webhooks to tallystick_api;
grant delete, select on table tallystick.webhooks to tallystick_worker;

-- Comments

comment on aggregate tallystick.chain_extend(bytea,bytea) is 'Chain after each leaf, as a window aggregate, starting from the chain of the head.';

comment on column tallystick.archive_pieces.documents_digest is 'null: the piece has no documents.';

comment on column tallystick.batch_chunks.chunk is 'Number of the chunk in its batch. All but the last chunk have 64 records.';

comment on column tallystick.batch_chunks.content is 'Everything that cannot be derived from the entry, in zstd (docs/formats/chunks.md); null: only the archive has it.';

comment on column tallystick.batch_chunks.erased_seq is 'Entry that erased the payload that was removed last.';

comment on column tallystick.batch_chunks.first_record_id is 'Id of the first record; each next one is greater by one.';

comment on column tallystick.batch_chunks.metadata is 'Metadata of the records in zstd, which the archive lacks; null while the content is in Postgres, or if no record has metadata.';

comment on column tallystick.batch_chunks.released_bytes is 'Length of the content that has left for the archive.';

comment on column tallystick.batch_chunks.seq is 'Entry that notarized the batch.';

comment on column tallystick.entries.actor_id is 'Agent that acted; null: the actor is `system`.';

comment on column tallystick.entries.chain is 'Chain after this entry (docs/formats/chain-and-checkpoints.md).';

comment on column tallystick.entries.envelope is 'COSE_Sign1 over an in-toto Statement (docs/formats/envelopes.md). For kind statement it is the envelope of another party (docs/formats/registered-statements.md); null: only the archive has the envelope.';

comment on column tallystick.entries.item_count is 'Number of records in a batch; null: the entry is no batch.';

comment on column tallystick.entries.leaf is 'SHA-256 of 0x00 and the envelope (RFC 9162, section 2.1.1).';

comment on column tallystick.entries.prev_seq is 'Previous entry of the record.';

comment on column tallystick.entries.signer_kid is 'Key of the agent that signed the entry itself; null: the server signed it.';

comment on column tallystick.entries.subject_id is 'Record, batch, agent, key or ledger that the entry is about.';

comment on column tallystick.entries.version is 'Version of the record after the event.';

comment on column tallystick.gated_records.ended_as is 'Final state; empty while the record is open. An overturned verdict changes REJECTED to ACCEPTED.';

comment on column tallystick.gated_records.performer_remote is 'Name (led_…/agt_…) of a performer in another ledger; performer_id is then an id that no agent of this ledger can have (src/proof/statement/remote-agents.ts).';

comment on column tallystick.ledgers.subject_salt is 'Key of the label hashes by which the records of a data subject are found.';

comment on column tallystick.records.digest is 'Salted SHA-256 of the payload (docs/formats/documents.md).';

comment on column tallystick.records.first_seq is 'Entry that made the record.';

comment on column tallystick.records.other_members is 'Signed members without a column of their own, as the entry signs them (src/proof/statement/record-members.ts); null: the record has none.';

comment on column tallystick.records.payload is 'Canonical JSON; null once an erasure has removed it.';

comment on column tallystick.records.payload_erased_seq is 'Entry that erased the payload.';

comment on column tallystick.records.subject is 'Data subject of the record: keyed hash of the label (src/records/subjects/label.ts). Unsigned; null once the last document is erased.';

comment on column tallystick.retention_rules.days is 'Retention of a record''s documents after its end, in days; null: forever.';

comment on function tallystick.accept_peer(uuid,uuid,text,uuid,bytea,timestamp with time zone,bytea,text,uuid,text,bytea,integer) is 'Stores a peering to which this side was invited. Returns false if the ledger has too many peerings.';

comment on function tallystick.append_details(uuid[],text[],uuid[],text[],smallint[],bigint[]) is 'Stores the rows of administrative entries: agents, keys, types, erasures and others. Also marks rows as ended, for
example when an agent is disabled or a key is revoked.';

comment on function tallystick.append_entries(uuid[],text[],uuid[],integer[],text[],bytea[],integer[],uuid[],uuid[],uuid[],bytea[],timestamp with time zone[],bytea[],bytea[],bytea[],bytea[],bytea[],text[],bigint[],integer[],uuid[],text[],bytea[],bytea[],bytea[],timestamp with time zone[],uuid[],uuid[],text[],text[],bytea[],bytea[],bytea[],integer[],integer[],uuid[],integer[],bytea[],integer[],integer[],bytea[],integer[],uuid[],text[],timestamp with time zone[],integer[],bytea[],integer[],text[],uuid[],bytea[],bytea[],bytea[],bytea) is 'Appends entries to chains. There is no other way to append.

Arguments are arrays with one element for each item, in seven groups:
    entries      ledger_ids … envelopes: the entry as signed and stored
    details      further content of administrative and federation entries, as JSON by kind (append_details, append_federation)
    idempotency  actor, hash of the key, salt and fingerprint
    records      records that items create; record_items[n] is the 1-based item that creates record n
    chunks       records of batches, 64 in a chunk, and the keys by which searches find each chunk
    gated        terms and steps of gated records
    documents    documents of steps

`mac` is a key id and an HMAC-SHA256 over array_send of every other argument, in order. array_send returns the bytes
that array_recv received over the wire. One MAC covers the whole call, so that entries, rows and their order cannot
be exchanged, and the arguments are hashed only once. A wrong MAC raises 28000 (constraint append_entries_mac).

The result is as if the items were decided one after another. But the statements decide all items together. A refused
item affects no other item, except the other item of its pair (see below). Returns 41 bytes for each item, in order:
outcome (1), seq (8, big-endian), chain (32; zeros unless appended).

APPEND_OUTCOMES in src/db/chain/append-entries.ts has the names of the outcomes. src/append/append-one.ts has the
client''s error codes. If several outcomes apply, the first in this list is returned:

     5 refused_ledger     the ledger does not exist, or a ledger-created is for a ledger that has entries
     1 replayed           known idempotency key, same request: seq is that of the first request''s entry
     2 conflict           known idempotency key, but another request; or an erasure has removed the fingerprint of the first
     9 refused_frozen     the operator has frozen the ledger
    10 refused_closed     the ledger is an older backup of itself, which nobody has acknowledged
    15 refused_moving     the ledger is being moved to or from another database
    16 refused_moved      the ledger is in another database
     3 refused_state      a ledger-restored, but the ledger is not closed as restored
     7 again              the call has an earlier item for the same record or idempotency key
     8 refused_kind       unknown kind, or a kind that only the worker''s login may append
     6 stale              signed by a key that is not the ledger''s current key; or the check of a batch for known spans is
                          out of date (items_overtaken)
    13 refused_signature  signed by a key that is not a current key of the actor; or signed by the server although the
                          agent must sign for itself
    14 refused_taken      an agent has chosen an id that the ledger already has
     3 refused_state      the record''s state does not allow the step, or the record has had all agreed revisions
     6 stale              `previous` is not the record''s last leaf
    12 refused_party      the agent may not take this step: the principal judges, the performer performs, and with `auto`
                          the rules decide
    11 refused_deadline   an activation or completion after the record''s deadline, or an expiry before it
     4 refused_clock      recordedAt differs from the database''s clock by more than 30 s, or 20 s if an agent has signed
     0 appended

Two items that follow each other can be a pair: the worker''s completion-verified and the `auto` verdict, or a
statement of another party and its statement-registered. Both items of a pair are appended, or neither. If one of
them is refused, the other gets `again`. In `kids`, both items of a statement''s pair have the ledger''s key. A call
takes at most one step of a record, or the two steps of a pair.

A call raises 55000 if its entries did not move the head, because a trigger is off. Exports would not contain entries
beyond the head.

Plans: probes are `left join lateral (… offset 0)`, and sequential scans are off, because a session keeps plans that
it made on empty tables. Plain joins took up to 92 ms a row after 100,000 rows. Hash joins stay on: without them,
joining the parts of the answer became quadratic, 87 instead of 26 µs a row at 256 items. Generic plans are forced,
because by default Postgres plans a small call anew each time: a call of one item then takes 970 µs instead of 500.

Cost in Postgres'' own CPU, with 600-byte envelopes on 2 shared cores of 2.5 GHz:

- A call of 1 item takes 500 µs. Each item of 64 takes 31 µs (40 with idempotency keys), each of 1,000 takes 25.
- Steps of gated records cost nothing for calls that only notarize. Before and after steps were added: 1 item 910 and
  921 µs, 64 items 3,556 and 3,597, 1,000 items 38,219 and 38,281.
- Finding pairs by windows over all items costs 5 to 8 % at 64 items.
- The MAC costs 5 to 8 %. Without and with it, on a busy machine: 1 item 1,643 and 1,767 µs, 64 items 6,112 and
  6,415.
- A batch of 1,000 records takes 1,400 µs. With a row for each record it took 13,400.
- Chunks cost nothing for other calls. Before and after chunks were added, alternating on a busy machine: 1 item 695
  and 682 µs, 64 items 3,073 and 2,839; with idempotency keys 701 and 670, 4,060 and 3,694.

A short path decides calls that only notarize. Without and with the short path, alternating on a slower machine: 1
item 750 and 490 µs, 4 items 890 and 650, 16 items 1,530 and 1,150, 64 items 3,700 and 2,600, 256 items 11,700 and
8,800. Triggers take a third of the 490 (entries_extend_chain 100, records_begin 56, chain_heads_forward_only 22),
and the MAC takes 31.

Two changes were tried and rejected, because their gain was within the noise: entries_extend_chain in one statement
instead of two (510 µs), and with a special case for one entry (505 µs).

This function decides, and write_entries writes. A new argument must be added to both functions: in append_entries as
an argument, to the MAC and to the call of write_entries; in write_entries as an argument and to its insert. The
columns in src/db/chain/append-entries.ts have the same order as the arguments.';

comment on function tallystick.append_federation(uuid[],text[],uuid[],bytea[],text[],smallint[],bigint[]) is 'Stores the rows of entries about peers, shares and offers. write_entries calls it whenever an entry has details.';

comment on function tallystick.append_keeping(uuid[],text[],text[],smallint[],bigint[]) is 'Stores the rules and holds of entries, and marks holds as lifted. Restarts the worker''s sweep of the ledger. Raises
an error if the ledger has too many rules or holds.';

comment on function tallystick.append_received(uuid[],text[],uuid[],text[],smallint[],bigint[]) is 'Stores entries that other ledgers have sent. `details.received` of the local entry is the other ledger''s entry. The
other members of `details` are the changes that follow from the received entry.';

comment on function tallystick.append_statements(uuid[],text[],uuid[],bytea[],text[],smallint[],bigint[]) is 'Stores the columns by which registered statements are searched. `seq` is the seq of the statement. The entry that
registers the statement directly follows it.';

comment on function tallystick.archive_pieces_change() is 'Trigger: an archive piece never changes, except that its state advances from `kept` through `leaving` to `left`. A
piece can be deleted only in state `kept`. In the other states the archive may have the only copy of its content.';

comment on function tallystick.batch_chunks_begin() is 'Trigger: all chunks of a batch are inserted together, with numbers from 0. They must have as many records as the
batch''s entry states, with consecutive ids.';

comment on function tallystick.batch_chunks_change() is 'Trigger: a chunk changes in two cases only: an erasure that has an entry, or the removal of content that the archive
has. An audit detects any other change, because the digests of all records are signed.';

comment on function tallystick.begin_peer_request(uuid,uuid,bytea) is 'Locks the peering until the end of the transaction and stores the nonce. Returns true if the nonce is new.';

comment on function tallystick.chain_heads_forward_only() is 'Trigger: a head only moves forward. Its key changes only if the newest entry is a server-key-rotated. The trigger is
`enable always`.';

comment on function tallystick.chain_link(bytea,bytea) is 'Returns the chain hash after `leaf` (docs/formats/chain-and-checkpoints.md).';

comment on function tallystick.chain_step(bytea,bytea,bytea) is 'State transition function of the aggregate chain_extend.';

comment on function tallystick.change_webhook(uuid,uuid,jsonb,boolean) is 'Changes the settings that are in `settings`. Returns `changed`, or `missing` if the endpoint does not exist, or
`documents` if the endpoint would get documents although `with_documents` is false.';

comment on function tallystick.charge_peer(uuid,uuid,bigint,bigint) is 'Adds entries and bytes to the counts of what is stored for a peer. If the counts began more than a day ago, they
start again from 0.';

comment on function tallystick.charge_peers() is 'Trigger: counts the data that is stored for a peer. The tables themselves have the trigger, so that all stored data
is counted.

The size of a received entry includes the local entry that records its receipt, and that local entry''s evidence.
Received documents, types and forks count too.';

comment on function tallystick.checkpoints_agree() is 'Trigger: a checkpoint and its note must agree with the chain. Each checkpoint is larger than all earlier ones.';

comment on function tallystick.close_restored_ledgers(uuid[],bigint[],bytea[],bigint[]) is 'Closes ledgers that are shorter than, or different from, a state that was stored outside Postgres. Returns the closed
ledgers.

The heads are locked, so that no entry is appended and no restore acknowledged between the check and the close.

A ledger-restored entry acknowledges a restore. The API''s login could append such an entry without a valid signature,
so the worker verifies these entries. `refused_seqs` has, for each ledger, the seq of a ledger-restored entry that
the worker has refused, or null. The function ignores this entry.

The caller passes at most 1,000 ledgers in a call. With more, servers would continue to append to the last ledgers
for many seconds.';

comment on function tallystick.create_webhook(uuid,uuid,jsonb,uuid,uuid,bytea,bytea,integer) is 'Creates an endpoint for events that are appended from now on, and returns its id. Returns null if the ledger has
`webhooks_max` endpoints.

If an endpoint with the same settings exists, returns its id instead, because a client that got no answer tries
again. The description is not compared.';

comment on function tallystick.delete_webhook(uuid,uuid) is 'Deletes an endpoint and its secrets. The worker removes the other rows. Returns false if the endpoint does not
exist.';

comment on function tallystick.documents_keep() is 'Trigger: a document is inserted together with the entry that contains its digest. For evidence that an agent offers
to another ledger, this entry is the offer. Only an erasure sets the content of a document to null.';

comment on function tallystick.entries_change() is 'Trigger: an entry never changes, with one exception. After the envelope of a notarization is stored in the archive,
it is removed from Postgres. The leaf stays in Postgres. It is the hash of the envelope, so the archived envelope can
be checked.';

comment on function tallystick.entries_extend_chain() is 'Trigger: inserted entries must continue their ledger''s chain, link by link. Entries that do not continue the head are
refused.

This trigger also moves the chain''s head; nothing else can move a head. The trigger is `enable always`.';

comment on function tallystick.erase_documents(uuid,bigint[],bigint[],integer[],bytea[],bytea[],integer[],bytea[]) is 'Removes documents of one ledger from the database, and returns the number of removed documents. `ats` has the seqs of
the entries that erased them. Documents that were removed before are skipped. The caller has verified the entries;
this function only checks that they exist.

Records of batches are in compressed chunks. The caller rewrites each chunk once for all of its erased records:

- `chunk_seqs` and `chunk_numbers`: the chunks that change.
- `chunks_before`: SHA-256 of the content that the caller read.
- `chunks_after`: the content without the erased payloads.
- `key_chunks` and `keys_gone`: `keys_gone[n]` is a reference that no record of the chunk with index `key_chunks[n]`
  has any more.

If the content has moved to the archive, `chunks_after` is the remaining metadata, or empty if no metadata remains.
Then `chunks_before` is the SHA-256 of `erased_seq` in eight bytes (-1 for null) and the metadata. `erased_seq` is
included, because another erasure may leave the metadata unchanged.

Raises 40001 if a chunk has changed meanwhile, and P0002 if a payload has neither a row nor a chunk.

Each call is planned anew, because a session would keep a plan made on empty tables.';

comment on function tallystick.find_replay(uuid,uuid,bytea,bytea) is 'Returns the seq of the entry that the first request with this Idempotency-Key made. Returns -1 if the key was used
for a different request, and null if the key is new.

Called for requests that the present state would refuse, because an earlier attempt may have succeeded.';

comment on function tallystick.forget_labels(uuid,uuid,integer) is 'Removes the labels of gated records that have ended and have no document any more. Reads the next `page` records
after `after_ledger` and `after_record` that have a label but no payload.

Returns the last record that was read, or null if there are no more. A record that has not ended keeps its label,
because it can get further documents, which must be found by the label. Rows of a ledger that was moved or is being
moved stay unchanged.';

comment on function tallystick.gated_records_begin() is 'Trigger: a gated record is inserted with the entry that creates it and must match that entry. Its principal is the
party of the entry. Also stores the record''s deadline in open_deadlines.';

comment on function tallystick.gated_records_change() is 'Trigger: a gated record changes as record_transitions allows, one version at a time, with an entry for each step.
Terms never change, except that the activation sets the performer. A revision-requested increases `revisions` by one.

Also updates waiting_completions and open_deadlines. Their rows are deleted one by one, by key. A join is not used,
because a session would keep a plan that was made for few rows. The ctid is not used either. It changes when a worker
stores a job in the row, and the row would then not be deleted.';

comment on function tallystick.holds_on(uuid,uuid,text,uuid[],bigint) is 'Returns the holds that are on a record at the seq `at`. If a hold was lifted after `at`, the result can be
incomplete, because hold_records has only records of holds in force.

Holds that name records are looked up by the record''s id, so that the ledger''s other holds cost nothing. hold_records
is only an index: the rows of `holds` decide which records are on hold.';

comment on function tallystick.idempotency_keys_change() is 'Trigger: an idempotency key stays when the payload of its request is erased. Its fingerprint is removed with the
payload, because the content of a short request could be guessed from the fingerprint.';

comment on function tallystick.invite_peer(uuid,uuid,text,uuid,bytea,timestamp with time zone,text,integer,integer) is 'Stores an invitation. Returns false if the ledger has too many invitations or peerings.';

comment on function tallystick.is_of_batch(uuid) is 'Returns whether the record is in a chunk. Otherwise it has a row of its own. A bit of the id encodes this
(constraints records_ids and batch_chunks_ids).';

comment on function tallystick.items_overtaken(uuid[],uuid[],bigint[],integer[],bytea[]) is 'Returns the items whose spans or logs may be stored already
(docs/decisions/0025-storage-of-batches.md#opentelemetry-spans). Before a server appends a batch of spans or logs, it
checks which of them the ledger has. The check is out of date if the same agent has meanwhile added records to the
same trace or group of logs.

`unseen_befores[item]`: the check has read all entries before this seq. Only the keys of traces and groups of logs
are compared.';

comment on function tallystick.keep_fork(uuid,uuid,bytea,bigint,uuid,integer,bytea,bytea,integer) is 'Stores a second, different entry of a peer for a position whose first entry is already stored. Does nothing if the
peering already has `forks_max` such entries.';

comment on function tallystick.keep_peer_witness(uuid,uuid,text,bytea,bigint,bytea,text,text) is 'Stores the facts of a peer''s request for a cosignature. These are the peer''s key, the cosigned tree, and, for a fork,
the note of a different tree. An argument that is null changes nothing. The caller has locked the peering.';

comment on function tallystick.keeping_change() is 'Trigger: a retention rule never changes. A hold changes only by the entry that lifts it. The hold_records of a hold
can be deleted only after it was lifted.';

comment on function tallystick.keeping_facts(uuid,uuid,bigint,text,uuid[]) is 'Returns the facts of a record by which rules and holds select records:

- `type`: the record''s type.
- `agents`: its maker, represented agent and performer.
- `made_seq`: seq of the entry that made it.
- `since`: the time of its last change, or null while the record is open.

A record of a batch has no row. The caller passes its type and agents, which it has read from the chunk. The entry
that made the record is the one at `document_seq`.

A record of another ledger has no row either. Its type is the one that its home ledger states. Its agents are the
actor of the entry at `document_seq` and the agent that offered the evidence there.';

comment on function tallystick.leaves_for_archive(text) is 'Returns whether envelopes of this kind may be moved from Postgres to the archive. No append needs such envelopes.
They are needed only for reads, proofs and audits.';

comment on function tallystick.ledger_ends(uuid) is 'Returns the size of the ledger and of its newest checkpoint.';

comment on function tallystick.lock_webhook(uuid,uuid) is 'Locks an endpoint until the end of the transaction. Returns false if the endpoint does not exist.';

comment on function tallystick.mac_holds(bytea,bytea) is 'Returns whether `mac` is a valid MAC over the message. A MAC is a key id (8 bytes) and an HMAC-SHA256 (32 bytes).

Both the given and the right HMAC are hashed again under the key before the comparison. So the time of the comparison
reveals nothing about the right HMAC.';

comment on function tallystick.missing_guards() is 'Returns a sentence for each guard that is off or missing.

Guards are the triggers that migrate has stored in `guards`, and foreign keys. A table must also be logged, because
an unlogged table would be empty after a crash.';

comment on function tallystick.own_signatures_hold(uuid,bytea,bytea[],uuid[],uuid[],timestamp with time zone[]) is 'Checks the items that the ledger''s key has not signed, for the short path of append_entries. Returns true if all are
valid. If the result is false, the long path finds out which item is invalid.

Each of these items must be signed by a current key of its actor, have an id that the ledger does not have, and be
within 20 s of the clock.

The limit is 20 s, so that one agent alone cannot make two neighbouring entries whose times differ by a minute.
Between such entries a verifier expects a checkpoint (src/proof/ledger/tail.ts).';

comment on function tallystick.owner_silences_triggers() is 'Returns whether the session is the owner''s. The owner may write with session_replication_role = replica, because
move-ledger copies rows unchanged.';

comment on function tallystick.pause_webhook(uuid,uuid) is 'Pauses an endpoint if it is active. Otherwise changes nothing. Returns false if the endpoint does not exist.';

comment on function tallystick.peer_witnesses_grow() is 'Trigger: the tree that was cosigned for a peer only grows. A stored fork never changes.';

comment on function tallystick.place_in_batch(uuid) is 'Returns a record''s index in its batch: the low 12 bits of its id.';

comment on function tallystick.records_begin() is 'Trigger: a record must have an entry that creates it.';

comment on function tallystick.records_change() is 'Trigger: a record never changes, except that an erasure sets its documents to null.';

comment on function tallystick.recover_webhook(uuid,uuid,bigint,bigint,boolean) is 'Delivers the entries from `from_seq` to `end_seq` - 1 again. If `end_seq` is null, the end is the endpoint''s
position. Events that were already delivered are included only if `delivered` is true. Returns `missing` if the
endpoint does not exist, `busy` if another recovery is running, or `recovering`.';

comment on function tallystick.redeliver_dead_webhook_events(uuid,uuid,uuid,integer) is 'Delivers dead events again, oldest first, beginning with the id `first_event`, at most `deliveries_max` events.
Returns the number of these events, and whether there are more. Returns no row if the endpoint does not exist.';

comment on function tallystick.redeliver_events(uuid,uuid,uuid[]) is 'Starts the retry schedule of the deliveries again. Also sets the due time of the cursor, so that a sender reads due
deliveries again (src/db/events/webhook-work.ts).';

comment on function tallystick.redeliver_webhook_event(uuid,uuid,uuid) is 'Delivers one event again. Returns `missing` if the endpoint or the event does not exist, `held` if the event already
waits for an earlier event of its record, or `redelivered`.';

comment on function tallystick.refuse_change() is 'Trigger: refuses to change or remove rows of an append-only table.';

comment on function tallystick.refuse_inserts_while_moving() is 'Trigger: no rows are added to a ledger while the ledger is moved to another database, or after it was moved. Raises
55000. Runs once for each statement, because one statement adds up to 500 received entries of a peer. As a trigger of
each row it took a sixth of Postgres'' time of a received entry.';

comment on function tallystick.refuse_kept(uuid[],text[],text[],smallint[],bigint[]) is 'Raises an error if an entry erases a document on hold. Also raises an error if an erasure by a rule comes before the
end of the retention, by the database''s clock.

The ledger''s head is locked. So this function reads every hold that was set earlier, and a later hold comes after the
erasure in the chain.';

comment on function tallystick.refuse_unmoved() is 'Raises 55000: entries were inserted, but the trigger that moves the head did not fire. The error has no constraint
name, because the cause is a disabled trigger and not a row.';

comment on function tallystick.refuse_while_moving() is 'Trigger: the rows of a ledger do not change while the ledger is moved to another database, or after it was moved.

Raises 55000. If the worker updates or deletes, the trigger skips the row instead, because a statement of the worker
may affect rows of many ledgers.';

comment on function tallystick.refuse_without_triggers() is 'Raises 55000 for any login but the owner''s. Called if session_replication_role is replica: then triggers and foreign
keys are off, so rows would be neither checked nor completed.';

comment on function tallystick.register_signing_keys(uuid[],text[],uuid[],text[],smallint[],bigint[]) is 'Stores keys with which agents sign for themselves. Raises an error in two cases: an agent would have too many keys,
or no current key of the agent has endorsed a key after the first. The chain''s head is locked, so the keys cannot
change between the check and the insert.

An agent can have at most eight current keys. A verifier refuses a ledger in which an agent has more, or in which a
key after the first is not endorsed.

Including revoked keys, an agent can have at most 256 keys. This limit is needed because agents may rotate their own
keys as often as they like, and the follower reads and digests all keys of a ledger.';

comment on function tallystick.release_content(uuid,bigint,bigint[],integer[],bytea[],bytea[],bigint[],bytea[],boolean) is 'Removes content from Postgres that the archive has. The caller must first have read the archive piece back and
compared it with the content.

- `seqs` and `chunk_numbers`: the chunks whose content is to be removed.
- `chunks_before`: SHA-256 of each chunk''s content.
- `kept_metadata`: the chunk''s metadata, which stays, because the archive does not have it.
- `entry_seqs` and `entry_leaves`: seq and leaf of each entry whose envelope is to be removed.
- `is_last`: marks the piece as `left` if none of its content remains in Postgres.

Returns how many contents and envelopes were removed. Content that has changed meanwhile or was removed before is
skipped. Nothing is removed from a ledger that is being moved or was moved. Raises P0002 if the archive does not have
the whole piece.

Each call is planned anew, because a session would keep a plan made on empty tables.';

comment on function tallystick.replace_key_secrets(uuid,uuid,bytea[],bytea[],bytea[],timestamp with time zone[]) is 'Replaces all secrets of a key. If the present secrets are not `expected`, changes nothing and returns false. Also
returns false if the key is revoked or does not exist, or would have more than 3 secrets.';

comment on function tallystick.replay_peer(uuid,uuid,bigint[]) is 'Sends dead letters again, together with the entries that wait for them. `at` has the seqs of the dead letters, or is
null for all. Returns the number of dead letters.';

comment on function tallystick.request_audit(uuid,uuid,uuid) is 'Returns the id of the ledger''s open audit. If the ledger has no open audit, creates the audit with the id `audit`.
Deletes old audits, so that a ledger has at most the 100 newest besides the open one.';

comment on function tallystick.request_webhook_test(uuid,uuid,uuid,text,integer) is 'Queues a test event. Returns `missing` if the endpoint does not exist, `inactive` if it is not active, `full` if
`open_max` test events are waiting, or `requested`.';

comment on function tallystick.require_proof() is 'Raises 28000 if the setting tallystick.session_mac is missing or is not the MAC of the session, in hex.

The setting is lost when the session ends, and with `discard all`, which poolers run before they give a session to
another client. The owner''s login needs no proof, because the owner can change everything anyway.';

comment on function tallystick.require_proven_session() is 'Trigger: refuses writes of a session that has not proven the master key.';

comment on function tallystick.resume_webhook(uuid,uuid,boolean) is 'Resumes an endpoint and clears its failures. Retries become due immediately. With `skips`, the endpoint continues
with events that are appended from now on. Returns false if the endpoint does not exist.';

comment on function tallystick.retention_of(uuid,text,uuid[],bigint) is 'Returns the retention of a record in days, and the seq of the rule that set it. Of all rules that apply to the
record, the one with the longest retention is returned. `rule_seq` is null if no rule applies. `days` is null if the
retention is forever or no rule applies.

A rule applies to later records until another rule of the same type and agent replaces it. It also applies to all
earlier records, because a retention that was promised may become longer but not shorter.

The functions retention_of, holds_on and keeping_facts have no search path of their own, so that Postgres inlines
them into queries.';

comment on function tallystick.retire_envelope_keys() is 'Retires all envelope keys that sign for no ledger any more, except the newest key, and destroys their secrets.
Returns the number of retired keys.

Does nothing during the first 90 s of a new key. In this time a server that still knows only the old key may create a
ledger with it. The first entry of such a ledger is at most 60 s old (30 s of clock tolerance on either side), and
its call takes at most 15 s.';

comment on function tallystick.rotate_webhook_secret(uuid,uuid,uuid,bytea,bytea,interval,integer) is 'Adds a secret. The other secrets end after `overlap` or at their earlier end. Returns `missing` if the endpoint does
not exist, `full` if it has `secrets_max` secrets that have not ended, or `rotated`.';

comment on function tallystick.session_name() is 'Returns the text over which a session makes a MAC to prove the master key. The text identifies the session, so that
an observed MAC is useless in another session. The login is in hex, because its name may contain spaces.';

comment on function tallystick.set_key_otlp(uuid,uuid,jsonb) is 'Sets which spans and logs a key accepts, and how much of them is stored. Null removes the settings. Returns false if
the key does not exist.';

comment on function tallystick.set_key_rate_limit(uuid,uuid,real,integer) is 'Sets a key''s rate limit, or removes it if the arguments are null. Returns false if the key does not exist.';

comment on function tallystick.set_ledger_frozen(uuid,boolean) is 'Freezes or unfreezes a ledger. Returns false if nothing changed: the ledger was already in that state, is closed
for another reason, or does not exist.';

comment on function tallystick.set_ledger_rate_limit(uuid,real,integer) is 'Sets a ledger''s rate limit, or removes it if the arguments are null. Returns false if the ledger does not exist.';

comment on function tallystick.set_ledger_tiles_public(uuid,boolean,integer) is 'Makes a ledger''s tiles public, or readable only with the ledger''s keys. Returns ''set'', ''absent'' if the ledger does
not exist, or ''full'' if `public_max` other ledgers have public tiles.';

comment on function tallystick.set_peer_budget(uuid,uuid,bigint,bigint) is 'Sets the daily budget of a peering. Null sets the default budget. Returns false if the peering does not exist.';

comment on function tallystick.tree_grows() is 'Trigger: the stored tree only grows. The size of a frontier increases. A tile gets further hashes, and its earlier
hashes stay.';

comment on function tallystick.waits_for_worker(text,text) is 'Returns whether a gated record waits for the worker: for a verification, or for the verdict of an `auto` gate.';

comment on function tallystick.want_peer_summary(uuid,uuid) is 'Requests that the worker compares this ledger''s shared records with those of the other side.';

comment on function tallystick.webhook_settings(jsonb) is 'Returns the settings in `of_row`: all columns of `webhooks` that a tenant sets. The list in the code has the columns
that are not settings, so that a new setting needs no change here.';

comment on function tallystick.withdraw_peer(uuid,uuid) is 'Ends a peering that has no entry yet: an invitation that nobody accepted, or a peering whose handshake is incomplete.
Returns false if there is no such peering.';

comment on function tallystick.write_entries(boolean,smallint[],bigint[],bytea[],bigint[],bytea[],uuid[],text[],uuid[],integer[],text[],bytea[],integer[],uuid[],uuid[],uuid[],timestamp with time zone[],bytea[],bytea[],bytea[],bytea[],bytea[],text[],integer[],uuid[],text[],bytea[],bytea[],bytea[],timestamp with time zone[],uuid[],uuid[],text[],text[],bytea[],bytea[],bytea[],integer[],integer[],uuid[],integer[],bytea[],integer[],integer[],bytea[],integer[],uuid[],text[],timestamp with time zone[],integer[],bytea[],integer[],text[],uuid[],bytea[],bytea[],bytea[]) is 'Writes the entries that append_entries has accepted, and all rows that follow from them. Also called when a ledger is
restored from its archive; then `restores` is true.

The first arguments are results of append_entries, as arrays with one element for each item:

- `outcomes`: only items with outcome 0 are written.
- `seqs`: seq of the entry.
- `chains`: chain hash after the entry.
- `prev_seqs`: seq of the record''s previous step.
- `signer_kids`: key of the agent that has signed the entry, or null if the server has signed it.

All other arguments are those of append_entries.

A restore writes no idempotency keys, metadata, labels of data subjects or secrets of API keys, because entries do
not contain them. The caller must first insert the row of ledger_closures that a ledger-restored marks as ended.
Erasures are not checked against rules and holds again. All other rows equal those of the append:
test/run/restore-equals.test.ts.

Always returns true, so that the caller can call this function in an assignment. A function that returns nothing
would need `perform`, for which Postgres makes another plan.';

comment on table tallystick.agent_signing_keys is 'Keys by which agents sign their entries themselves, from agent-key-registered and agent-key-revoked entries. Code that relies on a row verifies the entry that it names.';

comment on table tallystick.agents is 'Agents of a ledger, from agent-registered and agent-disabled entries.';

comment on table tallystick.api_key_secrets is 'Hashes of the secrets of keys: one for each key, and, while a key is rotated, a second one that ends soon. The MAC under the master key covers everything that the secret grants (docs/decisions/0003-keys-and-database-logins.md#rows-of-api-keys). A row that no server made grants nothing.';

comment on table tallystick.api_keys is 'API keys, from key-created and key-revoked entries. Their secrets are in api_key_secrets.';

comment on table tallystick.archive_keys is 'Secrets from which the keys of archived documents are derived, for the piece that begins at from_seq. They are sealed under the master key. A document is erased from the archive by removing the secret from which its key is derived.';

comment on table tallystick.archive_pieces is 'Pieces of archives, with the SHA-256 and length of their objects. They are read for content that has left Postgres. State kept: all content is in Postgres too; leaving: some of it has left; left: all content that may leave has left.';

comment on table tallystick.archives is 'Number of archived entries of each ledger, and the SHA-256 of the newest seal. The worker with the claim writes the next seal.';

comment on table tallystick.audit_cursors is 'Position of the follower: every entry before next_seq is verified, and the next entry must continue chain and envelope_kid. next_seq is the ledger''s verified size: money moves only on entries below it. A row is trusted only with its MAC under the master key. There is no foreign key, because the row of the ledger may be the one that is missing.';

comment on table tallystick.audits is 'Audits of whole ledgers: queued (with job_id once there is a job), running, done or failed. ok and report have the result of a done audit, error the reason of a failed audit. The rows are no evidence: a reader who doubts a ledger verifies it.';

comment on table tallystick.batch_chunks is 'Records of batches, 64 in a row. A row never changes, except that the erasure of a payload rewrites its content, and that its content leaves for the archive.';

comment on table tallystick.batch_keys is 'Values by which searches find chunks of batches. An index: audits compare it with the chunks.';

comment on table tallystick.chain_heads is 'Newest link of each chain, locked by every append to the ledger. Only a trigger on entries moves it.';

comment on table tallystick.checkpoints is 'Signed checkpoints (C2SP signed notes).';

comment on table tallystick.cosignatures is 'Signature lines of witnesses (C2SP tlog-cosignature) on checkpoints. They are served after the note. witness_kid is the thumbprint of the witness''s key.';

comment on table tallystick.documents is 'Documents of steps. The payload of a record is in its row of records.';

comment on table tallystick.entries is 'The chain: signed envelopes in their order, append-only. An entry never changes, except that the envelope of a notarization leaves for the archive.';

comment on table tallystick.entry_kinds is 'Kinds of entries. record_event: the kind creates or changes records, so record_transitions has a row for it. worker_only: accepted only from the login of the worker.';

comment on table tallystick.envelope_key_secrets is 'Private envelope keys, sealed under the master key. Separate from note_key_secrets, because the login of the API must not read the note key.';

comment on table tallystick.erasures is 'Erasures. The signed entry is written first; the worker then removes the document. An erasure names the entry with the document''s digest, because a record may have several documents of the kind `reason`. The reason of the erasure is unsigned free text.';

comment on table tallystick.gated_records is 'State of gated records. Separate from records, because every step writes it: there each step would have written to eight indexes. A notarized record stays RECORDED and has no row. All steps but the last are heap-only updates, because no index contains what they change.';

comment on table tallystick.guards is 'Triggers of this schema, as stored by migrate. missing_guards compares them with the catalog. A migration that drops a trigger deletes its row.';

comment on table tallystick.hold_records is 'Records named by standing holds; finds the holds on a record. An index over the records of all holds would also find other ledgers'' holds, and lifted ones forever.';

comment on table tallystick.holds is 'Holds: while a hold stands, no document of its records is erased. A record must match all conditions of the hold. A hold without conditions applies to all records.';

comment on table tallystick.idempotency_keys is 'Answered requests, stored forever. key_hash is the hash of the key''s text. The fingerprint is H(salt || H(method, path, JCS(body))). A short request could be guessed from it after the payload was erased, so an erasure removes salt and fingerprint.';

comment on table tallystick.ledger_closures is 'Ledgers found to be shorter than, or different from, a state stored outside Postgres. The ledger-restored entry at restored_seq acknowledges that and reopens the ledger.';

comment on table tallystick.ledger_faults is 'Faults of ledgers. A ledger with an open fault gets no checkpoints. The first fault stays open until the operator clears it with the login of the owner.';

comment on table tallystick.ledger_rotations is 'Entries that replaced a ledger''s key. Peers get them before anything else. They are listed here, because finding them in the chain would take a scan.';

comment on table tallystick.ledgers is 'Tenants. Each ledger is one chain, and the unit of isolation.';

comment on table tallystick.mac_keys is 'Keys that prove a writer, one for each master key in use: the two padded blocks of HMAC-SHA256 (RFC 2104), because Postgres has sha256 but no HMAC. migrate and rotate-master-key write them as the owner; no other login may read them.';

comment on table tallystick.master_key_changes is 'Runs of rotate-master-key that sealed something again. The ids name keys and reveal nothing about them.';

comment on table tallystick.note_key_secrets is 'Private note keys, sealed under the master key. Only the worker reads them.';

comment on table tallystick.offers is 'Steps that agents of this ledger took in records of other ledgers, with the other side''s decision.';

comment on table tallystick.open_deadlines is 'Deadlines of gated records without a delivery.';

comment on table tallystick.peer_backlog is 'Records to send again from from_seq on, although the cursor has passed them.';

comment on table tallystick.peer_budgets is 'Storage that a peer may use in a day (null: the defaults in src/outside/federation/limits.ts) and has used since began_at. After a day the count starts again. An append locks the row of peer_inboxes first, so that no transaction waits for a row of this table.';

comment on table tallystick.peer_cursors is 'Progress of sending to each peer. The rows are no evidence.';

comment on table tallystick.peer_dead_letters is 'Entries that the other side refused for good. Later entries of the record wait.';

comment on table tallystick.peer_forks is 'Entries of peers for whose position another entry is stored. They were refused and are stored as evidence.';

comment on table tallystick.peer_inboxes is 'Lock of a peering, so that only one request runs at a time, on any server. It is a table of its own, because peers is written under the lock of the chain''s head.';

comment on table tallystick.peer_keys is 'Keys of the other ledger, as its chain named them. until_seq is the last entry of that chain under the key. The MAC under the master key covers ledger, peering and key. A row without a valid MAC is not trusted.';

comment on table tallystick.peer_nonces is 'Nonces of received signed requests, against replay.';

comment on table tallystick.peer_receipts is 'Signed answers of the other side to entries of this ledger.';

comment on table tallystick.peer_witnesses is 'Peers as witnesses of each other (docs/formats/witnesses.md). The seen tree only grows: this side never cosigns a smaller tree.';

comment on table tallystick.peers is 'Peerings with ledgers of other servers (docs/formats/federation.md).';

comment on table tallystick.received_documents is 'Documents whose digests are in entries of other ledgers, as received.';

comment on table tallystick.received_entries is 'Entries of other ledgers, each with the local entry that received it: entry-received, the step that took an offer, offer-refused, or peer-key-rotated.';

comment on table tallystick.received_types is 'Types of other ledgers, as received.';

comment on table tallystick.record_references is 'References of records, one row for each, for searches.';

comment on table tallystick.record_states is 'States of records. No step leaves a terminal state, except verdict-overturned.';

comment on table tallystick.record_transitions is 'Steps that append_entries allows. from_state is empty for a record that does not exist yet. Generated from the machine `record` in src/proof/statement/machines.ts.';

comment on table tallystick.records is 'Records with an entry of their own, as they were created. Records of batches are in batch_chunks. A row never changes, except that an erasure removes its documents.';

comment on table tallystick.remote_records is 'State of records of other ledgers, from received entries. The next step is checked against standing (src/proof/ledger/gated-record.ts).';

comment on table tallystick.retention_rules is 'Rules of retention, from retention-set entries: for all records, or those of a type, of an agent, or of both. A rule replaces the previous one for the same records (retention_of).';

comment on table tallystick.retention_sweeps is 'Progress of the worker, in ledgers with a rule, in its sweep for documents beyond their retention. The rows are no evidence.';

comment on table tallystick.schema_serves is 'Oldest version of the code that works with a migration, from its line "-- serves: NNNN" (docs/operate/operations.md#upgrading). A migration without a row serves only code that knows it. It is a table of its own, because a new column would have locked schema_migrations, which every /readyz reads.';

comment on table tallystick.server_keys is 'The deployment''s own keys: several envelope keys, one current note key. A reference table where the database is distributed, because it belongs to no ledger.';

comment on table tallystick.shared_records is 'Records that a peer may read, with or without their documents.';

comment on table tallystick.statements is 'Registered Signed Statements of other parties (RFC 9943), with their own claims. The statement is the envelope of the entry at seq; the next entry is its statement-registered.';

comment on table tallystick.tree_frontiers is 'Roots of the perfect subtrees of each Merkle tree, largest first.';

comment on table tallystick.tree_tiles is 'Hash tiles. Level l, tile n, hash i is the root of the perfect subtree over 256^l leaves, number n * 256 + i. Level 0 is stored when its 256 leaves exist; higher levels grow hash by hash.';

comment on table tallystick.types is 'Registered types. definition is canonical JSON (JCS).';

comment on table tallystick.waiting_completions is 'Completions that are not verified yet. They include verified records with an `auto` gate that have no verdict yet. That happens if a call was split because of another item, and the worker was killed between the two calls.';

comment on table tallystick.webhook_cursors is 'Progress of each endpoint. It is a table of its own, because it is written continuously. Entries before next_seq and checkpoints up to checkpoint_size are processed: they did not match, or have a row in webhook_deliveries.';

comment on table tallystick.webhook_deliveries is 'Deliveries: one event for one endpoint. Events that did not match have no row.';

comment on table tallystick.webhook_secrets is 'Signing secrets of endpoints: an HMAC key and the seed of an Ed25519 key, sealed under the master key. While a secret is rotated, two of them are valid.';

comment on table tallystick.webhooks is 'Endpoints of webhooks, with the tenant''s settings and their state.';
