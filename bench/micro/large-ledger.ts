import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { PausedLedgers } from '../../src/followers/checkpoints/faulty-ledgers.ts'
import { publishCheckpoints } from '../../src/followers/checkpoints/publish.ts'
import { StoredCheckpoints } from '../../src/followers/checkpoints/stored-checkpoints.ts'
import type { Signer } from '../../src/proof/crypto.ts'
import type { Uuid } from '../../src/proof/ids.ts'

const ROWS_PER_INSERT = 1_000_000
/**
 * Number of newest entries that are as large as real entries. A proof reads the newest entries themselves, up to 255 of
 * them. For all older entries it reads only the tree.
 */
const WIDE_ENTRIES = 300
const WIDE_ENVELOPE_BYTES = 600

/**
 * Fills a ledger of `size` entries with its tree and one checkpoint. Triggers are disabled during this, and an envelope
 * contains only its seq, so the ledger does not verify. Leaves, tree and checkpoint are real. `pool` must be a
 * superuser's.
 */
export async function fillLedger(pool: pg.Pool, ledgerId: Uuid, size: number): Promise<void> {
  const client = await pool.connect()
  const uuid = ledgerId
  try {
    await client.query('set session_replication_role = replica')
    await client.query(
      `insert into tallystick.ledgers (ledger_id, name, issuer, origin, note_kid)
       select $1::uuid, $2, 'https://bench.example', 'bench.example/' || $1::uuid, kid from tallystick.server_keys where use = 'note'`,
      [uuid, `ledger of ${size}`],
    )
    for (let from = 0; from < size; from += ROWS_PER_INSERT) {
      await client.query(
        `insert into tallystick.entries (ledger_id, seq, kind, subject_id, recorded_at, leaf, chain, envelope)
         select $1::uuid, seq, case seq when 0 then 'ledger-created' else 'bench' end, case seq when 0 then $1::uuid end,
           now(), sha256('\\x00'::bytea || envelope), sha256(envelope), envelope
         from (
           select seq, case when seq < $4::bigint - ${WIDE_ENTRIES} then int8send(seq)
             else int8send(seq) || decode(repeat('00', ${WIDE_ENVELOPE_BYTES - 8}), 'hex') end as envelope
           from generate_series($2::bigint, $3::bigint - 1) seq
         ) e`,
        [uuid, from, Math.min(size, from + ROWS_PER_INSERT), size],
      )
    }
    await client.query(
      `insert into tallystick.chain_heads (ledger_id, size, chain, envelope_kid)
       select $1, $2::bigint, chain, leaf from tallystick.entries where ledger_id = $1 and seq = $2::bigint - 1`,
      [uuid, size],
    )
    await client.query('set session_replication_role = origin')
    await client.query('vacuum analyze tallystick.entries')
  } finally {
    client.release()
  }
}

/** Grows the trees and publishes checkpoints, as the worker does. */
export async function publishAll(pool: pg.Pool, noteSigner: Signer): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-bench-'))
  try {
    const deps = {
      pool,
      noteSigner,
      storedCheckpoints: new StoredCheckpoints(directory),
      faulty: new PausedLedgers(Date.now),
      log: {
        error(details: object) {
          throw (details as { err: Error }).err
        },
      },
    }
    while (await publishCheckpoints(deps));
    await pool.query('vacuum analyze tallystick.tree_tiles, tallystick.checkpoints')
  } finally {
    rmSync(directory, { recursive: true })
  }
}
