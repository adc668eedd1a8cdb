-- Peerings: a key or an invitation that no server made is none, and what a peer has this side store in a day is counted.

set local search_path = tallystick;

-- ---------------------------------------------------------------------------------------------------------
-- Keys of peers. Of invitations `token_hash` is, from now on, a MAC too (src/signing/peer-macs.ts): who can write a row can't
-- make one that a server believes.
-- ---------------------------------------------------------------------------------------------------------

-- HMAC under the master key of ledger, peering and key. `migrate` makes those of keys that are here already; null is believed by nobody.
alter table peer_keys add column mac bytea check (length(mac) = 32);
alter table master_key_changes add column peer_keys int4 not null default 0;

-- Both that name a key of a peer: their text is what it was but for the MAC, which comes with the key.
do $do$
declare
  named constant text[][] := array[
    ['insert into peer_keys (ledger_id, peer_id, kid, alg, spki)', 'insert into peer_keys (ledger_id, peer_id, kid, alg, spki, mac)'],
    ['decode(d.spki, ''base64'')', 'decode(d.spki, ''base64''), decode(d.mac, ''hex'')'],
    ['kid text, alg text, spki text)', 'kid text, alg text, spki text, mac text)']];
  replaced text[];
  before text;
  which regproc;
begin
  foreach which in array array['append_federation', 'append_received']::regproc[] loop
    before := pg_get_functiondef(which);
    foreach replaced slice 1 in array named loop
      if position(replaced[1] in before) = 0 then
        raise exception '% is not that of migration 0009', which;
      end if;
      before := replace(before, replaced[1], replaced[2]);
    end loop;
    execute before;
  end loop;
end $do$;

-- ---------------------------------------------------------------------------------------------------------
-- Budget of a peer for a day
-- ---------------------------------------------------------------------------------------------------------

-- One row for each peering: how much it may have stored in a day (null: the defaults of src/peer-limits.ts), and how much it has had stored
-- since `began_at`. After a day it begins anew. An append locks the row of peer_inboxes first, so nobody waits for this one.
create table peer_budgets (
  ledger_id uuid not null,
  peer_id uuid not null,
  entries_max int8 check (entries_max > 0),
  bytes_max int8 check (bytes_max > 0),
  began_at timestamptz not null default '-infinity',
  entries int8 not null default 0 check (entries >= 0),
  bytes int8 not null default 0 check (bytes >= 0),
  primary key (ledger_id, peer_id),
  -- An invitation that nobody took is removed.
  foreign key (ledger_id, peer_id) references peers on delete cascade
) with (fillfactor = 50);

create trigger proven_session before insert or update or delete on peer_budgets
  for each statement execute function require_proven_session();

create function charge_peer(ledger uuid, peer uuid, stored_entries int8, stored_bytes int8) returns void
language sql set search_path = tallystick, pg_temp as $$
  insert into peer_budgets as b (ledger_id, peer_id, began_at, entries, bytes)
  values (ledger, peer, now(), stored_entries, stored_bytes)
  on conflict on constraint peer_budgets_pkey do update set
    began_at = case when b.began_at > now() - interval '1 day' then b.began_at else excluded.began_at end,
    entries = case when b.began_at > now() - interval '1 day' then b.entries else 0 end + excluded.entries,
    bytes = case when b.began_at > now() - interval '1 day' then b.bytes else 0 end + excluded.bytes
$$;

-- Counted where rows are made, so that there is no other way to have some stored: an entry with the one of ours that answers it and
-- the evidence that this one holds, documents, types, and forks.
create function charge_peers() returns trigger language plpgsql set search_path = tallystick, pg_temp as $$
begin
  case tg_table_name
    when 'received_entries' then
      perform charge_peer(c.ledger_id, c.peer_id, count(*),
        sum(length(c.envelope) + length(e.envelope) + coalesce(length(d.content), 0)))
      from came c
      join entries e on e.ledger_id = c.ledger_id and e.seq = c.seq
      left join documents d on d.ledger_id = c.ledger_id and d.seq = c.seq
      group by c.ledger_id, c.peer_id;
    when 'received_documents' then
      perform charge_peer(r.ledger_id, r.peer_id, 0,
        sum(coalesce(length(c.content), 0) + coalesce(length(c.reference_list), 0)))
      from came c
      join received_entries r on r.ledger_id = c.ledger_id and r.seq = c.seq
      group by r.ledger_id, r.peer_id;
    when 'received_types' then
      perform charge_peer(c.ledger_id, c.peer_id, 0, sum(length(c.definition))) from came c group by c.ledger_id, c.peer_id;
    when 'peer_forks' then
      perform charge_peer(c.ledger_id, c.peer_id, count(*), sum(length(c.envelope))) from came c group by c.ledger_id, c.peer_id;
  end case;
  return null;
end $$;

create trigger received_entries_charged after insert on received_entries referencing new table as came
  for each statement execute function charge_peers();
create trigger received_documents_charged after insert on received_documents referencing new table as came
  for each statement execute function charge_peers();
create trigger received_types_charged after insert on received_types referencing new table as came
  for each statement execute function charge_peers();
create trigger peer_forks_charged after insert on peer_forks referencing new table as came
  for each statement execute function charge_peers();

-- null: as every peering has it. false: there is no such peering.
create function set_peer_budget(ledger uuid, peer uuid, entries_a_day int8, bytes_a_day int8) returns boolean
language plpgsql security definer set search_path = tallystick, pg_temp as $$
begin
  insert into peer_budgets as b (ledger_id, peer_id, entries_max, bytes_max)
  select p.ledger_id, p.peer_id, entries_a_day, bytes_a_day from peers p where p.ledger_id = ledger and p.peer_id = peer
  on conflict on constraint peer_budgets_pkey do update set entries_max = excluded.entries_max, bytes_max = excluded.bytes_max;
  return found;
end $$;

revoke all on all functions in schema tallystick from public;
grant select on peer_budgets to tallystick_api, tallystick_worker;
grant execute on function set_peer_budget to tallystick_api;
