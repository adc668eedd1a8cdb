import type pg from 'pg'
import type { SignedLine } from '../../proof/entry/verify-entry.ts'
import type { Uuid } from '../../proof/ids.ts'
import { type SignedColumns, toSignedLine } from '../chain/signed-entries.ts'
import { hasOpenFault } from '../chain/verified-size.ts'
import {
  RETENTION_CLAIM_SECONDS,
  RETENTION_FAILURE_PAUSE_SECONDS,
  RETENTION_SWEEP_EVERY_SECONDS,
} from '../limits.ts'

/** A sweep over a ledger's documents. It continues at the entry `nextSeq`. */
export type Sweep = {
  readonly ledgerId: Uuid
  readonly nextSeq: number
  /** Seq of the newest entry, at the time of the claim, that may have made documents due. */
  readonly changedSeq: number
  readonly envelopeKid: Buffer
}

/**
 * Claims a ledger whose sweep is due, for one page. Returns null if no sweep is due. Other workers skip a claimed
 * ledger.
 */
export async function claimSweep(pool: pg.Pool): Promise<Sweep | null> {
  const { rows } = await pool.query<Sweep>({
    name: 'claim_sweep',
    text: `with due as (
        select s.ledger_id from tallystick.retention_sweeps s
        join tallystick.chain_heads h on h.ledger_id = s.ledger_id and h.closed is null
        where s.due_at <= now() and s.claimed_until < now() and not ${hasOpenFault('s.ledger_id')}
        order by s.due_at limit 1 for update of s skip locked
      )
      update tallystick.retention_sweeps s set claimed_until = now() + $1 * interval '1 second'
      from due join tallystick.chain_heads h on h.ledger_id = due.ledger_id
      where s.ledger_id = due.ledger_id
      returning s.ledger_id, s.next_seq, s.changed_seq, h.envelope_kid`,
    values: [RETENTION_CLAIM_SECONDS],
  })
  return rows[0] ?? null
}

/**
 * Result of a page.
 *
 * - `nextSeq`: the sweep continues at this entry, after the pages of other ledgers.
 * - `done`: the sweep has reached the end and starts again after some hours.
 * - `failed`: the page is tried again after a pause.
 */
type SweepEnd = { readonly nextSeq: number } | 'done' | 'failed'

/**
 * Ends the claim and stores the result of the page. If a rule or a hold was changed since the claim, append_keeping has
 * set the sweep back to its start. In this case the sweep begins there.
 */
export async function releaseSweep(
  pool: pg.Pool,
  { ledgerId, nextSeq, changedSeq }: Sweep,
  end: SweepEnd,
): Promise<void> {
  const [next, pauseSeconds] =
    end === 'done'
      ? [0, RETENTION_SWEEP_EVERY_SECONDS]
      : end === 'failed'
        ? [nextSeq, RETENTION_FAILURE_PAUSE_SECONDS]
        : [end.nextSeq, 0]
  await pool.query({
    name: 'release_sweep',
    text: `update tallystick.retention_sweeps set claimed_until = '-infinity', failing = $5,
        next_seq = case when changed_seq = $2 then $3 else next_seq end,
        due_at = case when changed_seq = $2 then now() + $4 * interval '1 second' else due_at end
      where ledger_id = $1`,
    values: [ledgerId, changedSeq, next, pauseSeconds, end === 'failed'],
  })
}

/**
 * Returns the entries that set these rules. The caller must verify the entries before it erases anything because of
 * these rules.
 */
export async function readRuleEntries(
  pool: pg.Pool,
  ledgerId: Uuid,
  seqs: readonly number[],
): Promise<(SignedLine & { readonly seq: number })[]> {
  const { rows } = await pool.query<SignedColumns & { seq: number }>({
    name: 'read_rule_entries',
    text: `select seq, kind, recorded_at, leaf, envelope from tallystick.entries
      where ledger_id = $1 and seq = any ($2::int8[])`,
    values: [ledgerId, seqs],
  })
  return rows.map((row) => ({ ...toSignedLine(row), seq: row.seq }))
}

/**
 * Counts ledgers. `due` is the number of ledgers whose sweep is due or running. `failing` is the number of ledgers
 * whose newest page failed.
 */
export async function countSweeps(
  pool: pg.Pool,
): Promise<{ readonly due: number; readonly failing: number }> {
  const { rows } = await pool.query<{ due: number; failing: number }>(
    `select count(*) filter (where due_at <= now()) as due, count(*) filter (where failing) as failing
     from tallystick.retention_sweeps where due_at <= now() or failing`,
  )
  return rows[0]!
}
