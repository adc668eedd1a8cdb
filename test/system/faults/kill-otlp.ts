import { setTimeout as sleep } from 'node:timers/promises'
import { withClient } from '../../../src/db/connect/client.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { listPayloads } from '../../helpers/batch-records.ts'
import { agentLogs, agentRun, encodeLogs, encodeSpans } from '../../helpers/otlp.ts'
import { Deployment, type Ledger } from '../deployment/deployment.ts'
import { checkLedger } from './ledger-contents.ts'

type Plan = {
  readonly exporters: number
  readonly victims: readonly ('api' | 'postgres')[]
  readonly workMs: { readonly min: number; readonly max: number }
}

/** Counts of spans and logs. `lost`, `doubled` and `ghosts` must be 0. */
export type OtlpReckoning = {
  readonly spans: number
  readonly logs: number
  readonly lost: number
  readonly doubled: number
  /** Number of spans and logs in the ledger that were not sent. */
  readonly ghosts: number
  readonly entries: number
  readonly ends: Readonly<Record<string, number>>
}

/**
 * Kills the server and its Postgres while exporters send. Each exporter repeats a request until it is accepted. Then
 * every span and log is counted.
 */
export async function killOtlp(dir: string, plan: Plan): Promise<OtlpReckoning> {
  const deployment = await Deployment.start({ dir, apis: 1, worker: true })
  const stop = new AbortController()
  const exporters: Exporter[] = []
  let working: Promise<unknown> = Promise.resolve()
  try {
    const ledger = await deployment.createLedger('exporters')
    for (let i = 0; i < plan.exporters; i++) exporters.push(new Exporter(deployment.urls[0]!, ledger, `${i}`))
    working = Promise.all(exporters.map((exporter) => exporter.run(stop.signal)))
    for (const victim of plan.victims) {
      await sleep(plan.workMs.min + Math.random() * (plan.workMs.max - plan.workMs.min))
      if (victim === 'api') {
        await deployment.killApi(0)
        await deployment.startApi(0)
      } else {
        await deployment.killPostgres('server')
        await deployment.startPostgres()
      }
    }
    await sleep(plan.workMs.min)
    stop.abort()
    await working
    deployment.requireAlive()
    const stored = await readStored(deployment.ownerUrl, ledger)
    return {
      ...reckon(exporters, stored),
      entries: await checkLedger(deployment.ownerUrl, ledger.ledger),
      ends: countEnds(exporters),
    }
  } finally {
    stop.abort()
    for (const exporter of exporters) exporter.giveUp()
    await working.catch(() => {})
    await deployment.stop()
  }
}

const CALLS = 3
const LOGS = 3
/** Attribute that identifies a log. The attribute is metadata, so it is stored as it is and not as a digest. */
const LOG_ID = 'gen_ai.response.id'
/** Maximum time in ms to wait for an answer, because the server may be gone. */
const ANSWER_MS_MAX = 30_000
const PAUSE_MS = 20

/**
 * Sends runs of an agent one after another. Each request also repeats the spans of the request before, like the groups
 * of a collector.
 */
class Exporter {
  readonly spans = new Set<string>()
  readonly logs = new Set<string>()
  readonly ends: string[] = []
  readonly #url: string
  readonly #bearer: string
  readonly #name: string
  readonly #givenUp = new AbortController()

  constructor(url: string, { bearer }: Ledger, name: string) {
    this.#url = url
    this.#bearer = bearer
    this.#name = name
  }

  async run(stop: AbortSignal): Promise<void> {
    let before: ReturnType<typeof agentRun> = []
    for (let i = 0; !stop.aborted; i++) {
      const id = `${this.#name}-${i}`
      const spans = agentRun(Array.from({ length: CALLS }, () => 'refund'))
      const logs = agentLogs(
        Array.from({ length: LOGS }, (_, n) => ({
          eventName: 'gen_ai.evaluation.result',
          attributes: { 'session.id': this.#name, [LOG_ID]: `${id}-${n}` },
        })),
      )
      for (const span of spans) this.spans.add(span.spanContext().spanId)
      for (const { attributes } of logs) this.logs.add(String(attributes[LOG_ID]))
      await this.#send('traces', encodeSpans([...before, ...spans]))
      await this.#send('logs', encodeLogs(logs))
      if (i % 4 === 0) await this.#send('logs', encodeLogs(logs))
      before = spans
    }
  }

  giveUp(): void {
    this.#givenUp.abort()
  }

  /** Sends the body until it is accepted. Throws if it is refused permanently. */
  async #send(signal: string, body: Buffer): Promise<void> {
    for (;;) {
      this.#givenUp.signal.throwIfAborted()
      const end = await this.#post(signal, body)
      this.ends.push(end)
      if (end === '200') return
      if (/^4/.test(end) && end !== '429') throw new Error(`${signal} were answered ${end}`)
      await sleep(PAUSE_MS)
    }
  }

  async #post(signal: string, body: Buffer): Promise<string> {
    try {
      const answer = await fetch(`${this.#url}/v1/${signal}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.#bearer}`, 'content-type': 'application/x-protobuf' },
        body: new Uint8Array(body),
        signal: AbortSignal.any([AbortSignal.timeout(ANSWER_MS_MAX), this.#givenUp.signal]),
      })
      await answer.arrayBuffer()
      return String(answer.status)
    } catch (error) {
      const { cause, name } = error as Error
      return (cause as { code?: string } | undefined)?.code ?? name
    }
  }
}

type Stored = { readonly spanId?: string; readonly attributes: { readonly [LOG_ID]?: string } }

async function readStored(url: string, { ledger }: Ledger): Promise<Stored[]> {
  return withClient(url, async (client) => {
    const stored = await listPayloads(client, parseId('led', ledger))
    return stored.map(({ payload }) => JSON.parse(payload) as Stored)
  })
}

function reckon(exporters: readonly Exporter[], stored: readonly Stored[]) {
  const spans = exporters.flatMap((exporter) => [...exporter.spans])
  const logs = exporters.flatMap((exporter) => [...exporter.logs])
  const times = new Map([...spans, ...logs].map((id) => [id, 0]))
  let ghosts = 0
  for (const { spanId, attributes } of stored) {
    const id = attributes[LOG_ID] ?? spanId ?? ''
    const seen = times.get(id)
    if (seen === undefined) ghosts++
    else times.set(id, seen + 1)
  }
  const counts = [...times.values()]
  return {
    spans: spans.length,
    logs: logs.length,
    lost: counts.filter((count) => count === 0).length,
    doubled: counts.filter((count) => count > 1).length,
    ghosts,
  }
}

function countEnds(exporters: readonly Exporter[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const end of exporters.flatMap(({ ends }) => ends)) counts[end] = (counts[end] ?? 0) + 1
  return counts
}

export function formatOtlpReckoning(r: OtlpReckoning): string {
  const ends = Object.entries(r.ends).map(([end, count]) => `${end}=${count}`)
  return (
    `spans=${r.spans} logs=${r.logs} lost=${r.lost} doubled=${r.doubled} ghosts=${r.ghosts} ` +
    `entries=${r.entries} verified; requests: ${ends.join(' ')}`
  )
}

/** Returns true if requests were in progress when their server was killed. A refused connection does not show that. */
export function hasHit({ ends }: OtlpReckoning): boolean {
  return Object.keys(ends).some((end) => end !== '200' && end !== 'ECONNREFUSED')
}
