-- Triggers on tables that are there by now. Privileges are in grants.sql.

set local search_path = tallystick;

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
