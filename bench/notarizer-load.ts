import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeLatencies, summarize } from '../cli/preflight/latencies.ts'
import { Tallystick } from '../sdk/index.ts'
import { openSpool } from '../sdk/node/spool.ts'
import { runJob, serveJob, type WindowEdge, type WindowEvents } from './child.ts'
import { type LoadResult, processCpuMicros } from './load.ts'
import type { Target } from './load-connection.ts'
import { randomFrom } from './random.ts'
import { makeOrder } from './requests.ts'

export type NotarizerPlan = {
  readonly target: Target
  readonly bearer: string
  readonly spool: boolean
  readonly inFlightMax: number
  readonly recordsPerBatchMax: number
  readonly payloadBytes: number
  readonly seed: number
  readonly warmUpMs: number
  readonly durationMs: number
  readonly drainMsMax: number
}

const GRACE_MS = 15_000
const TEMPLATES = 64
/** One record in so many tells how long it took from `record` to the ledger. */
const TAG_EVERY = 500
/** A spool takes what the server can't keep up with, and the producer would take the machine from it. */
const SPOOL_BYTES_MAX = 16 * 1024 * 1024

/** An agent that records as fast as it may, in a process of its own. */
export function runNotarizer(plan: NotarizerPlan, events: WindowEvents = {}): Promise<LoadResult> {
  return runJob(import.meta.url, plan, plan.warmUpMs + plan.durationMs + plan.drainMsMax + GRACE_MS, events)
}

serveJob<NotarizerPlan, LoadResult>(import.meta.url, loadByNotarizer)

async function loadByNotarizer(plan: NotarizerPlan, onEdge: (edge: WindowEdge) => void): Promise<LoadResult> {
  const spoolDir = plan.spool ? mkdtempSync(join(tmpdir(), 'tallystick-bench-spool-')) : null
  const counts = { batches: 0, items: 0, measuring: false, achieved: 0, achievedItems: 0, failures: 0 }
  const latency = makeLatencies()
  const { host, port } = plan.target
  const tallystick = new Tallystick({ baseUrl: `http://${host}:${port}`, apiKey: plan.bearer })
  const notarizer = tallystick.notarizer({
    ...(spoolDir !== null && { spool: await openSpool(spoolDir, { bytesMax: SPOOL_BYTES_MAX }) }),
    inFlightMax: plan.inFlightMax,
    recordsPerBatchMax: plan.recordsPerBatchMax,
    onRecorded({ records }) {
      counts.batches++
      counts.items += records.length
      if (!counts.measuring) return
      counts.achieved++
      counts.achievedItems += records.length
      for (const { tag } of records) if (tag !== undefined) latency.record(performance.now() - Number(tag))
    },
    onError: () => void counts.failures++,
  })
  const producer = startProducer(notarizer, plan)
  await sleep(plan.warmUpMs)
  const cpuBefore = processCpuMicros()
  const beganAt = performance.now()
  counts.measuring = true
  onEdge('measure')
  await sleep(plan.durationMs)
  counts.measuring = false
  const measuredMs = performance.now() - beganAt
  const cpuMicros = processCpuMicros() - cpuBefore
  onEdge('measured')
  const taken = await producer.stop()
  await notarizer.close({ timeoutMs: plan.drainMsMax })
  if (spoolDir !== null) rmSync(spoolDir, { recursive: true })
  const { batches, items, achieved, achievedItems } = counts
  if (items !== taken) throw new Error(`${taken} records were taken, and ${items} recorded`)
  return {
    pace: 'closed loop',
    measuredMs,
    offered: achieved,
    achieved,
    achievedPerSecond: achieved / (measuredMs / 1000),
    itemsPerSecond: achievedItems / (measuredMs / 1000),
    latency: summarize(latency),
    service: summarize(latency),
    refusals: summarize(makeLatencies()),
    refusalsService: summarize(makeLatencies()),
    acknowledged: batches,
    acknowledgedItems: items,
    sent: batches + counts.failures,
    unanswered: 0,
    dropped: 0,
    backlogHighest: 0,
    statuses: { '201': batches },
    errors: counts.failures > 0 ? { failed: counts.failures } : {},
    samples: [],
    cpu: { microsPerRequest: cpuMicros / Math.max(1, achieved), coreShare: cpuMicros / 1000 / measuredMs },
  }
}

type Notarizer = ReturnType<Tallystick['notarizer']>

/** The hot loop that the README shows. */
function startProducer(
  notarizer: Notarizer,
  { payloadBytes, seed }: NotarizerPlan,
): { stop(): Promise<number> } {
  const random = randomFrom(seed)
  const orders = Array.from({ length: TEMPLATES }, () => makeOrder(payloadBytes, random))
  let taken = 0
  let stopping = false
  const produce = async () => {
    while (!stopping) {
      await notarizer.ready
      const tag = taken % TAG_EVERY === 0 ? { tag: `${performance.now()}` } : {}
      notarizer.record({ ...orders[taken % TEMPLATES]!, callId: `call_${seed}_${taken}` }, tag)
      taken++
    }
    return taken
  }
  const produced = produce()
  return {
    stop() {
      stopping = true
      return produced
    },
  }
}
