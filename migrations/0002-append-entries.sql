-- append_entries: the one way into the chain.
--
-- Takes items (arrays of one length, one element an item) and the records that items make (a second group of
-- arrays; record_items[n] is the 1-based item that makes record n). Decides each item as if one after
-- another in order, but in sets; a refused item never spoils its neighbours. Answers 41 bytes an item, in
-- order: outcome (1), seq (8, big-endian), chain (32; zeros unless appended).
--
-- Outcomes, in order of precedence:
--   5 refused_ledger     no such ledger, or a ledger-created for one that has entries
--   1 replayed           known idempotency key, same request: seq is the first outcome's
--   2 conflict           known idempotency key, another request
--   7 again              a second item for the same record or idempotency key in this call
--   8 refused_kind       unknown kind, or one that only the worker's login may append
--   6 stale              signed by a key that is not the ledger's current one
--   3 refused_state      no such transition from the record's state
--   6 stale              `previous` is not the record's last leaf
--   4 refused_clock      recordedAt more than 30 s off the database's clock
--   0 appended
--
-- The probes are `left join lateral (... offset 0)` and sequential scans are off, because a plan made while the
-- tables are empty is kept by the session: plain joins cost up to 92 ms a row after 100,000 rows. With hash
-- joins off as well, joining the parts of the answer became quadratic: 87 instead of 26 us a row at 256 items.
-- And once made they are kept: left to itself Postgres plans a small call anew each time, and a call of one item
-- costs 970 us instead of 500.
--
-- Postgres' own CPU, us a row, 600-byte envelopes, 2 shared cores of 2.5 GHz: calls of 1 item 500; 64 items 31
-- (with idempotency keys 40); 1,000 items 25; one item that makes 1,000 records 6 a record.

set local search_path = tallystick;

create function append_entries(
  ledger_ids uuid[], kinds text[], subject_ids uuid[], versions int4[], to_states text[], previous_leaves bytea[],
  actor_ids uuid[], key_ids uuid[], kids bytea[], recorded_ats timestamptz[], leaves bytea[], envelopes bytea[],
  idempotency_hashes bytea[], request_salts bytea[], request_hashes bytea[], details text[],
  record_items int4[], record_ids uuid[], record_indexes int4[], record_types text[], record_digests bytea[],
  record_salts bytea[], record_payloads bytea[], record_on_behalf_of uuid[], record_occurred_ats timestamptz[],
  record_traceparents text[], record_metadata bytea[]
) returns bytea
language plpgsql security definer
set search_path = tallystick, pg_temp
set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  by_worker constant boolean := pg_has_role(session_user, 'tallystick_worker', 'member');
  outcomes int2[];
  seqs bigint[];
  answer bytea;
