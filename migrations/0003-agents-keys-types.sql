-- Agents, keys, types and registered statements of a ledger. Each row repeats the content of an entry.

set local search_path = tallystick;

create table agents (
  ledger_id uuid not null references ledgers,
  agent_id uuid not null,
  name text not null check (length(name) between 1 and 200),
  registered_seq bigint not null,
  disabled_seq bigint check (disabled_seq > registered_seq),
  primary key (ledger_id, agent_id),
  unique (ledger_id, name)
);
comment on table agents is
  'Agents of a ledger, from agent-registered and agent-disabled entries.';

create table agent_signing_keys (
  ledger_id uuid not null,
  agent_id uuid not null,
  kid bytea not null check (length(kid) = 32),
  alg text not null check (alg in ('EdDSA', 'ES256')),
  spki bytea not null check (length(spki) <= 91),
  required boolean not null,
  registered_seq bigint not null,
  revoked_seq bigint check (revoked_seq > registered_seq),
  primary key (ledger_id, kid),
  foreign key (ledger_id, agent_id) references agents
);
comment on table agent_signing_keys is
  'Keys by which agents sign their entries themselves, from agent-key-registered and agent-key-revoked entries. Code that relies on a row verifies the entry that it names.';
create index agent_signing_keys_by_agent on agent_signing_keys (ledger_id, agent_id);
create index agent_signing_keys_required on agent_signing_keys (ledger_id, agent_id) where required;

create table api_keys (
  ledger_id uuid not null,
  key_id uuid not null,
  agent_id uuid not null,
  name text not null check (length(name) between 1 and 200),
  scopes text[] not null,
  expires_at timestamptz,
  created_seq bigint not null,
  revoked_seq bigint check (revoked_seq > created_seq),
  rate_limit_per_second real check (rate_limit_per_second > 0),
  rate_limit_burst int4 check (rate_limit_burst > 0),
  otlp jsonb check (jsonb_typeof(otlp) = 'object'),
  primary key (ledger_id, key_id),
  foreign key (ledger_id, agent_id) references agents,
  check ((rate_limit_per_second is null) = (rate_limit_burst is null))
);
comment on table api_keys is
  'API keys, from key-created and key-revoked entries. Their secrets are in api_key_secrets.';

create table api_key_secrets (
  ledger_id uuid not null,
  secret_hash bytea not null check (length(secret_hash) = 32),
  key_id uuid not null,
  mac bytea not null check (length(mac) = 32),
  expires_at timestamptz,
  primary key (ledger_id, secret_hash),
  foreign key (ledger_id, key_id) references api_keys
);
comment on table api_key_secrets is
  'Hashes of the secrets of keys: one for each key, and, while a key is rotated, a second one that ends soon. The MAC under the master key covers everything that the secret grants (docs/decisions/0003-keys-and-database-logins.md#rows-of-api-keys). A row that no server made grants nothing.';
create index api_key_secrets_by_key on api_key_secrets (ledger_id, key_id);

create table types (
  ledger_id uuid not null references ledgers,
  name text collate "C" not null check (length(name) <= 80),      -- name with version, such as name/version
  gated boolean not null,
  definition bytea not null check (length(definition) <= 65536),  -- canonical JSON (JCS)
  digest bytea not null check (length(digest) = 32),
  registered_seq bigint not null,
  primary key (ledger_id, name),
  constraint types_digest check (digest = sha256(definition))
);
comment on table types is
  'Registered types. definition is canonical JSON (JCS).';

create table statements (
  ledger_id uuid not null references ledgers,
  statement_id uuid not null,
  seq bigint not null,
  leaf bytea not null check (length(leaf) = 32),
  issuer text collate "C" not null,
  subject text collate "C" not null,
  content_type text not null,
  kid bytea not null check (length(kid) between 1 and 64),
  primary key (ledger_id, statement_id),
  unique (ledger_id, seq),
  unique (ledger_id, leaf)
);
comment on table statements is
  'Registered Signed Statements of other parties (RFC 9943), with their own claims. The statement is the envelope of the entry at seq; the next entry is its statement-registered.';
create index statements_by_issuer on statements (ledger_id, issuer, seq);
create index statements_by_subject on statements (ledger_id, subject, seq);
-- Without this index, a search by issuer and subject would read all statements of the issuer, even if no statement
-- matches.
create index statements_by_both on statements (ledger_id, issuer, subject, seq);
