-- Returns the retention of a record in days, and the seq of the rule that set it. Of all rules that apply to the
-- record, the one with the longest retention is returned. `rule_seq` is null if no rule applies. `days` is null if the
-- retention is forever or no rule applies.
--
-- A rule applies to later records until another rule of the same type and agent replaces it. It also applies to all
-- earlier records, because a retention that was promised may become longer but not shorter.
--
-- The functions retention_of, holds_on and keeping_facts have no search path of their own, so that Postgres inlines
-- them into queries.
create or replace function retention_of(ledger uuid, of_type text, agents uuid[], made_seq bigint)
returns table (days int4, rule_seq bigint)
language sql stable as $$
  select case when bool_or(r.days is null) then null else max(r.days) end,
    (array_agg(r.seq order by r.days desc nulls first, r.seq desc))[1]
  from (
    select x.seq, x.days, lead(x.seq) over (partition by x.type, x.agent_id order by x.seq) as replaced_seq
    from tallystick.retention_rules x
    where x.ledger_id = ledger and (x.type is null or x.type = of_type) and (x.agent_id is null or x.agent_id = any (agents))
  ) r
  where r.replaced_seq is null or r.replaced_seq > made_seq
$$;

-- Returns the holds that are on a record at the seq `at`. If a hold was lifted after `at`, the result can be
-- incomplete, because hold_records has only records of holds in force.
--
-- Holds that name records are looked up by the record's id, so that the ledger's other holds cost nothing. hold_records
-- is only an index: the rows of `holds` decide which records are on hold.
create or replace function holds_on(ledger uuid, record uuid, of_type text, agents uuid[], at bigint)
returns table (seq bigint, case_id text)
language sql stable as $$
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
$$;

-- Returns the facts of a record by which rules and holds select records:
--
-- - `type`: the record's type.
-- - `agents`: its maker, represented agent and performer.
-- - `made_seq`: seq of the entry that made it.
-- - `since`: the time of its last change, or null while the record is open.
--
-- A record of a batch has no row. The caller passes its type and agents, which it has read from the chunk. The entry
-- that made the record is the one at `document_seq`.
--
-- A record of another ledger has no row either. Its type is the one that its home ledger states. Its agents are the
-- actor of the entry at `document_seq` and the agent that offered the evidence there.
create or replace function keeping_facts(ledger uuid, record uuid, document_seq bigint, given_type text, given_agents uuid[])
returns table (type text, agents uuid[], made_seq bigint, since timestamptz)
language sql stable as $$
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
$$;

-- Stores the rules and holds of entries, and marks holds as lifted. Restarts the worker's sweep of the ledger. Raises
-- an error if the ledger has too many rules or holds.
create or replace function append_keeping(
  ledger_ids uuid[], kinds text[], details text[], outcomes int2[], seqs bigint[]
) returns void
language plpgsql
set search_path = tallystick, pg_temp
as $$
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
end $$;

-- Raises an error if an entry erases a document on hold. Also raises an error if an erasure by a rule comes before the
-- end of the retention, by the database's clock.
--
-- The ledger's head is locked. So this function reads every hold that was set earlier, and a later hold comes after the
-- erasure in the chain.
create or replace function refuse_kept(
  ledger_ids uuid[], kinds text[], details text[], outcomes int2[], seqs bigint[]
) returns void
language plpgsql
set search_path = tallystick, pg_temp
as $$
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
end $$;

-- Trigger: a retention rule never changes. A hold changes only by the entry that lifts it. The hold_records of a hold
-- can be deleted only after it was lifted.
create or replace function keeping_change() returns trigger language plpgsql
  set search_path = tallystick, pg_temp as $$
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
end $$;