begin
  if 'ledger-created' = any (kinds) then
    insert into chain_heads (ledger_id, size, chain, envelope_kid)
    select n.ledger_id, 0, sha256('\x74616c6c79737469636b2d636861696e2d7631'::bytea || uuid_send(n.ledger_id)), n.kid
    from unnest(ledger_ids, kinds, kids) n (ledger_id, kind, kid)
    where n.kind = 'ledger-created'
    order by n.ledger_id
    on conflict do nothing;
  end if;

  -- In id order, so that two calls never wait for each other in a circle.
  perform from chain_heads h where h.ledger_id = any (ledger_ids) order by h.ledger_id for update;

  with item as (
    select i.*, h.size as head_size, h.chain as head_chain, h.envelope_kid,
      k.seq as first_seq, k.salt as first_salt, k.fingerprint as first_fingerprint,
      r.state as from_state, r.version as from_version, r.last_seq, r.last_leaf,
      i.idempotency_hash is not null
        and row_number() over (partition by i.ledger_id, i.actor_id, i.idempotency_hash order by i.ix) > 1 as same_key,
      i.version is not null
        and row_number() over (partition by i.ledger_id, i.subject_id order by i.ix) > 1 as same_subject
    from unnest(ledger_ids, kinds, subject_ids, versions, to_states, previous_leaves, actor_ids, key_ids, kids,
        recorded_ats, leaves, envelopes, idempotency_hashes, request_salts, request_hashes)
      with ordinality i (ledger_id, kind, subject_id, version, to_state, previous_leaf, actor_id, key_id, kid,
        recorded_at, leaf, envelope, idempotency_hash, request_salt, request_hash, ix)
    left join lateral (
      select c.size, c.chain, c.envelope_kid from chain_heads c where c.ledger_id = i.ledger_id offset 0
    ) h on true
    left join lateral (
      select x.seq, x.salt, x.fingerprint from idempotency_keys x
      where x.ledger_id = i.ledger_id and x.actor_id = i.actor_id and x.key_hash = i.idempotency_hash
      offset 0
    ) k on true
    -- A first event needs no look: the primary key of records refuses a second record of that id.
    left join lateral (
      select x.state, x.version, x.last_seq, e.leaf as last_leaf
      from records x join entries e on e.ledger_id = x.ledger_id and e.seq = x.last_seq
      where i.version > 1 and x.ledger_id = i.ledger_id and x.record_id = i.subject_id
      offset 0
    ) r on true
  ), decided as (
    select i.*, case
        when i.head_size is null or (i.kind = 'ledger-created' and i.head_size > 0) then 5
        when i.first_seq is not null then
          case when i.first_fingerprint = sha256(i.first_salt || i.request_hash) then 1 else 2 end
        -- A step that the record has passed is decided at once: of many at once for one record only the first
        -- would be, call after call.
        when i.same_key or (i.same_subject and i.version > coalesce(i.from_version, 0)) then 7
        when k.kind is null or (k.worker_only and not by_worker) or k.record_event <> (i.version is not null) then 8
        when i.kid is distinct from i.envelope_kid then 6
        when k.record_event and not exists (
          select from record_transitions t
          where t.from_state = coalesce(i.from_state, '') and t.kind = i.kind and t.to_state = i.to_state) then 3
        when i.version <> coalesce(i.from_version, 0) + 1 or i.previous_leaf is distinct from i.last_leaf then 6
        when abs(extract(epoch from i.recorded_at - clock_timestamp())) > 30 then 4
        else 0
      end as outcome
    from item i left join entry_kinds k on k.kind = i.kind
  ), appended as (
    select d.*, d.head_size + row_number() over w - 1 as seq, chain_extend(d.leaf, d.head_chain) over w as chain
    from decided d
    where d.outcome = 0
    window w as (partition by d.ledger_id order by d.ix)
  ), new_entries as (
    insert into entries (ledger_id, seq, kind, subject_id, version, prev_seq, actor_id, key_id, recorded_at,
      leaf, chain, envelope)
    select ledger_id, seq, kind, subject_id, version, last_seq, actor_id, key_id, recorded_at, leaf, chain, envelope
    from appended
  ), new_idempotency_keys as (
    insert into idempotency_keys (ledger_id, actor_id, key_hash, salt, fingerprint, seq)
    select ledger_id, actor_id, idempotency_hash, request_salt, sha256(request_salt || request_hash), seq
    from appended
    where idempotency_hash is not null
  ), new_records as (
    insert into records (ledger_id, record_id, type, state, version, first_seq, last_seq, item_index, actor_id,
      on_behalf_of, occurred_at, traceparent, digest, salt, payload, metadata)
    select a.ledger_id, n.record_id, n.type, a.to_state, 1, a.seq, a.seq, n.item_index, a.actor_id,
      n.on_behalf_of, n.occurred_at, n.traceparent, n.digest, n.salt, n.payload, n.metadata
    from unnest(record_items, record_ids, record_indexes, record_types, record_digests, record_salts,
        record_payloads, record_on_behalf_of, record_occurred_ats, record_traceparents, record_metadata)
      n (item, record_id, item_index, type, digest, salt, payload, on_behalf_of, occurred_at, traceparent, metadata)
    join appended a on a.ix = n.item
  )
  select array_agg(d.outcome order by d.ix), array_agg(coalesce(a.seq, d.first_seq, 0) order by d.ix),
    string_agg(set_byte('\x00'::bytea, 0, d.outcome) || int8send(coalesce(a.seq, d.first_seq, 0))
      || coalesce(a.chain, '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea), '' order by d.ix)
  into outcomes, seqs, answer
  from decided d left join appended a on a.ix = d.ix;

  -- Steps of records that exist: none in a call that only notarizes.
  if exists (select from unnest(versions) v where v > 1) then
    update records r set state = i.to_state, version = i.version, last_seq = i.seq
    from unnest(ledger_ids, subject_ids, to_states, versions, outcomes, seqs)
      i (ledger_id, subject_id, to_state, version, outcome, seq)
    where i.outcome = 0 and i.version > 1 and r.ledger_id = i.ledger_id and r.record_id = i.subject_id;
  end if;

  -- A first event without a record is a caller's fault, and would be found by nobody but an auditor.
  if (select count(*) from unnest(versions, outcomes) i (version, outcome) where i.outcome = 0 and i.version = 1)
    <> (select count(distinct n.item) from unnest(record_items) n (item) where outcomes[n.item] = 0) then
    raise exception 'an entry that begins records comes with them'
      using errcode = 'integrity_constraint_violation', constraint = 'entries_make_records';
  end if;

  -- What administrative entries (no version) say about ledgers, agents and keys; details hold their columns as JSON.
  if exists (select from unnest(versions) v where v is null) then
    perform append_details(ledger_ids, kinds, subject_ids, details, outcomes, seqs);
  end if;
  -- Of a ledger-created that was refused nothing may stay.
  if 'ledger-created' = any (kinds) then
    delete from chain_heads h where h.ledger_id = any (ledger_ids) and h.size = 0;
  end if;
  return coalesce(answer, '');
end $$;

create function append_details(
  ledger_ids uuid[], kinds text[], subject_ids uuid[], details text[], outcomes int2[], seqs bigint[]
) returns void
language plpgsql
set search_path = tallystick, pg_temp
as $$
-- A missing detail becomes nulls, which the columns refuse: no such entry without its row.
begin
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

  insert into api_keys (ledger_id, key_id, agent_id, name, scopes, secret_hash, mac, expires_at, created_seq)
  select i.ledger_id, i.subject_id, d."agentId", d.name, d.scopes, decode(d."secretHash", 'hex'), decode(d.mac, 'hex'),
    d."expiresAt", i.seq
  from unnest(ledger_ids, kinds, subject_ids, details, outcomes, seqs)
      i (ledger_id, kind, subject_id, detail, outcome, seq)
  left join lateral json_to_record(i.detail::json)
    d ("agentId" uuid, name text, scopes text[], "secretHash" text, mac text, "expiresAt" timestamptz) on true
  where i.outcome = 0 and i.kind = 'key-created';
end $$;

-- ---------------------------------------------------------------------------------------------------------
-- Privileges. The API appends through the function and reads; the worker moreover grows the tree, publishes
-- checkpoints and holds the note key. Nobody but the owner may write the rest, and triggers bind him too.
-- ---------------------------------------------------------------------------------------------------------

revoke all on all functions in schema tallystick from public;
grant usage on schema tallystick to tallystick_api, tallystick_worker;
grant select on schema_migrations, entry_kinds, record_states, record_transitions, server_keys, envelope_key_secrets,
  ledgers, chain_heads, entries, records, agents, api_keys, checkpoints, tree_tiles, tree_frontiers
  to tallystick_api, tallystick_worker;
grant execute on function append_entries to tallystick_api, tallystick_worker;
grant select on note_key_secrets to tallystick_worker;
grant insert on checkpoints to tallystick_worker;
grant insert, update on tree_tiles, tree_frontiers to tallystick_worker;
