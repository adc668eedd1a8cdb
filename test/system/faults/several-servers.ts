import { setTimeout as sleep } from 'node:timers/promises'
import { withClient } from '../../../src/db/connect/client.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { Deployment, type Ledger } from '../deployment/deployment.ts'
import { reckonAll, startClientsOn } from './kill.ts'
import { countDeadlocks } from './ledger-contents.ts'
import type { Reckoning } from './reckoning.ts'

type SeveralServersOutcome = {
  readonly reckoning: Reckoning
  readonly entries: number
  readonly attempts: Readonly<Record<string, number>>
  readonly deadlocks: number
  readonly recordsPerSecond: number
}

/**
 * Runs two API processes that write to the same ledgers at once. A transaction of one process may lock ledgers that the
 * other process needs.
 */
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
    const stop = new AbortController()
    const holding = holdHeads(deployment.superuserUrl, ledgers, stop.signal)
    await sleep(plan.loadMs)
    stop.abort()
    await holding
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

const HOLD_MS = 4
const PAUSE_MS = 10

/**
 * Locks one head after another for a moment, as a third process would. Without these locks two transactions hardly ever
 * overlap, because a transaction takes its twenty locks very fast. With these locks, two transactions often wait for a
 * head at the same time. If they took their locks in different orders, a deadlock would occur.
 */
async function holdHeads(url: string, ledgers: readonly Ledger[], signal: AbortSignal): Promise<void> {
  await withClient(url, async (client) => {
    for (let turn = 0; !signal.aborted; turn++) {
      const { ledger } = ledgers[(turn * 7) % ledgers.length]!
      await client.query('begin')
      await client.query('select from tallystick.chain_heads where ledger_id = $1 for update', [
        parseId('led', ledger),
      ])
      await sleep(HOLD_MS)
      await client.query('rollback')
      await sleep(PAUSE_MS)
    }
  })
}
