import { setTimeout as sleep } from 'node:timers/promises'
import { runLoad } from '../../../bench/load-process.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { Deployment, type Ledger } from '../faults/deployment.ts'
import { formatLoad } from '../faults/kill.ts'
import { formatLatency, measureBusyPercent, planLoad, requireClean } from './load-on.ts'

const PROBES_PER_SECOND = 50
const LOAD_CONNECTIONS = 128
/** DESIGN: one ledger at full load leaves another's p99 within so many times its idle p99. */
const RATIO_MAX = 3

/**
 * A probe writes to one ledger at a low constant rate, its latency counted from when each record was due; first
 * alone, then while another ledger is loaded as fast as it goes. Load and probe are processes of their own.
 */
export async function isolation(durationMs: number): Promise<void> {
  console.log(`isolation: the machine is ${await measureBusyPercent()} % busy before it begins`)
  const deployment = await Deployment.start({ dir: temporaryDir(), apis: 2, worker: true })
  try {
    const [busy, quiet] = await deployment.createLedgers(2)
    // Both ledgers' rows, both processes' code and plans are warm before anything is measured.
    await load(deployment, busy!, 3_000)
    const idle = await probe(deployment, quiet!, durationMs, 'idle')
    const loading = load(deployment, busy!, durationMs + 4_000)
    await sleep(1_500)
    const loaded = await probe(deployment, quiet!, durationMs, 'loaded')
    const { achievedPerSecond, latency } = await loading
    console.log(
      `isolation: the loaded ledger: ${Math.round(achievedPerSecond)} records/s, ${formatLatency(latency)}`,
    )
    const ratio = loaded / idle
    console.log(`isolation: p99 loaded / idle = ${ratio.toFixed(2)} (at most ${RATIO_MAX})`)
    if (ratio > RATIO_MAX) process.exitCode = 1
  } finally {
    await deployment.stop()
  }
}

function load(deployment: Deployment, ledger: Ledger, durationMs: number) {
  const shape = {
    connections: LOAD_CONNECTIONS,
    pace: { kind: 'closed' },
    durationMs,
    seed: durationMs,
  } as const
  return runLoad(planLoad(deployment.urls, [ledger], shape))
}

/** Answers the p99 in nanoseconds. */
async function probe(
  deployment: Deployment,
  ledger: Ledger,
  durationMs: number,
  name: string,
): Promise<number> {
  const pace = { kind: 'arrival', perSecond: PROBES_PER_SECOND, backlogMax: 1_000 } as const
  const plan = planLoad(deployment.urls, [ledger], { connections: 16, pace, durationMs, seed: name.length })
  const result = await runLoad(plan)
  console.log(`isolation: the other ledger, ${name}: ${formatLatency(result.latency)}; ${formatLoad()}`)
  console.log(
    `  counted from sending, without what the probe itself was late: ${formatLatency(result.service)}`,
  )
  requireClean(`isolation, ${name}`, result)
  return result.latency.p99
}
