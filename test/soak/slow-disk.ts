import { join } from 'node:path'
import { runLoad } from '../../bench/load-process.ts'
import { Deployment } from '../faults/deployment.ts'
import { formatLoad } from '../faults/kill.ts'
import { checkLedger } from '../faults/ledger-contents.ts'
import { temporaryDir } from '../helpers/postgres.ts'
import { formatLatency, measureBusyPercent, planLoad, requireClean } from './load-on.ts'
import { SLOW_FSYNC_US, slowFsync } from './slow-fsync.ts'

/** Rate and latency where each flush takes 2 ms more, as on network storage. Closed loop, single records. */
export async function slowDisk(durationMs: number): Promise<void> {
  console.log(`slow-disk: the machine is ${await measureBusyPercent()} % busy before it begins`)
  const dir = temporaryDir()
  const postgresEnv = slowFsync(dir)
  if (postgresEnv === null) return console.log('slow-disk: skipped, because there is no C compiler (cc)')
  for (const slow of [false, true]) {
    const deployment = await Deployment.start({
      dir: join(dir, slow ? 'slow' : 'fast'),
      apis: 1,
      worker: true,
      ...(slow && { postgresEnv }),
    })
    try {
      for (const connections of [64, 256]) await measure(deployment, connections, slow, durationMs)
    } finally {
      await deployment.stop()
    }
  }
}

async function measure(
  deployment: Deployment,
  connections: number,
  slow: boolean,
  durationMs: number,
): Promise<void> {
  const ledger = await deployment.createLedger(`${connections} connections`)
  const plan = planLoad(deployment.urls, [ledger], {
    connections,
    pace: { kind: 'closed' },
    durationMs,
    seed: connections,
  })
  const load = await runLoad(plan)
  const disk = slow ? `fsync + ${SLOW_FSYNC_US / 1_000} ms` : 'fsync as it is'
  console.log(
    `slow-disk: ${disk}, ${connections} connections: ${Math.round(load.achievedPerSecond)} records/s, ` +
      `${formatLatency(load.latency)}; ${formatLoad()}`,
  )
  requireClean('slow-disk', load)
  await checkLedger(deployment.ownerUrl, ledger.ledger)
}
