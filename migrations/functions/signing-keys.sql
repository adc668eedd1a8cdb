-- Stores keys with which agents sign for themselves. Raises an error in two cases: an agent would have too many keys,
-- or no current key of the agent has endorsed a key after the first. The chain's head is locked, so the keys cannot
-- change between the check and the insert.
--
-- An agent can have at most eight current keys. A verifier refuses a ledger in which an agent has more, or in which a
-- key after the first is not endorsed.
--
-- Including revoked keys, an agent can have at most 256 keys. This limit is needed because agents may rotate their own
-- keys as often as they like, and the follower reads and digests all keys of a ledger.
create or replace function register_signing_keys(
  ledger_ids uuid[], kinds text[], subject_ids uuid[], details text[], outcomes int2[], seqs bigint[]
) returns void
language plpgsql
set search_path = tallystick, pg_temp
as $$
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
end $$;

-- Checks the items that the ledger's key has not signed, for the short path of append_entries. Returns true if all are
-- valid. If the result is false, the long path finds out which item is invalid.
--
-- Each of these items must be signed by a current key of its actor, have an id that the ledger does not have, and be
-- within 20 s of the clock.
--
-- The limit is 20 s, so that one agent alone cannot make two neighbouring entries whose times differ by a minute.
-- Between such entries a verifier expects a checkpoint (src/proof/ledger/tail.ts).
create or replace function own_signatures_hold(
  of_ledger uuid, envelope_kid bytea, kids bytea[], actor_ids uuid[], subject_ids uuid[], recorded_ats timestamptz[]
) returns boolean
language plpgsql
set search_path = tallystick, pg_temp
as $$
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
end $$;
