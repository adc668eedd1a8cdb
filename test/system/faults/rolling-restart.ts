import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { withClient } from '../../../src/db/connect/client.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { Deployment, type Ledger } from '../deployment/deployment.ts'
import { reckonAll } from './kill.ts'
import type { Reckoning } from './reckoning.ts'
import { startBalancer } from './rolling-restart-balancer.ts'
import { type RunningClients, startRestartClients } from './rolling-restart-clients.ts'

type RestartPlan = {
  readonly rounds: number
  readonly clients: number
  readonly loadMs: number
  readonly drainSeconds: number
}

export type RestartOutcome = {
  readonly reckoning: Reckoning
  readonly entries: number
  readonly ends: Readonly<Record<string, number>>
  /**
   * For each restart: the time from SIGTERM to the end of the process, its exit code or signal, and the number of
   * requests that were answered in this time.
   */
  readonly stops: readonly {
    readonly ms: number
    readonly exitCode: number | string
    readonly answered: number
  }[]
}

export async function restartUnderLoad(dir: string, plan: RestartPlan): Promise<RestartOutcome> {
  const apiEnv = { TALLYSTICK_DRAIN_SECONDS: String(plan.drainSeconds) }
  const deployment = await Deployment.start({ dir, apis: 2, apiEnv })
  const balancer = await startBalancer(deployment.urls)
  try {
    const ledger = await deployment.createLedger('rolling restart')
    const clients = startClients(balancer.url, ledger, dir, plan.clients)
    const stops = []
    for (let i = 0; i < plan.rounds * 2; i++) {
      await Promise.all([balancer.until(0, 'in'), balancer.until(1, 'in')])
      await sleep(plan.loadMs)
      stops.push(await stop(deployment, i % 2, clients))
      await balancer.until(i % 2, 'out')
      await deployment.startApi(i % 2)
    }
    await sleep(plan.loadMs)
    await clients.finish()
    deployment.requireAlive()
    return { ...(await reckonAll(deployment, dir, [ledger])), ends: clients.ends, stops }
  } finally {
    await balancer.stop()
    await deployment.stop()
  }
}

type StopPlan = Omit<RestartPlan, 'rounds'>

/**
 * Times in ms around the moment when the server stops listening. HOLD_BEFORE_MS before that moment, the ledger's head
 * is locked. FINISH_BEFORE_MS before it, the clients stop starting requests. RELEASE_AFTER_MS after it, the lock is
 * released.
 */
const HOLD_BEFORE_MS = 700
const FINISH_BEFORE_MS = 500
const RELEASE_AFTER_MS = 300

/**
 * Stops the only API process under load. The clients start new requests until shortly before the server stops
 * listening, as behind a balancer. A lock blocks the requests that are in progress at that moment. They must be
 * answered after the lock is released.
 */
export async function stopUnderLoad(
  dir: string,
  plan: StopPlan,
): Promise<RestartOutcome & { readonly heldUp: number }> {
  const apiEnv = { TALLYSTICK_DRAIN_SECONDS: String(plan.drainSeconds) }
  const deployment = await Deployment.start({ dir, apis: 1, apiEnv })
  try {
    const ledger = await deployment.createLedger('stop')
    const clients = startClients(deployment.urls[0]!, ledger, dir, plan.clients)
    await sleep(plan.loadMs)
    const stopped = stop(deployment, 0, clients)
    await sleep(plan.drainSeconds * 1_000 - HOLD_BEFORE_MS)
    const heldUp = await holdHead(deployment.superuserUrl, ledger, async () => {
      await sleep(HOLD_BEFORE_MS - FINISH_BEFORE_MS)
      const finished = clients.finish()
      await sleep(FINISH_BEFORE_MS + RELEASE_AFTER_MS)
      return { before: clients.answered, finished }
    })
    await heldUp.finished
    const stops = [await stopped]
    const outcome = { ...(await reckonAll(deployment, dir, [ledger])), ends: clients.ends, stops }
    return { ...outcome, heldUp: clients.answered - heldUp.before }
  } finally {
    await deployment.stop()
  }
}

/** Locks the ledger's head while `work` runs, so that nothing is appended. */
async function holdHead<T>(url: string, { ledger }: Ledger, work: () => Promise<T>): Promise<T> {
  return withClient(url, async (client) => {
    await client.query('begin')
    await client.query('select from tallystick.chain_heads where ledger_id = $1 for update', [
      parseId('led', ledger),
    ])
    const done = await work()
    await client.query('rollback')
    return done
  })
}

function startClients(url: string, ledger: Ledger, dir: string, clients: number): RunningClients {
  const journalDir = join(dir, 'journals')
  mkdirSync(journalDir, { recursive: true })
  return startRestartClients({ url, ledger, clients, journalDir })
}

async function stop(deployment: Deployment, api: number, clients: RunningClients) {
  const [before, beganAt] = [clients.answered, performance.now()]
  const exitCode = await deployment.stopApi(api)
  return { ms: Math.round(performance.now() - beganAt), exitCode, answered: clients.answered - before }
}

export function formatRestarts({ entries, ends, stops }: RestartOutcome): string {
  const counts = Object.entries(ends).map(([end, count]) => `${end}=${count}`)
  const ms = stops.map((stopped) => stopped.ms).join(', ')
  const answered = stops.map((stopped) => stopped.answered).join(', ')
  return `${counts.join(', ')}; entries=${entries} verified; stopped in ${ms} ms, with ${answered} answers meanwhile`
}
