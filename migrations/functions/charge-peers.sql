-- Adds entries and bytes to the counts of what is stored for a peer. If the counts began more than a day ago, they
-- start again from 0.
create or replace function charge_peer(ledger uuid, peer uuid, stored_entries int8, stored_bytes int8) returns void
language sql set search_path = tallystick, pg_temp as $$
  insert into peer_budgets as b (ledger_id, peer_id, began_at, entries, bytes)
  values (ledger, peer, now(), stored_entries, stored_bytes)
  on conflict on constraint peer_budgets_pkey do update set
    began_at = case when b.began_at > now() - interval '1 day' then b.began_at else excluded.began_at end,
    entries = case when b.began_at > now() - interval '1 day' then b.entries else 0 end + excluded.entries,
    bytes = case when b.began_at > now() - interval '1 day' then b.bytes else 0 end + excluded.bytes
$$;

-- Trigger: counts the data that is stored for a peer. The tables themselves have the trigger, so that all stored data
-- is counted.
--
-- The size of a received entry includes the local entry that records its receipt, and that local entry's evidence.
-- Received documents, types and forks count too.
create or replace function charge_peers() returns trigger language plpgsql set search_path = tallystick, pg_temp as $$
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
