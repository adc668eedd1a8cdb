-- Locks the peering until the end of the transaction and stores the nonce. Returns true if the nonce is new.
create or replace function begin_peer_request(ledger uuid, peer uuid, request_nonce bytea) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  perform from peer_inboxes i where i.ledger_id = ledger and i.peer_id = peer for update;
  -- Nonces are stored for 150 s. This is longer than a request is valid, from its earliest to its latest accepted time.
  delete from peer_nonces n where n.ledger_id = ledger and n.peer_id = peer and n.seen_at < clock_timestamp() - interval '150 seconds';
  insert into peer_nonces (ledger_id, peer_id, nonce) values (ledger, peer, request_nonce) on conflict do nothing;
  return found;
end $$;

-- Stores an invitation. Returns false if the ledger has too many invitations or peerings.
create or replace function invite_peer(
  ledger uuid, peer uuid, peer_name text, agent uuid, token_hash bytea, expires timestamptz, inviter text, open_max int4, peers_max int4
) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  perform from ledgers l where l.ledger_id = ledger for no key update;
  if (select count(*) from peers p where p.ledger_id = ledger and p.state = 'invited' and p.expires_at > now()) >= open_max
    or (select count(*) from peers p where p.ledger_id = ledger and p.state not in ('invited', 'revoked')) >= peers_max then
    return false;
  end if;
  delete from peers p where p.ledger_id = ledger and p.state = 'invited' and p.expires_at < now() - interval '30 days';
  insert into peers (ledger_id, peer_id, name, role, state, created_by, token_hash, expires_at, inviter)
  values (ledger, peer, peer_name, 'inviter', 'invited', agent, token_hash, expires, inviter);
  return true;
end $$;

-- Stores a peering to which this side was invited. Returns false if the ledger has too many peerings.
create or replace function accept_peer(
  ledger uuid, peer uuid, peer_name text, agent uuid, token_hash bytea, expires timestamptz, sealed bytea,
  inviter text, remote_ledger uuid, url text, own_kid bytea, peers_max int4
) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  perform from ledgers l where l.ledger_id = ledger for no key update;
  if (select count(*) from peers p where p.ledger_id = ledger and p.state not in ('invited', 'revoked')) >= peers_max then
    return false;
  end if;
  insert into peers (ledger_id, peer_id, name, role, state, created_by, token_hash, expires_at, sealed_token, inviter,
    remote_ledger_id, remote_url)
  values (ledger, peer, peer_name, 'invited', 'pending', agent, token_hash, expires, sealed, inviter, remote_ledger, url);
  insert into peer_cursors (ledger_id, peer_id, next_seq, known_kid) values (ledger, peer, 0, own_kid);
  return true;
end $$;

-- Ends a peering that has no entry yet: an invitation that nobody accepted, or a peering whose handshake is incomplete.
-- Returns false if there is no such peering.
create or replace function withdraw_peer(ledger uuid, peer uuid) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  update peers p set state = 'revoked', sealed_token = null
  where p.ledger_id = ledger and p.peer_id = peer and p.added_seq is null and p.state in ('invited', 'pending');
  return found;
end $$;

-- Stores a second, different entry of a peer for a position whose first entry is already stored. Does nothing if the
-- peering already has `forks_max` such entries.
create or replace function keep_fork(
  ledger uuid, peer uuid, fork_leaf bytea, at bigint, record uuid, record_version int4, held bytea, fork bytea, forks_max int4
) returns void
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  if (select count(*) from (select from peer_forks f where f.ledger_id = ledger and f.peer_id = peer limit forks_max) f) >= forks_max then
    return;
  end if;
  insert into peer_forks (ledger_id, peer_id, leaf, remote_seq, record_id, version, held_leaf, envelope)
  values (ledger, peer, fork_leaf, at, record, record_version, held, fork) on conflict do nothing;
end $$;

-- Stores the facts of a peer's request for a cosignature. These are the peer's key, the cosigned tree, and, for a fork,
-- the note of a different tree. An argument that is null changes nothing. The caller has locked the peering.
create or replace function keep_peer_witness(
  ledger uuid, peer uuid, other_key text, other_kid bytea, tree_size bigint, tree_root bytea, tree_note text, other_note text
) returns void
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  insert into peer_witnesses (ledger_id, peer_id) values (ledger, peer) on conflict do nothing;
  update peer_witnesses w set
    remote_key = coalesce(other_key, w.remote_key), remote_kid = coalesce(other_kid, w.remote_kid),
    seen_size = coalesce(tree_size, w.seen_size), seen_root = coalesce(tree_root, w.seen_root),
    seen_note = coalesce(tree_note, w.seen_note),
    fork_note = coalesce(w.fork_note, other_note),
    fork_held = case when w.fork_note is null and other_note is not null then w.seen_note else w.fork_held end
  where w.ledger_id = ledger and w.peer_id = peer;
end $$;

-- Sends dead letters again, together with the entries that wait for them. `at` has the seqs of the dead letters, or is
-- null for all. Returns the number of dead letters.
create or replace function replay_peer(ledger uuid, peer uuid, at bigint[]) returns bigint
language plpgsql security definer set search_path = tallystick, pg_temp as $$
declare
  replayed bigint;
begin
  with gone as (
    delete from peer_dead_letters d
    where d.ledger_id = ledger and d.peer_id = peer and (at is null or d.seq = any (at))
      -- A dead letter without a record is about the peering itself. It is not sent again.
      and d.record_id is not null
    returning d.record_id, d.seq
  ), again as (
    insert into peer_backlog as b (ledger_id, peer_id, record_id, from_seq)
    select ledger, peer, g.record_id, min(g.seq) from gone g group by g.record_id
    on conflict on constraint peer_backlog_pkey do update set from_seq = least(b.from_seq, excluded.from_seq)
  )
  select count(*) into replayed from gone;
  update peer_cursors c set resume_at = null where c.ledger_id = ledger and c.peer_id = peer;
  return replayed;
end $$;

-- Requests that the worker compares this ledger's shared records with those of the other side.
create or replace function want_peer_summary(ledger uuid, peer uuid) returns void
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  update peer_cursors c set summary_wanted = true where c.ledger_id = ledger and c.peer_id = peer;
end $$;

-- Sets the daily budget of a peering. Null sets the default budget. Returns false if the peering does not exist.
create or replace function set_peer_budget(ledger uuid, peer uuid, entries_a_day int8, bytes_a_day int8) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  insert into peer_budgets as b (ledger_id, peer_id, entries_max, bytes_max)
  select p.ledger_id, p.peer_id, entries_a_day, bytes_a_day from peers p where p.ledger_id = ledger and p.peer_id = peer
  on conflict on constraint peer_budgets_pkey do update set entries_max = excluded.entries_max, bytes_max = excluded.bytes_max;
  return found;
end $$;
