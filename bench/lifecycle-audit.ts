import { withClient } from '../src/db/connect/client.ts'
import { parseId, type Uuid } from '../src/proof/ids.ts'
import type { Phase } from './phase.ts'
import type { System } from './system.ts'

export type LifecycleAudit = {
  /**
   * Number of records that a client saw accepted. `abandoned`: number of records that a client gave up; such a record
   * may have any state.
   */
  readonly complete: number
  readonly abandoned: number
  readonly states: Readonly<Record<string, number>>
  readonly notOnce: number
  /** Milliseconds from the completion's `recordedAt` to the verification's. */
  readonly verificationMs: { readonly p50: number; readonly p99: number; readonly max: number }
  readonly jobsRetried: number
  readonly ok: boolean
}

/**
 * Audits lifecycles. Every record that a client saw accepted must be accepted, by one entry of each kind. Every record
 * that is not accepted must be one that a client gave up.
 */
export async function auditLifecycles(
  ownerUrl: string,
  { ledger }: System,
  phases: readonly Phase[],
): Promise<LifecycleAudit> {
  const sum = (of: (phase: Phase) => number) => phases.reduce((total, phase) => total + of(phase), 0)
  const complete = sum((phase) => phase.lifecycle!.complete)
  const abandoned = sum((phase) => phase.lifecycle!.abandoned)
  const found = await readLedger(ownerUrl, parseId('led', ledger))
  const { ACCEPTED: accepted = 0, ...others } = found.states
  const unfinished = Object.values(others).reduce((total, count) => total + count, 0)
  const ok = accepted >= complete && unfinished <= abandoned && found.notOnce === 0
  return { complete, abandoned, ...found, ok }
}

export async function readLedger(
  ownerUrl: string,
  ledger: Uuid,
): Promise<Pick<LifecycleAudit, 'states' | 'notOnce' | 'verificationMs' | 'jobsRetried'>> {
  return withClient(ownerUrl, async (client) => {
    const states = await client.query<{ state: string; count: number }>(
      `select state, count(*)::int as count from tallystick.gated_records where ledger_id = $1 group by 1`,
      [ledger],
    )
    const entries = await client.query(
      `select count(*) filter (where r.state in ('ACCEPTED', 'REJECTED') and (completions, verifications, verdicts) <> (1, 1, 1))::int
          as "notOnce",
        coalesce(percentile_disc(0.5) within group (order by ms), 0) as p50,
        coalesce(percentile_disc(0.99) within group (order by ms), 0) as p99, coalesce(max(ms), 0) as max
       from (
        select e.ledger_id, e.subject_id,
          count(*) filter (where e.kind = 'completion-submitted') as completions,
          count(*) filter (where e.kind = 'completion-verified') as verifications,
          count(*) filter (where e.kind = 'verdict-rendered') as verdicts,
          extract(epoch from max(e.recorded_at) filter (where e.kind = 'completion-verified')
            - max(e.recorded_at) filter (where e.kind = 'completion-submitted'))::float8 * 1000 as ms
        from tallystick.entries e where e.ledger_id = $1 and e.version is not null group by 1, 2
       ) e join tallystick.gated_records r on r.ledger_id = e.ledger_id and r.record_id = e.subject_id`,
      [ledger],
    )
    const jobs = await client.query(
      `select count(*) filter (where retry_count > 0 or state = 'failed')::int as retried
       from tallystick_jobs.job where name = 'verify-completion'`,
    )
    const { notOnce, ...verificationMs } = entries.rows[0]
    return {
      states: Object.fromEntries(states.rows.map(({ state, count }) => [state, count])),
      notOnce,
      verificationMs,
      jobsRetried: jobs.rows[0].retried,
    }
  })
}
