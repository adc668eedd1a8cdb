import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type LatencySummary, makeLatencies, summarize } from '../cli/preflight/latencies.ts'
import { makeJob, type Times, type WindowEdge } from './load/job.ts'
import { randomFrom } from './load/random.ts'
import { makePayload } from './load/requests.ts'

type ReferencePlan = Times & {
  readonly databaseUrl: string
  readonly connections: number
  readonly payloadBytes: number
}

export type ReferenceResult = {
  readonly connections: number
  readonly rowsPerSecond: number
  readonly latency: LatencySummary
}

const PAYLOADS = 64

async function insertRows(plan: ReferencePlan, onEdge: (edge: WindowEdge) => void): Promise<ReferenceResult> {
  const clients = await connectAll(plan)
  await clients[0]!.query(`create table if not exists bench_reference (
    id uuid primary key, recorded_at timestamptz not null default now(), payload bytea not null)`)
  const random = randomFrom(1)
  const payloads = Array.from({ length: PAYLOADS }, () => Buffer.from(makePayload(plan.payloadBytes, random)))
  const latencies = makeLatencies()
  let measuring = false
  let stopped = false
  const loop = async (client: pg.Client) => {
    for (let n = 0; !stopped; n++) {
      const values = [randomBytes(16), payloads[n % PAYLOADS]]
      const beganAt = performance.now()
      await client.query({
        name: 'bench_reference',
        text: 'insert into bench_reference (id, payload) values ($1, $2)',
        values,
      })
      if (measuring) latencies.record(performance.now() - beganAt)
    }
  }
  const loops = clients.map(loop)
  await sleep(plan.warmUpMs)
  onEdge('measure')
  const beganAt = performance.now()
  measuring = true
  await sleep(plan.durationMs)
  measuring = false
  const seconds = (performance.now() - beganAt) / 1000
  onEdge('measured')
  stopped = true
  await Promise.all(loops)
  await clients[0]!.query('drop table bench_reference')
  await Promise.all(clients.map((client) => client.end()))
  const latency = summarize(latencies)
  return { connections: clients.length, rowsPerSecond: latency.count / seconds, latency }
}

async function connectAll(plan: ReferencePlan): Promise<pg.Client[]> {
  return Promise.all(
    Array.from({ length: plan.connections }, async () => {
      const client = new pg.Client({ connectionString: plan.databaseUrl })
      await client.connect()
      return client
    }),
  )
}

/**
 * Measures the same Postgres without Tallystick, without HTTP and without a chain. Inserts one unsigned row with the
 * same payload per transaction. Uses the same number of connections, and the same driver with binary parameters.
 */
export const runReference = makeJob(import.meta.url, insertRows)
