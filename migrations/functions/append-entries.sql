-- Appends entries to chains. There is no other way to append.
--
-- Arguments are arrays with one element for each item, in seven groups:
--     entries      ledger_ids … envelopes: the entry as signed and stored
--     details      further content of administrative and federation entries, as JSON by kind (append_details, append_federation)
--     idempotency  actor, hash of the key, salt and fingerprint
--     records      records that items create; record_items[n] is the 1-based item that creates record n
--     chunks       records of batches, 64 in a chunk, and the keys by which searches find each chunk
--     gated        terms and steps of gated records
--     documents    documents of steps
--
-- `mac` is a key id and an HMAC-SHA256 over array_send of every other argument, in order. array_send returns the bytes
-- that array_recv received over the wire. One MAC covers the whole call, so that entries, rows and their order cannot
-- be exchanged, and the arguments are hashed only once. A wrong MAC raises 28000 (constraint append_entries_mac).
--
-- The result is as if the items were decided one after another. But the statements decide all items together. A refused
-- item affects no other item, except the other item of its pair (see below). Returns 41 bytes for each item, in order:
-- outcome (1), seq (8, big-endian), chain (32; zeros unless appended).
--
-- APPEND_OUTCOMES in src/db/chain/append-entries.ts has the names of the outcomes. src/append/append-one.ts has the
-- client's error codes. If several outcomes apply, the first in this list is returned:
--
--      5 refused_ledger     the ledger does not exist, or a ledger-created is for a ledger that has entries
--      1 replayed           known idempotency key, same request: seq is that of the first request's entry
--      2 conflict           known idempotency key, but another request; or an erasure has removed the fingerprint of the first
--      9 refused_frozen     the operator has frozen the ledger
--     10 refused_closed     the ledger is an older backup of itself, which nobody has acknowledged
--     15 refused_moving     the ledger is being moved to or from another database
--     16 refused_moved      the ledger is in another database
--      3 refused_state      a ledger-restored, but the ledger is not closed as restored
--      7 again              the call has an earlier item for the same record or idempotency key
--      8 refused_kind       unknown kind, or a kind that only the worker's login may append
--      6 stale              signed by a key that is not the ledger's current key; or the check of a batch for known spans is
--                           out of date (items_overtaken)
--     13 refused_signature  signed by a key that is not a current key of the actor; or signed by the server although the
--                           agent must sign for itself
--     14 refused_taken      an agent has chosen an id that the ledger already has
--      3 refused_state      the record's state does not allow the step, or the record has had all agreed revisions
--      6 stale              `previous` is not the record's last leaf
--     12 refused_party      the agent may not take this step: the principal judges, the performer performs, and with `auto`
--                           the rules decide
--     11 refused_deadline   an activation or completion after the record's deadline, or an expiry before it
--      4 refused_clock      recordedAt differs from the database's clock by more than 30 s, or 20 s if an agent has signed
--      0 appended
--
-- Two items that follow each other can be a pair: the worker's completion-verified and the `auto` verdict, or a
-- statement of another party and its statement-registered. Both items of a pair are appended, or neither. If one of
-- them is refused, the other gets `again`. In `kids`, both items of a statement's pair have the ledger's key. A call
-- takes at most one step of a record, or the two steps of a pair.
--
-- A call raises 55000 if its entries did not move the head, because a trigger is off. Exports would not contain entries
-- beyond the head.
--
-- Plans: probes are `left join lateral (… offset 0)`, and sequential scans are off, because a session keeps plans that
-- it made on empty tables. Plain joins took up to 92 ms a row after 100,000 rows. Hash joins stay on: without them,
-- joining the parts of the answer became quadratic, 87 instead of 26 µs a row at 256 items. Generic plans are forced,
-- because by default Postgres plans a small call anew each time: a call of one item then takes 970 µs instead of 500.
--
-- Cost in Postgres' own CPU, with 600-byte envelopes on 2 shared cores of 2.5 GHz:
--
-- - A call of 1 item takes 500 µs. Each item of 64 takes 31 µs (40 with idempotency keys), each of 1,000 takes 25.
-- - Steps of gated records cost nothing for calls that only notarize. Before and after steps were added: 1 item 910 and
--   921 µs, 64 items 3,556 and 3,597, 1,000 items 38,219 and 38,281.
-- - Finding pairs by windows over all items costs 5 to 8 % at 64 items.
-- - The MAC costs 5 to 8 %. Without and with it, on a busy machine: 1 item 1,643 and 1,767 µs, 64 items 6,112 and
--   6,415.
-- - A batch of 1,000 records takes 1,400 µs. With a row for each record it took 13,400.
-- - Chunks cost nothing for other calls. Before and after chunks were added, alternating on a busy machine: 1 item 695
--   and 682 µs, 64 items 3,073 and 2,839; with idempotency keys 701 and 670, 4,060 and 3,694.
--
-- A short path decides calls that only notarize. Without and with the short path, alternating on a slower machine: 1
-- item 750 and 490 µs, 4 items 890 and 650, 16 items 1,530 and 1,150, 64 items 3,700 and 2,600, 256 items 11,700 and
-- 8,800. Triggers take a third of the 490 (entries_extend_chain 100, records_begin 56, chain_heads_forward_only 22),
-- and the MAC takes 31.
--
-- Two changes were tried and rejected, because their gain was within the noise: entries_extend_chain in one statement
-- instead of two (510 µs), and with a special case for one entry (505 µs).
--
-- This function decides, and write_entries writes. A new argument must be added to both functions: in append_entries as
-- an argument, to the MAC and to the call of write_entries; in write_entries as an argument and to its insert. The
-- columns in src/db/chain/append-entries.ts have the same order as the arguments.
create or replace function append_entries(
  ledger_ids uuid[], kinds text[], subject_ids uuid[], versions int4[], to_states text[], previous_leaves bytea[],
  item_counts int4[], actor_ids uuid[], party_ids uuid[], key_ids uuid[], kids bytea[], recorded_ats timestamptz[], leaves bytea[],
  envelopes bytea[], idempotency_hashes bytea[], request_salts bytea[], request_hashes bytea[], details text[], unseen_befores int8[],
  record_items int4[], record_ids uuid[], record_types text[], record_digests bytea[],
  record_salts bytea[], record_payloads bytea[], record_occurred_ats timestamptz[], record_on_behalf_ofs uuid[], record_parent_ids uuid[],
  record_traceparents text[], record_other_members text[], record_metadata bytea[], record_reference_lists bytea[],
  record_subjects bytea[],
  chunk_items int4[], chunk_numbers int4[], chunk_record_ids uuid[], chunk_counts int4[], chunk_contents bytea[],
  chunk_key_items int4[], chunk_key_numbers int4[], chunk_keys bytea[],
  gated_items int4[], gated_performers uuid[], gated_gates text[], gated_deadlines timestamptz[],
  gated_max_revisions int4[], gated_tolerances bytea[],
  document_items int4[], document_names text[], document_subjects uuid[], document_digests bytea[],
  document_salts bytea[], document_contents bytea[],
  mac bytea
) returns bytea
language plpgsql security definer
set search_path = tallystick, pg_temp
set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  by_worker boolean;
  is_sure boolean := false;
  others bigint[];
  outcomes int2[];
  seqs bigint[];
  chains bytea[];
  prev_seqs bigint[];
  signer_kids bytea[];
  was_written boolean;
  answer bytea;
  head chain_heads;
  keys_change int8;
  signing boolean;
  overtaken int4[];
