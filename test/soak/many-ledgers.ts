import { runLoad } from '../../bench/load-process.ts'
import { Deployment } from '../faults/deployment.ts'
import { formatLoad } from '../faults/kill.ts'
import { checkLedger } from '../faults/ledger-contents.ts'
import { temporaryDir } from '../helpers/postgres.ts'
import { formatLatency, measureBusyPercent, planLoad, requireClean } from './load-on.ts'
import { SLOW_FSYNC_US, slowFsync } from './slow-fsync.ts'

const LEDGERS = 200

/** Rate and latency where every request is for another of many ledgers, beside one ledger, on this disk and on a slow one. */
export async function manyLedgers(durationMs: number): Promise<void> {
  console.log(`many-ledgers: the machine is ${await measureBusyPercent()} % busy before it begins`)
  const dir = temporaryDir()
  const slow = slowFsync(dir)
  for (const [disk, postgresEnv] of [
    ['fsync as it is', undefined],
    [`fsync + ${SLOW_FSYNC_US / 1_000} ms`, slow],
  ] as const) {
    if (postgresEnv === null)
      return console.log('many-ledgers: no slow disk, because there is no C compiler (cc)')
    const deployment = await Deployment.start({
      dir: dir + (postgresEnv ? '/slow' : '/fast'),
      apis: 1,
      worker: true,
      ...(postgresEnv && { postgresEnv }),
    })
    try {
      for (const ledgers of [1, LEDGERS])
        for (const connections of [64, 256])
          await measure(deployment, { disk, ledgers, connections, durationMs })
    } finally {
      await deployment.stop()
    }
  }
}

async function measure(
  deployment: Deployment,
  {
    disk,
    ledgers,
    connections,
    durationMs,
  }: Record<'ledgers' | 'connections' | 'durationMs', number> & { disk: string },
): Promise<void> {
  const made = []
  for (let i = 0; i < ledgers; i++)
    made.push(await deployment.createLedger(`${connections} connections, ${i}`))
  const pace = { kind: 'closed' } as const
  const load = await runLoad(
    planLoad(deployment.urls, made, { connections, pace, durationMs, seed: connections }),
  )
  console.log(
    `many-ledgers: ${disk}, ${ledgers} ledger(s), ${connections} connections: ` +
      `${Math.round(load.achievedPerSecond)} records/s, ${formatLatency(load.latency)}; ${formatLoad()}`,
  )
  requireClean('many-ledgers', load)
  for (const { ledger } of made) await checkLedger(deployment.ownerUrl, ledger)
}
