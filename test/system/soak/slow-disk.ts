import { join } from 'node:path'
import { runLoad } from '../../../bench/load/load.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { Deployment } from '../deployment/deployment.ts'
import { formatLoad } from '../faults/kill.ts'
import { checkLedger } from '../faults/ledger-contents.ts'
import { formatLatency, measureBusyPercent, planLoad, requireClean } from './load-on.ts'
import { SLOW_FSYNC_US, slowFsync } from './slow-fsync.ts'

type Plan = {
  readonly name: string
  /** Number of ledgers in each run. Records are written to them round-robin. */
  readonly ledgers: readonly number[]
  readonly durationMs: number
}

/**
 * Measures rate and latency on this disk, and again with 2 ms added to each flush, as on network storage. The load is
 * a closed loop of single records.
 */
export async function compareDisks(plan: Plan): Promise<void> {
  console.log(`${plan.name}: the machine is ${await measureBusyPercent()} % busy before it begins`)
  const dir = temporaryDir()
  await measureDisk(plan, join(dir, 'fast'), 'fsync as it is')
  const postgresEnv = slowFsync(dir)
  if (postgresEnv === null) console.log(`${plan.name}: no slow disk, because there is no C compiler (cc)`)
  else await measureDisk(plan, join(dir, 'slow'), `fsync + ${SLOW_FSYNC_US / 1_000} ms`, postgresEnv)
}

async function measureDisk(
  plan: Plan,
  dir: string,
  disk: string,
  postgresEnv: Record<string, string> = {},
): Promise<void> {
  const deployment = await Deployment.start({ dir, apis: 1, worker: true, postgresEnv })
  try {
    for (const ledgers of plan.ledgers)
      for (const connections of [64, 256]) await measure(deployment, plan, { disk, ledgers, connections })
  } finally {
    await deployment.stop()
  }
}

async function measure(
  deployment: Deployment,
  { name, durationMs }: Plan,
  { disk, ledgers, connections }: { disk: string; ledgers: number; connections: number },
): Promise<void> {
  const made = []
  for (let i = 0; i < ledgers; i++)
    made.push(await deployment.createLedger(`${connections} connections, ${i}`))
  const pace = { kind: 'closed' } as const
  const load = await runLoad(
    planLoad(deployment.urls, made, { connections, pace, durationMs, seed: connections }),
  )
  console.log(
    `${name}: ${disk}, ${ledgers} ledger(s), ${connections} connections: ` +
      `${Math.round(load.achievedPerSecond)} records/s, ${formatLatency(load.latency)}; ${formatLoad()}`,
  )
  requireClean(name, load)
  for (const { ledger } of made) await checkLedger(deployment.ownerUrl, ledger)
}
