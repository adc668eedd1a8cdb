-- Stores the rows of administrative entries: agents, keys, types, erasures and others. Also marks rows as ended, for
-- example when an agent is disabled or a key is revoked.
create or replace function append_details(
  ledger_ids uuid[], kinds text[], subject_ids uuid[], details text[], outcomes int2[], seqs bigint[]
) returns void
language plpgsql
set search_path = tallystick, pg_temp
as $$
-- If a detail is missing, its values are null and the columns refuse null. So no administrative entry is stored without
-- its row. An entry that ends a row, such as a revocation, must find a row that has not ended yet.
declare
  expected bigint;
  changed bigint;
begin
  -- Returns early if no entry has one of these kinds. Otherwise nine statements would run and find nothing, which would
  -- double the cost of an offer or of a peer's request.
  if not kinds && '{ledger-created,agent-registered,agent-key-registered,agent-key-revoked,key-created,type-registered,payload-erased,agent-disabled,key-revoked,server-key-rotated,ledger-restored}'
    then return; end if;

  insert into ledgers (ledger_id, name, issuer, origin, note_kid)
  select i.ledger_id, d.name, d.issuer, d.origin, decode(d."noteKid", 'hex')
  from unnest(ledger_ids, kinds, details, outcomes) i (ledger_id, kind, detail, outcome)
  left join lateral json_to_record(i.detail::json) d (name text, issuer text, origin text, "noteKid" text) on true
  where i.outcome = 0 and i.kind = 'ledger-created';

  insert into agents (ledger_id, agent_id, name, registered_seq)
  select i.ledger_id, i.subject_id, d.name, i.seq
  from unnest(ledger_ids, kinds, subject_ids, details, outcomes, seqs)
      i (ledger_id, kind, subject_id, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json) d (name text) on true
  where i.outcome = 0 and i.kind = 'agent-registered';

  -- A call has at most one agent-key-registered for each ledger, because append_entries gives the outcome `again` to
  -- all items after an agent-key-registered.
  if 'agent-key-registered' = any (kinds) then
    perform register_signing_keys(ledger_ids, kinds, subject_ids, details, outcomes, seqs);
  end if;

  with made as (
    select i.ledger_id, i.subject_id, i.seq, d.*
    from unnest(ledger_ids, kinds, subject_ids, details, outcomes, seqs)
        i (ledger_id, kind, subject_id, detail, outcome, seq)
    left join lateral json_to_record(i.detail::json)
      d ("agentId" uuid, name text, scopes text[], "secretHash" text, mac text, "expiresAt" timestamptz) on true
    where i.outcome = 0 and i.kind = 'key-created'
  ), keys as (
    insert into api_keys (ledger_id, key_id, agent_id, name, scopes, expires_at, created_seq)
    select ledger_id, subject_id, "agentId", name, scopes, "expiresAt", seq from made
  )
  insert into api_key_secrets (ledger_id, secret_hash, key_id, mac, expires_at)
  select ledger_id, decode("secretHash", 'hex'), subject_id, decode(mac, 'hex'), "expiresAt" from made
  -- The secret is null when a ledger is restored from its archive.
  where "secretHash" is not null;

  insert into types (ledger_id, name, gated, definition, digest, registered_seq)
  select i.ledger_id, d.name, d.gated, convert_to(d.definition, 'UTF8'), sha256(convert_to(d.definition, 'UTF8')), i.seq
  from unnest(ledger_ids, kinds, details, outcomes, seqs) i (ledger_id, kind, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json) d (name text, gated boolean, definition text) on true
  where i.outcome = 0 and i.kind = 'type-registered';

  insert into erasures (ledger_id, subject_id, document, document_seq, seq, reason)
  select i.ledger_id, i.subject_id, d.document, d."documentSeq", i.seq, d.reason
  from unnest(ledger_ids, kinds, subject_ids, details, outcomes, seqs)
      i (ledger_id, kind, subject_id, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json) d (document text, "documentSeq" bigint, reason text) on true
  where i.outcome = 0 and i.kind = 'payload-erased';

  select count(*) into expected from unnest(kinds, outcomes) i (kind, outcome)
  where i.outcome = 0 and i.kind in ('agent-disabled', 'agent-key-revoked', 'key-revoked', 'server-key-rotated', 'ledger-restored');
  if expected = 0 then return; end if;

  with item as (
    select i.ledger_id, i.kind, i.subject_id, i.seq, d."newKid", d.kid,
      count(*) over (partition by i.ledger_id) as of_ledger
    from unnest(ledger_ids, kinds, subject_ids, details, outcomes, seqs)
        i (ledger_id, kind, subject_id, detail, outcome, seq)
    left join lateral json_to_record(i.detail::json) d ("newKid" text, kid text) on true
    where i.outcome = 0
  ), disabled as (
    update agents a set disabled_seq = i.seq from item i
    where i.kind = 'agent-disabled' and a.ledger_id = i.ledger_id and a.agent_id = i.subject_id and a.disabled_seq is null
    returning 1
  ), silenced as (
    update agent_signing_keys k set revoked_seq = i.seq from item i
    where i.kind = 'agent-key-revoked' and k.ledger_id = i.ledger_id and k.kid = decode(i.kid, 'hex')
      and k.agent_id = i.subject_id and k.revoked_seq is null
    returning 1
  ), revoked as (
    update api_keys k set revoked_seq = i.seq from item i
    where i.kind = 'key-revoked' and k.ledger_id = i.ledger_id and k.key_id = i.subject_id and k.revoked_seq is null
    returning k.ledger_id, k.key_id
  ), forgotten as (
    delete from api_key_secrets s using revoked r where s.ledger_id = r.ledger_id and s.key_id = r.key_id
  ), rotated as (
    -- A server-key-rotated must be the only entry of its ledger in the call. Later entries would have been checked
    -- against the old key.
    update chain_heads h set envelope_kid = decode(i."newKid", 'hex') from item i
    where i.kind = 'server-key-rotated' and i.of_ledger = 1 and h.ledger_id = i.ledger_id
    returning 1
  ), restored as (
    update ledger_closures c set restored_seq = i.seq from item i
    where i.kind = 'ledger-restored' and c.ledger_id = i.ledger_id and c.restored_seq is null
    returning c.ledger_id, c.was_frozen
  ), reopened as (
    update chain_heads h set closed = case when r.was_frozen then 'frozen' end from restored r where h.ledger_id = r.ledger_id
  )
  select (select count(*) from disabled) + (select count(*) from silenced) + (select count(*) from revoked) + (select count(*) from rotated)
    + (select count(*) from restored)
  into changed;
  if changed <> expected then
    raise exception 'an entry can end only something that exists and has not ended'
      using errcode = 'integrity_constraint_violation', constraint = 'entries_end_once';
  end if;
end $$;
