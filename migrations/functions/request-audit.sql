-- Returns the id of the ledger's open audit. If the ledger has no open audit, creates the audit with the id `audit`.
-- Deletes old audits, so that a ledger has at most the 100 newest besides the open one.
create or replace function request_audit(ledger uuid, audit uuid, agent uuid) returns uuid
language plpgsql security definer set search_path = tallystick, pg_temp as $$
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
end $$;
