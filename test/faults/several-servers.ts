import { setTimeout as sleep } from 'node:timers/promises'
import { Deployment } from './deployment.ts'
import { reckonAll, startClientsOn } from './kill.ts'
import { countDeadlocks } from './ledger-contents.ts'
import type { Reckoning } from './reckoning.ts'

export type SeveralServersOutcome = {
  readonly reckoning: Reckoning
  readonly entries: number
  readonly attempts: Readonly<Record<string, number>>
  /** Found by Postgres meanwhile. */
  readonly deadlocks: number
  readonly recordsPerSecond: number
}

/** Two API processes write to the same ledgers at once: every transaction of one may hold ledgers of the other. */
export async function loadTwoServers(
  dir: string,
  plan: { ledgers: number; clients: number; loadMs: number },
): Promise<SeveralServersOutcome> {
  const deployment = await Deployment.start({ dir, apis: 2, worker: true })
  try {
    const ledgers = await deployment.createLedgers(plan.ledgers)
    const deadlocksBefore = await countDeadlocks(deployment.superuserUrl)
    const startedAt = performance.now()
    const clients = startClientsOn(deployment, dir, ledgers, plan.clients)
    await sleep(plan.loadMs)
    await clients.finish()
    const recordsPerSecond = Math.round(
      (clients.acknowledgedRecords * 1000) / (performance.now() - startedAt),
    )
    const { reckoning, entries } = await reckonAll(deployment, dir, ledgers)
    const deadlocks = (await countDeadlocks(deployment.superuserUrl)) - deadlocksBefore
    return { reckoning, entries, attempts: clients.attempts, deadlocks, recordsPerSecond }
  } finally {
    await deployment.stop()
  }
}
