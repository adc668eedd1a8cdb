import { startCannedServer } from './canned-server.ts'
import { runLoad } from './load/load.ts'
import type { Options } from './options.ts'
import { printTable } from './table.ts'

/**
 * Maximum CPU time of the generator per request, in µs. Above this, the generator takes CPU from the server that it
 * measures.
 */
const MICROS_PER_REQUEST_MAX = 16

/** Runs the load generator against a server that does nothing. Returns false if the generator costs too much. */
export async function calibrate(options: Options): Promise<boolean> {
  const server = await startCannedServer()
  const rows: string[][] = []
  let worst = 0
  try {
    for (const connections of options.connections) {
      const { latency, achievedPerSecond, cpu } = await runLoad({
        targets: [{ host: '127.0.0.1', port: server.port }],
        request: {
          bearers: ['tly_calibration'],
          kind: 'record',
          items: 1,
          payloadBytes: options.payloadBytes,
          idempotencyKeys: options.idempotencyKeys,
          seed: options.seed,
        },
        connections,
        pace: options.perSecond === null ? { kind: 'closed' } : arrivals(options.perSecond),
        warmUpMs: options.warmUpMs,
        durationMs: options.durationMs,
        drainMsMax: 5000,
        sampleEvery: 64,
      })
      worst = Math.max(worst, cpu.microsPerRequest)
      const ms = [latency.p50, latency.p99].map((value) => (value / 1e6).toFixed(3))
      rows.push([String(connections), achievedPerSecond.toFixed(0), ...ms, cpu.microsPerRequest.toFixed(2)])
    }
  } finally {
    server.close()
  }
  printTable([['connections', 'requests/s', 'p50 ms', 'p99 ms', 'µs CPU/request'], ...rows])
  return worst <= MICROS_PER_REQUEST_MAX
}

function arrivals(perSecond: number) {
  return { kind: 'arrival', perSecond, backlogMax: Math.ceil(perSecond) } as const
}
