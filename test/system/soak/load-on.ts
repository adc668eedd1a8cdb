import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadPlan, Pace } from '../../../bench/load/load.ts'
import type { LoadResult } from '../../../bench/load/tally.ts'
import type { LatencySummary } from '../../../cli/preflight/latencies.ts'
import type { Ledger } from '../deployment/deployment.ts'

type LoadShape = {
  readonly connections: number
  readonly pace: Pace
  readonly durationMs: number
  readonly seed: number
}

/** Plans a load of single records of about 400 bytes, which a separate process sends. */
export function planLoad(urls: readonly string[], ledgers: readonly Ledger[], shape: LoadShape): LoadPlan {
  return {
    targets: urls.map((url) => ({ host: '127.0.0.1', port: Number(new URL(url).port) })),
    connections: shape.connections,
    pace: shape.pace,
    request: {
      bearers: ledgers.map(({ bearer }) => bearer),
      kind: 'record',
      items: 1,
      payloadBytes: 400,
      idempotencyKeys: false,
      seed: shape.seed,
    },
    warmUpMs: 3_000,
    durationMs: shape.durationMs,
    drainMsMax: 5_000,
    sampleEvery: 0,
  }
}

export function formatLatency(latency: LatencySummary): string {
  const ms = (nanoseconds: number) => (nanoseconds / 1e6).toFixed(1)
  const { count, p50, p90, p99, p999, max } = latency
  return `n=${count} p50=${ms(p50)} p90=${ms(p90)} p99=${ms(p99)} p99.9=${ms(p999)} max=${ms(max)} ms`
}

export function requireClean(name: string, load: LoadResult): void {
  const statuses = Object.keys(load.statuses)
  if (statuses.some((status) => status !== '201') || load.unanswered > 0 || load.dropped > 0) {
    const { unanswered, dropped, errors } = load
    throw new Error(`${name}: ${JSON.stringify({ statuses: load.statuses, errors, unanswered, dropped })}`)
  }
}

/** Returns the load of all cores before a run, in percent, because a busy machine affects the measurement. */
export async function measureBusyPercent(): Promise<number> {
  const before = readCpuTimes()
  await sleep(1_000)
  const after = readCpuTimes()
  return Math.round((100 * (after.busy - before.busy)) / (after.total - before.total))
}

function readCpuTimes(): { busy: number; total: number } {
  const all = cpus().flatMap(({ times }) => Object.values(times))
  const total = all.reduce((sum, time) => sum + time, 0)
  const idle = cpus().reduce((sum, { times }) => sum + times.idle, 0)
  return { busy: total - idle, total }
}
