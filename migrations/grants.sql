-- Privileges of the two logins, the API and the worker. Each `migrate` grants them again, because a database may have
-- been restored from a dump without privileges.
--
-- The API reads tables and writes only through functions. The worker can also grow the tree, publish checkpoints, move
-- cursors, and read the sealed note key. Triggers bind every login, including the owner's.
--
-- :api and :worker are the deployment's logins (src/db/schema/grants.ts). Functions do not contain the names of the
-- logins: a login that may insert into checkpoints counts as a worker. So the worker of another deployment in the same
-- Postgres has no rights here.

set local search_path = tallystick;

revoke all on schema tallystick from public;
revoke all on all tables in schema tallystick from public, :api, :worker;
revoke all on all sequences in schema tallystick from public, :api, :worker;
revoke all on all functions in schema tallystick from public, :api, :worker;

grant usage on schema tallystick to :api, :worker;

-- ---------------------------------------------------------------------------------------------------------
-- Both logins
-- ---------------------------------------------------------------------------------------------------------

grant select on
  schema_migrations, schema_serves, guards, entry_kinds, record_states, record_transitions, server_keys, envelope_key_secrets,
  ledgers, chain_heads, ledger_closures, entries,
  agents, agent_signing_keys, api_keys, api_key_secrets, types, statements, records, record_references, batch_chunks, batch_keys, erasures, retention_rules, holds, hold_records, gated_records, waiting_completions, open_deadlines,
  documents,
  tree_frontiers, tree_tiles, checkpoints, cosignatures, audits, audit_cursors, ledger_faults,
  webhooks, webhook_cursors, webhook_deliveries,
  peer_keys, peer_budgets, shared_records, received_entries, received_documents, received_types, remote_records, offers, peer_forks, peer_witnesses,
  peer_cursors, ledger_rotations, peer_backlog, peer_receipts, peer_dead_letters,
  archive_pieces, archive_keys
  to :api, :worker;
grant execute on function append_entries, session_name, missing_guards, request_audit, keeping_facts, holds_on to :api, :worker;

-- ---------------------------------------------------------------------------------------------------------
-- The API
-- ---------------------------------------------------------------------------------------------------------

-- The API gets single columns of these tables, because it must not read sealed secrets. It seals an endpoint's secret
-- and never reads the secret again. It never reads the sealed token of a peering.
grant select (ledger_id, webhook_id, secret_id, public_key, expires_at) on webhook_secrets to :api;
grant select (ledger_id, peer_id, name, role, state, created_by, created_at, token_hash, expires_at, inviter, invited,
  remote_ledger_id, remote_url, handshake, added_seq, added_leaf, counterpart, revoked_seq) on peers to :api;
grant execute on function
  find_replay, replace_key_secrets, set_key_otlp, set_key_rate_limit, set_ledger_rate_limit, set_ledger_tiles_public,
  set_ledger_frozen,
  create_webhook, change_webhook, pause_webhook, resume_webhook, delete_webhook, rotate_webhook_secret, request_webhook_test,
  redeliver_webhook_event, redeliver_dead_webhook_events, recover_webhook,
  begin_peer_request, invite_peer, accept_peer, withdraw_peer, keep_fork, keep_peer_witness, replay_peer, want_peer_summary, set_peer_budget
  to :api;

-- ---------------------------------------------------------------------------------------------------------
-- The worker
-- ---------------------------------------------------------------------------------------------------------

-- The worker audits every table, so it can read all of them. It may also read hashes of keys. A hash reveals nothing
-- about its key, and the worker can read the payloads anyway.
grant select on note_key_secrets, idempotency_keys, webhook_secrets, peers to :worker;
grant insert on checkpoints, cosignatures, ledger_faults, peer_receipts to :worker;
grant insert, update on tree_tiles, tree_frontiers to :worker;
grant select, insert, update on archives to :worker;
grant insert, update on archive_keys to :worker;
grant insert on archive_pieces to :worker;
grant select, update on retention_sweeps to :worker;
grant update on audits, webhook_cursors, peer_cursors to :worker;
-- The worker deletes cursors whose MAC is wrong.
grant insert, update, delete on audit_cursors to :worker;
grant update (verification_job) on waiting_completions to :worker;
grant update (state, reason, state_at) on webhooks to :worker;
grant delete on webhooks, webhook_secrets, webhook_cursors to :worker;
grant insert, update, delete on webhook_deliveries, peer_backlog, peer_dead_letters to :worker;
grant execute on function close_restored_ledgers, retire_envelope_keys, erase_documents, forget_labels, release_content, leaves_for_archive to :worker;
