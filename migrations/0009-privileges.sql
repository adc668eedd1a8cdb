-- Triggers on all tables created so far. Privileges are in grants.sql.

set local search_path = tallystick;

-- ---------------------------------------------------------------------------------------------------------
-- Proof of the writer (docs/decisions/0003-keys-and-database-logins.md#proof-of-the-writer)
-- ---------------------------------------------------------------------------------------------------------

-- Every table requires that a session has proven the master key. Exceptions are the tables that only append_entries
-- fills: it takes a MAC over all its arguments, and a batch would pay for this check a second time.
--
-- Other functions also write into excepted tables, and are covered too: erase_documents writes into erasures,
-- close_restored_ledgers into ledger_closures, and set_ledger_frozen checks the proof itself. The worker writes jobs
-- into waiting_completions, whose rows append_entries adds and removes.
--
-- The trigger always fires. In sessions whose setting turns the other triggers off, it refuses every login but the
-- owner's. append_entries refuses these logins too, so nobody else writes while the triggers are off. A migration
-- that creates a table must create this trigger too.
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

-- A ledger's rows stay unchanged while it is moved to another database
-- (docs/operate/capacity.md#several-deployments-behind-one-address).
--
-- Excluded are tables that are written only by append_entries, which checks the head; by erase_documents, which also
-- writes into erasures; and by the worker, which takes no work of such a ledger. A migration that creates a table
-- must create this trigger too.
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
