import type pg from 'pg'
import { openReadPool } from '../../src/db/connect/pools.ts'
import type { Clocks } from '../../src/followers/clocks.ts'
import { sweepRetention } from '../../src/followers/retention/sweep.ts'
import type { Test, TestApp } from './app.ts'
import { testDatabase } from './connect.ts'

export type Sweeper = {
  /** Makes the sweep of this ledger due, beginning with entry `from`. Then sweeps every ledger whose sweep is due. */
  run(from?: number): Promise<void>
  readonly pool: pg.Pool
  readonly observed: number[]
  readonly logged: string[]
}

export function openSweeper(t: Test, app: TestApp, clocks: Partial<Clocks> = {}): Sweeper {
  const pool = openReadPool(testDatabase(app.database.workerUrl), { warn() {} })
  t.after(() => pool.end())
  const observed: number[] = []
  const logged: string[] = []
  const deps = {
    pool,
    signers: app.deps.signers,
    now: Date.now,
    machineNow: Date.now,
    ...clocks,
    observeRetention: (documents: number) => void observed.push(documents),
    log: {
      info() {},
      error: (details: object) => void logged.push(String((details as { err: Error }).err)),
    },
  }
  const run = async (from = 0) => {
    await app.sql(
      `update tallystick.retention_sweeps set due_at = now() - interval '1 hour', next_seq = $2 where ledger_id = $1`,
      [app.ledgerId, from],
    )
    while (await sweepRetention(deps)) {}
  }
  return { run, pool, observed, logged }
}

/**
 * Backdates the entries of the ledger's records by `days`, because no test can wait half a year. Changes only columns,
 * with all triggers disabled. Envelopes are not changed, so `unage` must restore the columns before the ledger is
 * verified.
 */
export async function age(app: TestApp, days: number): Promise<void> {
  await app.sql(`do $$ begin
    create table if not exists public.aged (ledger_id uuid, seq bigint, recorded_at timestamptz, primary key (ledger_id, seq));
    insert into public.aged select ledger_id, seq, recorded_at from tallystick.entries
    where ledger_id = '${app.ledgerId}' and version is not null on conflict do nothing;
    set local session_replication_role = replica;
    update tallystick.entries set recorded_at = recorded_at - interval '${days} days'
    where ledger_id = '${app.ledgerId}' and version is not null;
  end $$`)
}

export async function unage(app: TestApp): Promise<void> {
  await app.sql(`do $$ begin
    set local session_replication_role = replica;
    update tallystick.entries e set recorded_at = a.recorded_at from public.aged a
    where a.ledger_id = e.ledger_id and a.seq = e.seq and e.ledger_id = '${app.ledgerId}';
  end $$`)
}
