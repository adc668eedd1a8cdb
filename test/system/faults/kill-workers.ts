import { setTimeout as sleep } from 'node:timers/promises'
import { parseId } from '../../../src/proof/ids.ts'
import { Deployment, type Ledger } from '../deployment/deployment.ts'
import { withPatientClient } from '../deployment/processes.ts'
import { type RunningGatedClients, startGatedClients } from './gated-clients.ts'
import { checkLedger } from './ledger-contents.ts'

type WorkerKillPlan = {
  readonly kills: number
  readonly clients: number
  readonly ledgers: number
  readonly loadMs: { readonly min: number; readonly max: number }
}

export type WorkerKillOutcome = {
  readonly completed: number
  readonly entries: number
  readonly completions: number
  readonly doubled: number
  readonly unverified: number
  /** Number of records with an `auto` gate that were verified but not judged. */
  readonly unjudged: number
  /**
   * Number of verifications that were given up. Audits do not count: an audit that six kills interrupted is given up,
   * and runs again the next day.
   */
  readonly deadLetters: number
  readonly waitingHit: readonly number[]
}

/**
 * Kills one of two worker processes under load, and restarts it. The kills alternate between the two workers and come
 * at random moments.
 */
export async function killWorkersUnderLoad(dir: string, plan: WorkerKillPlan): Promise<WorkerKillOutcome> {
  const deployment = await Deployment.start({ dir, apis: 1, worker: 2 })
  let clients: RunningGatedClients | null = null
  try {
    const ledgers = await deployment.createLedgers(plan.ledgers)
    clients = await startGatedClients(deployment.urls, ledgers, { clients: plan.clients })
    const waitingHit: number[] = []
    for (let i = 0; i < plan.kills; i++) {
      await sleep(plan.loadMs.min + Math.random() * (plan.loadMs.max - plan.loadMs.min))
      await deployment.killWorker(i % 2)
      waitingHit.push(await countWaiting(deployment.ownerUrl))
      await deployment.startWorker(i % 2)
    }
    await clients.finish()
    deployment.requireAlive()
    let entries = 0
    for (const { ledger } of ledgers) entries += await checkLedger(deployment.ownerUrl, ledger)
    return {
      completed: clients.completed,
      entries,
      waitingHit,
      ...(await countVerified(deployment.ownerUrl, ledgers)),
    }
  } finally {
    await clients?.abandon()
    await deployment.stop()
  }
}

/**
 * Counts waiting completions. The number includes all completions of the killed worker, and may include completions of
 * the other worker.
 */
async function countWaiting(url: string): Promise<number> {
  return withPatientClient(url, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      "select count(*)::int as count from tallystick.gated_records where state = 'SUBMITTED'",
    )
    return rows[0]!.count
  })
}

export type Verified = Pick<
  WorkerKillOutcome,
  'completions' | 'doubled' | 'unverified' | 'unjudged' | 'deadLetters'
>

/**
 * Counts verified completions from the entries, not from the records' states. The ledgers must have no revised
 * completion.
 */
export async function countVerified(url: string, ledgers: readonly Ledger[]): Promise<Verified> {
  return withPatientClient(url, async (client) => {
    const { rows } = await client.query<Verified>(
      `with completions as (
         select s.ledger_id, s.subject_id, s.version,
           count(*) filter (where e.kind = 'completion-verified') as verified,
           count(*) filter (where e.kind = 'verdict-rendered') as judged
         from tallystick.entries s
         left join tallystick.entries e on e.ledger_id = s.ledger_id and e.subject_id = s.subject_id and e.version > s.version
         where s.kind = 'completion-submitted' and s.ledger_id = any ($1::uuid[])
         group by 1, 2, 3
       )
       select count(*)::int as completions,
         (count(*) filter (where verified > 1 or judged > 1))::int as doubled,
         (count(*) filter (where verified = 0))::int as unverified,
         (count(*) filter (where gate = 'auto' and judged = 0))::int as unjudged,
         (select count(*) from tallystick_jobs.job where name = 'dead-letters' and data ? 'record')::int as "deadLetters"
       from completions c
       join tallystick.gated_records g on g.ledger_id = c.ledger_id and g.record_id = c.subject_id`,
      [ledgers.map(({ ledger }) => parseId('led', ledger))],
    )
    return rows[0]!
  })
}

export function formatWorkerKills(outcome: WorkerKillOutcome): string {
  const { completed, completions, doubled, unverified, unjudged, deadLetters, entries, waitingHit } = outcome
  return (
    `records=${completed} completions=${completions} doubled=${doubled} unverified=${unverified} unjudged=${unjudged} ` +
    `dead-letters=${deadLetters} entries=${entries} verified; waiting at each kill: ${waitingHit.join(', ')}`
  )
}
