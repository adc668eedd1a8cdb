-- Triggers on all tables created so far. Privileges are in grants.sql.

set local search_path = tallystick;

-- ---------------------------------------------------------------------------------------------------------
-- Proof of the writer (docs/decisions/0003-keys-and-database-logins.md#proof-of-the-writer)
-- ---------------------------------------------------------------------------------------------------------

-- Requires that a session has proven the master key before it writes into a table with this trigger. Tables that only
-- append_entries fills do not have the trigger. append_entries checks a MAC over all its arguments instead.
--
-- Some functions write into such tables too, but a session without proof cannot use them:
--
-- - erase_documents also writes into erasures, which has the trigger.
-- - close_restored_ledgers also writes into ledger_closures, which has the trigger.
-- - set_ledger_frozen checks the proof itself.
--
-- The rows of waiting_completions are added and removed by append_entries, but the worker writes jobs into them. So the
-- trigger of this table fires only on updates.
--
-- The trigger is `enable always`, so it also fires with session_replication_role = replica, which turns the other
-- triggers off. In such a session, the trigger and append_entries refuse every login but the owner's. So only the owner
-- can write while the other triggers are off. A migration that creates a table must create this trigger too.
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

-- Creates the triggers refuse_while_moving and refuse_inserts_while_moving on each table with rows of ledgers. They keep
-- a ledger's rows unchanged while the ledger is moved to another database
-- (docs/operate/capacity.md#several-deployments-behind-one-address).
--
-- Some tables do not have these triggers, because their writers check in another way:
--
-- - append_entries checks the ledger's row in chain_heads, which says whether the ledger is being moved.
-- - erase_documents also writes into erasures, which has the triggers.
-- - The worker does no work for a ledger that is being moved.
--
-- A migration that creates a table must create these triggers too.
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
    execute format('create trigger refuse_while_moving before update or delete on %s for each row '
      || 'execute function refuse_while_moving()', found);
    execute format('create trigger refuse_inserts_while_moving after insert on %s referencing new table as added '
      || 'for each statement execute function refuse_inserts_while_moving()', found);
  end loop;
end $$;
