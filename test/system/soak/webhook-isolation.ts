import { setTimeout as sleep } from 'node:timers/promises'
import { runLoad } from '../../../bench/load/load.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../bench/webhook-receiver.ts'
import type { LatencySummary } from '../../../cli/preflight/latencies.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { Deployment, type Ledger } from '../deployment/deployment.ts'
import { formatLoad } from '../faults/kill.ts'
import { HOSTILE, type HostileEndpoints, startHostileEndpoints } from './hostile-endpoints.ts'
import { measureBusyPercent, planLoad, requireClean } from './load-on.ts'
import {
  addCounted,
  addEndpoint,
  countRows,
  formatLag,
  formatRows,
  SETTLE_MS_MAX,
  settle,
} from './webhook-endpoints-on.ts'

const RECORDS_PER_SECOND = 50

export type Isolation = {
  readonly alone: LatencySummary
  readonly beside: LatencySummary
  /**
   * Number of events that the healthy endpoint received, each counted once. `due` is the number of events that it
   * should have received.
   */
  readonly received: number
  readonly due: number
  readonly hostile: Readonly<Record<string, number>>
}

/**
 * Runs one worker. A healthy endpoint receives a ledger's records at a constant rate. First it is alone. Then there are
 * hostile endpoints of its own ledger and of another ledger, two of each kind. Both ledgers are written to all the
 * time.
 */
export async function webhookIsolation(durationMs: number): Promise<Isolation> {
  console.log(`webhook-isolation: the machine is ${await measureBusyPercent()} % busy before it begins`)
  const deployment = await Deployment.start({ dir: temporaryDir(), apis: 1, worker: true })
  const receiver = await startWebhookReceiver()
  const hostile = await startHostileEndpoints()
  try {
    const ledgers = await deployment.createLedgers(2)
    await addCounted(deployment, ledgers[0]!, receiver, { number: 0 })
    const alone = await measure(deployment, ledgers, receiver, { durationMs })
    console.log(`webhook-isolation: alone: ${formatLag(alone.lag)}; ${formatLoad()}`)
    for (const ledger of ledgers)
      for (const name of HOSTILE)
        await addEndpoint(deployment, ledger, `http://127.0.0.1:${hostile.port}/${name}`)
    const beside = await measure(deployment, ledgers, receiver, { durationMs, dueBefore: alone.due })
    const counts = await settleHostile(hostile)
    console.log(`webhook-isolation: beside hostile ones: ${formatLag(beside.lag)}; ${formatLoad()}`)
    console.log(`  meanwhile ${JSON.stringify(counts)}; ${formatRows(await countRows(deployment.ownerUrl))}`)
    const { events } = await receiver.read([])
    const due = alone.due + beside.due
    return { alone: alone.lag, beside: beside.lag, received: events, due, hostile: counts }
  } finally {
    hostile.stop()
    receiver.stop()
    await deployment.stop()
  }
}

/** Waits until each hostile endpoint has received a request, or until a limit. Returns the counts. */
async function settleHostile(hostile: HostileEndpoints): Promise<Record<string, number>> {
  const giveUpAt = performance.now() + SETTLE_MS_MAX
  for (;;) {
    const counts = await hostile.counts()
    if (HOSTILE.every((name) => name in counts) || performance.now() > giveUpAt) return counts
    await sleep(100)
  }
}

/** Writes to both ledgers and measures the lag of the endpoint of the first ledger. */
async function measure(
  deployment: Deployment,
  ledgers: readonly Ledger[],
  receiver: WebhookReceiver,
  { durationMs, dueBefore = 0 }: { durationMs: number; dueBefore?: number },
): Promise<{ lag: LatencySummary; due: number }> {
  const pace = { kind: 'arrival', perSecond: RECORDS_PER_SECOND, backlogMax: 1_000 } as const
  const loads = await Promise.all(
    ledgers.map((ledger, i) => {
      const plan = planLoad(deployment.urls, [ledger], {
        connections: 16,
        pace,
        durationMs,
        seed: durationMs + i,
      })
      return runLoad(plan, { onEdge: (edge) => void (i === 0 && edge === 'measure' && receiver.begin()) })
    }),
  )
  for (const load of loads) requireClean('webhook-isolation', load)
  const due = loads[0]!.acknowledgedItems
  await settle(receiver, dueBefore + due)
  const { windows } = await receiver.read([[0]])
  return { lag: windows[0]!.lag, due }
}
