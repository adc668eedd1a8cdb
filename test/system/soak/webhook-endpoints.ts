import { setTimeout as sleep } from 'node:timers/promises'
import { type CpuUse, cpuBetween, takeCpuSnapshot } from '../../../bench/watch/cpu.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../bench/webhook-receiver.ts'
import { withClient } from '../../../src/db/connect/client.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { Deployment, type Ledger } from '../deployment/deployment.ts'
import { formatLoad } from '../faults/kill.ts'
import { measureBusyPercent } from './load-on.ts'
import {
  addCounted,
  countRows,
  formatLag,
  formatRows,
  post,
  residentMiB,
  settle,
} from './webhook-endpoints-on.ts'

export type ManyEndpoints = {
  readonly ledgers: number
  readonly endpointsPerLedger: number
  /** Total rate of all ledgers, which are written round-robin. Each record goes to all endpoints of its ledger. */
  readonly recordsPerSecond: number
  readonly durationMs: number
}

/**
 * Measures many endpoints that get few events each. The results show the cost of an endpoint with events, and the cost
 * of an endpoint without events.
 */
export async function webhookEndpoints(plan: ManyEndpoints): Promise<{ due: number; received: number }> {
  console.log(`webhook-endpoints: the machine is ${await measureBusyPercent()} % busy before it begins`)
  const deployment = await Deployment.start({ dir: temporaryDir(), apis: 1, worker: true })
  const receiver = await startWebhookReceiver()
  try {
    const ledgers = await deployment.createLedgers(plan.ledgers)
    let number = 0
    for (const ledger of ledgers)
      for (let i = 0; i < plan.endpointsPerLedger; i++)
        await addCounted(deployment, ledger, receiver, { number: number++ })
    await sleep(3_000)
    await report(deployment, receiver, `${number} endpoints, idle`, () => sleep(5_000))
    await receiver.begin()
    let due = 0
    await report(deployment, receiver, `${plan.recordsPerSecond} records/s`, async () => {
      due = plan.endpointsPerLedger * (await record(deployment.urls[0]!, ledgers, plan))
    })
    const numbers = Array.from({ length: number }, (_, i) => i)
    const received = await settle(receiver, due)
    const { windows } = await receiver.read([numbers])
    console.log(`  due ${due}, received ${received}; lag ${formatLag(windows[0]!.lag)}; ${formatLoad()}`)
    console.log(`  ${formatRows(await countRows(deployment.ownerUrl))}`)
    return { due, received }
  } finally {
    receiver.stop()
    await deployment.stop()
  }
}

/** Notarizes at a constant rate in the ledgers, round-robin. Returns the number of records. */
async function record(
  url: string,
  ledgers: readonly Ledger[],
  { recordsPerSecond, durationMs }: ManyEndpoints,
): Promise<number> {
  const startedAt = performance.now()
  const count = Math.round((recordsPerSecond * durationMs) / 1_000)
  const sent: Promise<unknown>[] = []
  for (let i = 0; i < count; i++) {
    const dueMs = (i * 1_000) / recordsPerSecond - (performance.now() - startedAt)
    if (dueMs > 0) await sleep(dueMs)
    const { bearer } = ledgers[i % ledgers.length]!
    sent.push(post(url, bearer, '/v1/records', { type: 'generic/1', payload: { i } }))
  }
  await Promise.all(sent)
  return count
}

async function report(
  deployment: Deployment,
  receiver: WebhookReceiver,
  name: string,
  work: () => Promise<void>,
): Promise<void> {
  const pid = deployment.workerPid(0)
  const groups = {
    processes: { worker: [pid], server: [deployment.apiPid(0)], receiver: [receiver.pid] },
    postmaster: deployment.postmaster,
  }
  const [cpu, transactions] = [takeCpuSnapshot(groups), await countTransactions(deployment.ownerUrl)]
  const startedAt = performance.now()
  await work()
  const seconds = (performance.now() - startedAt) / 1_000
  const use = cpuBetween(cpu, takeCpuSnapshot(groups))
  const perSecond = ((await countTransactions(deployment.ownerUrl)) - transactions) / seconds
  console.log(
    `webhook-endpoints: ${name}: ${Math.round(perSecond)} transactions/s; worker ${residentMiB(pid)} MiB; ` +
      `cores: ${formatCores(use)}`,
  )
}

function formatCores(use: CpuUse): string {
  return Object.entries(use)
    .map(([name, cores]) => `${name} ${cores.toFixed(2)}`)
    .join(', ')
}

async function countTransactions(ownerUrl: string): Promise<number> {
  return withClient(ownerUrl, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      'select (xact_commit + xact_rollback)::float8 as count from pg_stat_database where datname = current_database()',
    )
    return rows[0]!.count
  })
}
