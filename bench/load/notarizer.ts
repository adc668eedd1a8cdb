import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Tallystick } from '../../sdk/index.ts'
import { openSpool } from '../../sdk/node/spool.ts'
import type { Target } from './connection.ts'
import { makeJob, type Times, type WindowEdge } from './job.ts'
import { randomFrom } from './random.ts'
import { makeOrder } from './requests.ts'
import { type LoadResult, measure, Tally } from './tally.ts'

export type NotarizerPlan = Times & {
  readonly target: Target
  readonly bearer: string
  readonly spool: boolean
  readonly inFlightMax: number
  readonly recordsPerBatchMax: number
  readonly payloadBytes: number
  readonly seed: number
}

const TEMPLATES = 64
/** One in 500 records is used to measure the time from the call of `record` until the record is in the ledger. */
const TAG_EVERY = 500
/**
 * Maximum size of the spool in bytes. A spool accepts records faster than the server, so without a limit the producer
 * would fill the disk.
 */
const SPOOL_BYTES_MAX = 16 * 1024 * 1024

async function loadByNotarizer(plan: NotarizerPlan, onEdge: (edge: WindowEdge) => void): Promise<LoadResult> {
  const spoolDir = plan.spool ? mkdtempSync(join(tmpdir(), 'tallystick-bench-spool-')) : null
  const tally = new Tally()
  const { host, port } = plan.target
  const tallystick = new Tallystick({ baseUrl: `http://${host}:${port}`, apiKey: plan.bearer })
  const notarizer = tallystick.notarizer({
    ...(spoolDir !== null && { spool: await openSpool(spoolDir, { bytesMax: SPOOL_BYTES_MAX }) }),
    inFlightMax: plan.inFlightMax,
    recordsPerBatchMax: plan.recordsPerBatchMax,
    onRecorded({ records }) {
      tally.answer(201)
      tally.sent++
      tally.acknowledge(records.length)
      tally.achieve(records.length)
      if (!tally.isMeasuring) return
      tally.measured.offered++
      for (const { tag } of records) {
        if (tag === undefined) continue
        tally.latency.record(performance.now() - Number(tag))
        tally.service.record(performance.now() - Number(tag))
      }
    },
    onError() {
      tally.sent++
      tally.lose(false, 'failed')
    },
  })
  let producer: Producer
  const generator = {
    start() {
      producer = startProducer(notarizer, plan)
    },
    stop: () => producer.stop(),
    async drain(msMax: number) {
      const taken = await producer.taken
      await notarizer.close({ timeoutMs: msMax })
      const recorded = tally.acknowledgedItems
      if (recorded !== taken) throw new Error(`${taken} records were accepted, but ${recorded} recorded`)
    },
  }
  await measure(tally, generator, plan, onEdge)
  if (spoolDir !== null) rmSync(spoolDir, { recursive: true })
  return tally.result('closed loop')
}

type Notarizer = ReturnType<Tallystick['notarizer']>

type Producer = { readonly taken: Promise<number>; stop(): void }

/** Starts a producer that records in a loop, as the README shows. */
function startProducer(notarizer: Notarizer, { payloadBytes, seed }: NotarizerPlan): Producer {
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
  return {
    taken: produce(),
    stop() {
      stopping = true
    },
  }
}

/** Runs an agent in a separate process. The agent records as fast as it can. */
export const runNotarizer = makeJob(import.meta.url, loadByNotarizer)
