-- Privileges of the two logins. The API reads, and writes through functions alone. The worker also grows the tree, publishes
-- checkpoints, moves cursors, and holds the note key. Triggers bind every login, the owner's too.
--
-- Functions: migrate takes the right to execute them from everybody; each is granted here.

set local search_path = tallystick;

revoke all on function chain_extend from public;
grant usage on schema tallystick to tallystick_api, tallystick_worker;

-- ---------------------------------------------------------------------------------------------------------
-- Both
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
  to tallystick_api, tallystick_worker;
grant execute on function append_entries, session_name, missing_guards, request_audit, keeping_facts, holds_on to tallystick_api, tallystick_worker;

-- ---------------------------------------------------------------------------------------------------------
-- The API
-- ---------------------------------------------------------------------------------------------------------

-- A server seals a secret and never reads it again; it never reads the sealed token of a peering.
grant select (ledger_id, webhook_id, secret_id, public_key, expires_at) on webhook_secrets to tallystick_api;
grant select (ledger_id, peer_id, name, role, state, created_by, created_at, token_hash, expires_at, inviter, invited,
  remote_ledger_id, remote_url, handshake, added_seq, added_leaf, counterpart, revoked_seq) on peers to tallystick_api;
grant execute on function
  find_replay, replace_key_secrets, set_key_otlp, set_key_rate_limit, set_ledger_rate_limit, set_ledger_tiles_public,
  set_ledger_frozen,
  create_webhook, change_webhook, pause_webhook, resume_webhook, delete_webhook, rotate_webhook_secret, request_webhook_test,
  redeliver_webhook_event, redeliver_dead_webhook_events, recover_webhook,
  begin_peer_request, invite_peer, accept_peer, withdraw_peer, keep_fork, keep_peer_witness, replay_peer, want_peer_summary, set_peer_budget
  to tallystick_api;

-- ---------------------------------------------------------------------------------------------------------
-- The worker
-- ---------------------------------------------------------------------------------------------------------

-- It audits every table. Hashes of keys say nothing of the keys, and it reads the payloads beside them anyway.
grant select on note_key_secrets, idempotency_keys, webhook_secrets, peers to tallystick_worker;
grant insert on checkpoints, cosignatures, ledger_faults, peer_receipts to tallystick_worker;
grant insert, update on tree_tiles, tree_frontiers to tallystick_worker;
grant select, insert, update on archives to tallystick_worker;
grant insert, update on archive_keys to tallystick_worker;
grant insert on archive_pieces to tallystick_worker;
grant select, update on retention_sweeps to tallystick_worker;
grant update on audits, webhook_cursors, peer_cursors to tallystick_worker;
-- A cursor that nobody believes is removed.
grant insert, update, delete on audit_cursors to tallystick_worker;
grant update (verification_job) on waiting_completions to tallystick_worker;
grant update (state, reason, state_at) on webhooks to tallystick_worker;
grant delete on webhooks, webhook_secrets, webhook_cursors to tallystick_worker;
grant insert, update, delete on webhook_deliveries, peer_backlog, peer_dead_letters to tallystick_worker;
grant execute on function close_restored_ledgers, retire_envelope_keys, erase_documents, forget_labels, release_content, leaves_for_archive to tallystick_worker;

-- ---------------------------------------------------------------------------------------------------------
-- Proof of the writer (docs/decisions/0020-a-login-alone-writes-nothing.md)
-- ---------------------------------------------------------------------------------------------------------

-- Every table asks for a session that has proven the master key, except those that only append_entries fills: it takes a MAC
-- over all its arguments, and a batch would pay for this check once more. Functions besides it that write into those are
-- covered: erase_documents also writes into erasures, close_restored_ledgers into ledger_closures, and set_ledger_frozen asks.
-- Jobs are written into waiting_completions by the worker; its rows come and go with append_entries.
--
-- The trigger fires always. Where a session's setting turns the others off, it refuses every login but the owner's, and append_entries
-- refuses too: so nobody writes while they are off.
-- A migration that makes a table makes this trigger too.
create trigger proven_session before update on waiting_completions for each statement execute function require_proven_session();
alter table waiting_completions enable always trigger proven_session;
do $$
declare
  found regclass;
begin
  for found in
    select c.oid from pg_class c where c.relnamespace = 'tallystick'::regnamespace and c.relkind = 'r'
      and c.relname not in ('entries', 'records', 'batch_chunks', 'batch_keys', 'idempotency_keys', 'record_references', 'documents', 'chain_heads', 'gated_records',
        'waiting_completions', 'open_deadlines')
  loop
    execute format('create trigger proven_session before insert or update or delete on %s for each statement '
      || 'execute function require_proven_session()', found);
    execute format('alter table %s enable always trigger proven_session', found);
  end loop;
end $$;

-- The rows of a ledger stay as they are while it is moved to another database (docs/scale.md). The tables that are left out are written by
-- append_entries alone, which decides by the head, by erase_document, which writes into erasures too, and by the worker, which
-- takes no work of such a ledger. A migration that makes a table makes this trigger too.
do $$
declare
  found regclass;
begin
  for found in
    select c.oid from pg_class c
    where c.relnamespace = 'tallystick'::regnamespace and c.relkind = 'r'
      and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'ledger_id')
      and c.relname not in ('entries', 'records', 'batch_chunks', 'batch_keys', 'idempotency_keys', 'record_references', 'documents',
        'chain_heads', 'gated_records', 'waiting_completions', 'open_deadlines')
  loop
    execute format('create trigger refuse_while_moving before insert or update or delete on %s for each row '
      || 'execute function refuse_while_moving()', found);
  end loop;
end $$;
