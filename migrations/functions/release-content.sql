-- Removes content from Postgres that the archive has. The caller must first have read the archive piece back and
-- compared it with the content.
--
-- - `seqs` and `chunk_numbers`: the chunks whose content is to be removed.
-- - `chunks_before`: SHA-256 of each chunk's content.
-- - `kept_metadata`: the chunk's metadata, which stays, because the archive does not have it.
-- - `entry_seqs` and `entry_leaves`: seq and leaf of each entry whose envelope is to be removed.
-- - `is_last`: marks the piece as `left` if none of its content remains in Postgres.
--
-- Returns how many contents and envelopes were removed. Content that has changed meanwhile or was removed before is
-- skipped. Nothing is removed from a ledger that is being moved or was moved. Raises P0002 if the archive does not have
-- the whole piece.
--
-- Each call is planned anew, because a session would keep a plan made on empty tables.
create or replace function release_content(
  ledger uuid, piece_from bigint, seqs bigint[], chunk_numbers int4[], chunks_before bytea[], kept_metadata bytea[],
  entry_seqs bigint[], entry_leaves bytea[], is_last boolean, out chunks int4, out envelopes int4
)
language plpgsql security definer set search_path = tallystick, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  piece_end bigint;
  piece_state text;
begin
  chunks := 0;
  envelopes := 0;
  perform require_proof();
  select p.end_seq, p.state into piece_end, piece_state from archive_pieces p join archives a on a.ledger_id = p.ledger_id
  where p.ledger_id = ledger and p.from_seq = piece_from and p.end_seq <= a.size for update of p;
  if piece_end is null then
    raise exception 'the archive has no such piece' using errcode = 'no_data_found';
  end if;
  if piece_state = 'left' or exists (select from chain_heads h where h.ledger_id = ledger and h.closed in ('moving', 'moved')) then
    return;
  end if;
  if piece_state = 'kept' then
    update archive_pieces p set state = 'leaving' where p.ledger_id = ledger and p.from_seq = piece_from;
    -- If no row was updated, the ledger began to be moved meanwhile (refuse_while_moving).
    if not found then return; end if;
  end if;
  update batch_chunks c set content = null, released_bytes = length(c.content), metadata = n.metadata
  from unnest(seqs, chunk_numbers, chunks_before, kept_metadata) n (seq, chunk, before, metadata)
  where c.ledger_id = ledger and c.seq = n.seq and c.chunk = n.chunk and c.seq >= piece_from and c.seq < piece_end
    and sha256(c.content) = n.before;
  get diagnostics chunks = row_count;
  update entries e set envelope = null
  from unnest(entry_seqs, entry_leaves) n (seq, leaf)
  where e.ledger_id = ledger and e.seq = n.seq and e.seq >= piece_from and e.seq < piece_end
    and e.leaf = n.leaf and e.envelope is not null and leaves_for_archive(e.kind);
  get diagnostics envelopes = row_count;
  if is_last then
    update archive_pieces p set state = 'left'
    where p.ledger_id = ledger and p.from_seq = piece_from
      and not exists (
        select from batch_chunks c
        where c.ledger_id = ledger and c.seq >= piece_from and c.seq < piece_end and c.content is not null)
      and not exists (
        select from entries e
        where e.ledger_id = ledger and e.seq >= piece_from and e.seq < piece_end and e.envelope is not null
          and leaves_for_archive(e.kind));
  end if;
end $$;
