-- Stores the columns by which registered statements are searched. `seq` is the seq of the statement. The entry that
-- registers the statement directly follows it.
create or replace function append_statements(
  ledger_ids uuid[], kinds text[], subject_ids uuid[], previous_leaves bytea[], details text[], outcomes int2[], seqs bigint[]
) returns void
language plpgsql
set search_path = tallystick, pg_temp
as $$
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
end $$;