begin
  if not mac_holds(array_send(array[
      array_send(ledger_ids), array_send(kinds), array_send(subject_ids), array_send(versions), array_send(to_states),
      array_send(previous_leaves), array_send(item_counts), array_send(actor_ids), array_send(party_ids), array_send(key_ids),
      array_send(kids), array_send(recorded_ats), array_send(leaves), array_send(envelopes), array_send(idempotency_hashes),
      array_send(request_salts), array_send(request_hashes), array_send(details), array_send(unseen_befores), array_send(record_items),
      array_send(record_ids), array_send(record_types), array_send(record_digests),
      array_send(record_salts), array_send(record_payloads), array_send(record_occurred_ats),
      array_send(record_on_behalf_ofs), array_send(record_parent_ids), array_send(record_traceparents),
      array_send(record_other_members), array_send(record_metadata), array_send(record_reference_lists),
      array_send(record_subjects), array_send(chunk_items), array_send(chunk_numbers),
      array_send(chunk_record_ids), array_send(chunk_counts), array_send(chunk_contents), array_send(chunk_key_items),
      array_send(chunk_key_numbers), array_send(chunk_keys), array_send(gated_items),
      array_send(gated_performers), array_send(gated_gates), array_send(gated_deadlines), array_send(gated_max_revisions),
      array_send(gated_tolerances), array_send(document_items), array_send(document_names), array_send(document_subjects),
      array_send(document_digests), array_send(document_salts), array_send(document_contents)]), mac) then
    raise exception 'only a caller that has the master key may call append_entries'
      using errcode = 'invalid_authorization_specification', constraint = 'append_entries_mac';
  end if;
  if current_setting('session_replication_role') = 'replica' then
    perform refuse_without_triggers();
  end if;

  if 'ledger-created' = any (kinds) then
    insert into chain_heads (ledger_id, size, chain, envelope_kid)
    select n.ledger_id, 0, sha256('\x74616c6c79737469636b2d636861696e2d7631'::bytea || uuid_send(n.ledger_id)), n.kid
    from unnest(ledger_ids, kinds, kids) n (ledger_id, kind, kid)
    where n.kind = 'ledger-created'
    order by n.ledger_id
    on conflict do nothing;
  end if;

  -- Short path: notarizations for one open ledger, signed by its current keys, within the clock tolerance, without
  -- known idempotency keys.
  --
  -- The long path gives the same result for these items. If the short path cannot decide one item, the long path
  -- decides all items. The head is then already locked.
  if kinds <@ array['record-notarized', 'batch-notarized'] and ledger_ids[1] = all (ledger_ids) and 1 = all (versions)
    and 'RECORDED' = all (to_states) and array_position(actor_ids, null) is null and array_position(subject_ids, null) is null
    and num_nonnulls(variadic previous_leaves) + num_nonnulls(variadic details) + num_nonnulls(variadic record_reference_lists) = 0
    and cardinality(gated_items) + cardinality(document_items) = 0 then
    select * into head from chain_heads h where h.ledger_id = ledger_ids[1] for update;
    if head.closed is null and head.size > 0
      and (num_nonnulls(variadic unseen_befores) = 0
        or cardinality(items_overtaken(ledger_ids, actor_ids, unseen_befores, chunk_key_items, chunk_keys)) = 0)
      and (head.envelope_kid = all (kids) or own_signatures_hold(head.ledger_id, head.envelope_kid, kids, actor_ids, subject_ids, recorded_ats))
      and not exists (select from agent_signing_keys x where x.ledger_id = head.ledger_id and x.required and (
        head.envelope_kid = any (kids) or x.agent_id = any (party_ids) or '\x42'::bytea || uuid_send(x.agent_id) = any (chunk_keys)))
      and clock_timestamp() - interval '30 s' <= all (recorded_ats) and clock_timestamp() + interval '30 s' >= all (recorded_ats) then
      is_sure := cardinality(kinds) = 1 and idempotency_hashes[1] is null and record_items || chunk_items[:1] = array[1];
      -- This query is a statement of its own. A call of one item does not run the statement, and so does not pay for
      -- its plan.
      if not is_sure then
        is_sure := (
          select count(distinct i.subject_id) = count(*) and count(distinct n.item) = count(*)
            and count(distinct (i.actor_id, i.key_hash)) filter (where i.key_hash is not null) = count(i.key_hash)
            and count(k.known) = 0
          from unnest(subject_ids, actor_ids, idempotency_hashes) with ordinality i (subject_id, actor_id, key_hash, ix)
          left join lateral (
            select true as known from idempotency_keys x
            where x.ledger_id = ledger_ids[1] and x.actor_id = i.actor_id and x.key_hash = i.key_hash offset 0
          ) k on true
          left join (select distinct item from unnest(record_items || chunk_items) r (item)) n on n.item = i.ix
        );
      end if;
    end if;
    if is_sure then
      outcomes := array_fill(0::int2, array[cardinality(kinds)]);
      seqs[1] := head.size;
      chains[1] := chain_link(head.chain, leaves[1]);
      for ix in 2 .. cardinality(kinds) loop
        chains[ix] := chain_link(chains[ix - 1], leaves[ix]);
      end loop;
      if cardinality(kinds) > 1 then seqs := array(select head.size + ix - 1 from generate_subscripts(kinds, 1) ix); end if;
      if head.envelope_kid <> any (kids) then
        signer_kids := array(select nullif(i.kid, head.envelope_kid) from unnest(kids) with ordinality i (kid, ix) order by i.ix);
      end if;
    end if;
  end if;

  if outcomes is null then
    by_worker := has_table_privilege(session_user, 'tallystick.checkpoints', 'insert');
    -- An agent-key-registered or agent-key-revoked changes the valid keys of its agent. So all items after it get the
    -- outcome `again`.
    keys_change := least(array_position(kinds, 'agent-key-registered'), array_position(kinds, 'agent-key-revoked'));
    -- Heads are locked in the order of their ids, so that two calls never deadlock.
    perform from chain_heads h where h.ledger_id = any (ledger_ids) order by h.ledger_id for update;
    signing := exists (select from agent_signing_keys s where s.ledger_id = any (ledger_ids));
    if num_nonnulls(variadic unseen_befores) > 0 then
      overtaken := items_overtaken(ledger_ids, actor_ids, unseen_befores, chunk_key_items, chunk_keys);
    end if;

    -- Each `statement` and its `statement-registered` are a pair, and so are each `completion-verified` and the `auto`
    -- verdict that follows it. `others` maps the index of each item of a pair to the index of the other item.
    if 'statement-registered' = any (kinds) then
      select array_agg(case when p.follows then p.ix - 1 when p.leads then p.ix + 1 end order by p.ix)
      into others
      from (
        select f.*, lead(f.follows) over (order by f.ix) as leads
        from (
          select i.ix, i.kind = 'statement-registered' and lag(i.kind) over w = 'statement'
            and lag(i.ledger_id) over w = i.ledger_id and lag(i.subject_id) over w = i.subject_id
            and lag(i.leaf) over w = i.previous_leaf as follows
          from unnest(ledger_ids, kinds, subject_ids, previous_leaves, leaves)
            with ordinality i (ledger_id, kind, subject_id, previous_leaf, leaf, ix)
          window w as (order by i.ix)
        ) f
      ) p;
    elsif by_worker and 'completion-verified' = any (kinds) then
      select array_agg(case when p.follows then p.ix - 1 when p.leads then p.ix + 1 end order by p.ix)
      into others
      from (
        select f.*, lead(f.follows) over (order by f.ix) as leads
        from (
          select i.ix, i.kind = 'verdict-rendered' and i.actor_id is null and lag(i.kind) over w = 'completion-verified'
            and lag(i.ledger_id) over w = i.ledger_id and lag(i.subject_id) over w = i.subject_id
            and lag(i.version) over w = i.version - 1 and lag(i.leaf) over w = i.previous_leaf as follows
          from unnest(ledger_ids, kinds, subject_ids, versions, previous_leaves, actor_ids, leaves)
            with ordinality i (ledger_id, kind, subject_id, version, previous_leaf, actor_id, leaf, ix)
          window w as (order by i.ix)
        ) f
      ) p;
    end if;

    with item as (
      select i.*, h.size as head_size, h.chain as head_chain, h.envelope_kid, h.closed,
        k.seq as first_seq, k.salt as first_salt, k.fingerprint as first_fingerprint,
        o.place as other, o.place < i.ix as follows,
        case when o.place < i.ix then to_states[o.place] else r.state end as from_state,
        case when o.place < i.ix then i.version - 1 else r.version end as from_version,
        case when o.place < i.ix then i.previous_leaf else r.last_leaf end as last_leaf,
        s.holds as by_agent, q.agents as unsigned,
        r.last_seq, r.principal_id, r.performer_id, r.gate, r.deadline, r.revisions < r.max_revisions as may_revise,
        i.idempotency_hash is not null
          and row_number() over (partition by i.ledger_id, i.actor_id, i.idempotency_hash order by i.ix) > 1 as same_key,
        i.version is not null
          and row_number() over (partition by i.ledger_id, i.subject_id order by i.ix) > 1 as same_subject
      from unnest(ledger_ids, kinds, subject_ids, versions, to_states, previous_leaves, item_counts, actor_ids, party_ids, key_ids,
          kids, recorded_ats, leaves, envelopes, idempotency_hashes, request_salts, request_hashes)
        with ordinality i (ledger_id, kind, subject_id, version, to_state, previous_leaf, item_count, actor_id, party_id, key_id, kid,
          recorded_at, leaf, envelope, idempotency_hash, request_salt, request_hash, ix)
      cross join lateral (select others[i.ix] as place) o
      left join lateral (
        select c.size, c.chain, c.envelope_kid, c.closed from chain_heads c where c.ledger_id = i.ledger_id offset 0
      ) h on true
      left join lateral (
        select x.seq, x.salt, x.fingerprint from idempotency_keys x
        where x.ledger_id = i.ledger_id and x.actor_id = i.actor_id and x.key_hash = i.idempotency_hash
        offset 0
      ) k on true
      -- Reads facts about agents' keys. `holds`: whether a current key of the actor has signed. `agents`: the agents
      -- that must sign for themselves and did not.
      left join lateral (
        select x.agent_id = i.actor_id and x.revoked_seq is null as holds from agent_signing_keys x
        where signing and i.kid <> h.envelope_kid and x.ledger_id = i.ledger_id and x.kid = i.kid
        offset 0
      ) s on true
      left join lateral (
        select array_agg(x.agent_id) as agents from agent_signing_keys x
        where signing and x.ledger_id = i.ledger_id and x.required
          and not (x.agent_id = i.actor_id and coalesce(s.holds, i.kind in ('agent-key-registered', 'agent-key-revoked')))
          and (x.agent_id in (i.actor_id, i.party_id) or i.kind = 'batch-notarized' and exists (
            select from unnest(chunk_key_items, chunk_keys) c (item, key)
            where c.item = i.ix and c.key = '\x42'::bytea || uuid_send(x.agent_id)))
        offset 0
      ) q on true
      -- The first entry of a record needs no look-up here. If the record exists already, the primary key of records
      -- refuses the insert.
      left join lateral (
        select x.state, x.version, x.last_seq, x.principal_id, x.performer_id, x.gate, x.deadline, x.revisions, x.max_revisions,
          e.leaf as last_leaf
        from gated_records x
        -- The join is lateral, because a session may keep a plan that it made on empty tables. Such a plan of a plain
        -- join would read all entries of the ledger for each step.
        cross join lateral (select n.leaf from entries n where n.ledger_id = x.ledger_id and n.seq = x.last_seq offset 0) e
        where i.version > 1 and x.ledger_id = i.ledger_id and x.record_id = i.subject_id
        offset 0
      ) r on true
    ), decided as (
      select i.*, case
          when i.head_size is null or (i.kind = 'ledger-created' and i.head_size > 0) then 5
          when i.first_seq is not null then
            case when i.first_fingerprint = sha256(i.first_salt || i.request_hash) then 1 else 2 end
          -- The worker may rotate the key even if the ledger is frozen. Otherwise the old key could never be retired.
          when i.closed = 'frozen' and not (i.kind = 'server-key-rotated' and by_worker) then 9
          when i.closed = 'restored' and i.kind <> 'ledger-restored' then 10
          when i.closed = 'moving' then 15
          when i.closed = 'moved' then 16
          when i.closed is distinct from 'restored' and i.kind = 'ledger-restored' then 3
          -- A second step of a record in the same call gets `again`, if its version is above the record's version. Any
          -- other step is too late, and a later branch refuses it in this call. If late steps got `again` too, each
          -- call would decide only one of a record's many late steps.
          when i.ix > keys_change or i.same_key or (i.same_subject and i.follows is not true and i.version > coalesce(i.from_version, 0)) then 7
          when k.kind is null or k.record_event <> (i.version is not null) then 8
          -- A statement is appended only together with the entry that registers it, and that entry must be the next
          -- item.
          when i.kind in ('statement', 'statement-registered') and i.other is null then 8
          -- Only the worker may act as `system` on records, or erase by a retention rule.
          when (k.worker_only or (i.actor_id is null and (k.record_event or i.kind = 'payload-erased'))) and not by_worker then 8
          when i.kid is distinct from i.envelope_kid and i.by_agent is null or i.ix = any (overtaken) then 6
          when i.by_agent is false or i.unsigned is not null then 13
          when i.by_agent and i.version = 1 and (
            exists (select from records x where x.ledger_id = i.ledger_id and x.record_id = i.subject_id)
            or exists (select from batch_chunks x where x.ledger_id = i.ledger_id and x.first_record_id = i.subject_id)) then 14
          when k.record_event and not exists (
            select from record_transitions t
            where t.from_state = coalesce(i.from_state, '') and t.kind = i.kind and t.to_state = i.to_state) then 3
          when i.kind = 'revision-requested' and not i.may_revise then 3
          -- A shared record accepts no step that an agent has signed, because peers know only the keys of servers.
          when i.by_agent and i.version > 1
            and exists (select from shared_records x where x.ledger_id = i.ledger_id and x.record_id = i.subject_id) then 3
          when i.version <> coalesce(i.from_version, 0) + 1 or i.previous_leaf is distinct from i.last_leaf then 6
          when i.version > 1 and case
              when i.kind in ('completion-verified', 'record-expired') then i.actor_id is null
              -- The worker may accept only if the rules passed, and reject only if the rules failed.
              when i.kind = 'verdict-rendered' and i.gate = 'auto' then
                i.actor_id is null and (i.from_state = 'VERIFIED') = (i.to_state = 'ACCEPTED')
              when i.actor_id is null then false
              when i.kind = 'record-activated' then
                i.party_id <> i.principal_id and i.party_id = coalesce(i.performer_id, i.party_id)
              when i.kind = 'completion-submitted' then i.party_id = i.performer_id
              -- The performer must not overturn a verdict, neither in its own name nor in another agent's.
              when i.kind = 'verdict-overturned' then i.performer_id <> all (array[i.party_id, i.actor_id])
              when i.kind = 'verdict-rendered' then i.party_id = i.principal_id and i.actor_id <> i.performer_id
              else i.party_id = i.principal_id
            end is not true then 12
          when i.kind in ('record-activated', 'completion-submitted') and i.deadline <= clock_timestamp() then 11
          when i.kind = 'record-expired' and (i.deadline is null or i.deadline > clock_timestamp()) then 11
          when abs(extract(epoch from i.recorded_at - clock_timestamp())) > 30 - 10 * (i.by_agent is true)::int then 4
          else 0
        end as outcome
      from item i left join entry_kinds k on k.kind = i.kind
    ), appended as (
      select d.*, d.head_size + row_number() over w - 1 as seq, chain_extend(d.leaf, d.head_chain) over w as chain
      from decided d
      where d.outcome = 0
        and (d.other is null or d.other <> all (array(select x.ix from decided x where x.outcome <> 0)))
      window w as (partition by d.ledger_id order by d.ix)
    )
    select array_agg(o.outcome order by d.ix), array_agg(coalesce(a.seq, d.first_seq, 0) order by d.ix),
      array_agg(a.chain order by d.ix), array_agg(case when a.follows then a.seq - 1 else a.last_seq end order by d.ix),
      array_agg(case when a.by_agent then a.kid end order by d.ix),
      string_agg(set_byte('\x00'::bytea, 0, o.outcome) || int8send(coalesce(a.seq, d.first_seq, 0))
        || coalesce(a.chain, '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea), '' order by d.ix)
    into outcomes, seqs, chains, prev_seqs, signer_kids, answer
    from decided d left join appended a on a.ix = d.ix
    -- An item gets the outcome `again` if the other item of its pair was not appended.
    cross join lateral (select case when d.outcome = 0 and a.ix is null then 7 else d.outcome end as outcome) o;

    -- Raises an error if an item would create records but the call has no rows for them. Otherwise the entry would be
    -- stored without its records, and only an audit would find this.
    if (select count(*) from unnest(versions, outcomes) i (version, outcome) where i.outcome = 0 and i.version = 1)
      <> (select count(distinct n.item) from unnest(record_items || chunk_items) n (item) where outcomes[n.item] = 0) then
      raise exception 'an entry that begins records must come with their rows'
        using errcode = 'integrity_constraint_violation', constraint = 'entries_make_records';
    end if;
  end if;

  if 0 = any (outcomes) then
    was_written := write_entries(false, outcomes, seqs, chains, prev_seqs, signer_kids,
      ledger_ids, kinds, subject_ids, versions, to_states, previous_leaves, item_counts, actor_ids, party_ids, key_ids,
      recorded_ats, leaves, envelopes, idempotency_hashes, request_salts, request_hashes, details,
      record_items, record_ids, record_types, record_digests, record_salts, record_payloads, record_occurred_ats,
      record_on_behalf_ofs, record_parent_ids, record_traceparents, record_other_members, record_metadata, record_reference_lists,
      record_subjects,
      chunk_items, chunk_numbers, chunk_record_ids, chunk_counts, chunk_contents, chunk_key_items, chunk_key_numbers, chunk_keys,
      gated_items, gated_performers, gated_gates, gated_deadlines, gated_max_revisions, gated_tolerances,
      document_items, document_names, document_subjects, document_digests, document_salts, document_contents);
  end if;
  if answer is null and outcomes is not null then
    if not exists (select from chain_heads h where h.ledger_id = head.ledger_id and h.size = head.size + cardinality(kinds)) then
      perform refuse_unmoved();
    end if;
    if cardinality(kinds) = 1 then return '\x00'::bytea || int8send(seqs[1]) || chains[1]; end if;
    return (
      select string_agg('\x00'::bytea || int8send(a.seq) || a.chain, '' order by a.ix)
      from unnest(seqs, chains) with ordinality a (seq, chain, ix)
    );
  end if;

  if exists (
    select from (
      select i.ledger_id, max(i.seq) + 1 as size from unnest(ledger_ids, outcomes, seqs) i (ledger_id, outcome, seq)
      where i.outcome = 0 group by i.ledger_id
    ) n
    left join lateral (select c.size from chain_heads c where c.ledger_id = n.ledger_id offset 0) h on true
    where h.size is distinct from n.size) then
    perform refuse_unmoved();
  end if;
  -- Removes the head of a ledger whose ledger-created was refused.
  if 'ledger-created' = any (kinds) then
    delete from chain_heads h where h.ledger_id = any (ledger_ids) and h.size = 0;
  end if;
  return coalesce(answer, '');
end $$;
