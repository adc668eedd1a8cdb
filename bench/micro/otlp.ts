/*
 * npm run bench -- otlp [--windows 4] [--seconds 5] [--embedded] [--floods [--only NAMES]]
 *
 * `--floods`: measures how much the traces or the large resource of one ledger delay other ledgers (otlp-floods.ts).
 *
 * Otherwise it compares spans by OTLP with the same records in batches. The two alternate, so that other load on the
 * machine affects both. It also measures the CPU time per span, which depends less on other load. Each request is one
 * trace of 500 spans with ten attributes.
 */
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { OTLP_SETTINGS_DEFAULT } from '../../src/ledgers/otlp-settings.ts'
import { itemsOf } from '../../src/records/otlp/items.ts'
import { TRACES } from '../../src/records/otlp/messages.ts'
import { readProtobuf } from '../../src/records/otlp/read-protobuf.ts'
import { openDatabase } from '../database.ts'
import { describeCommit } from '../report.ts'
import { deploy, startSystem } from '../system.ts'
import { printTable } from '../table.ts'
import { takeCpuSnapshot } from '../watch/cpu.ts'
import { runFloods } from './otlp-floods.ts'

const SPANS = 500
const CLIENTS = 8
/**
 * Placeholder for hex digits that each request replaces by its own number: all digits of the trace id, and the first
 * digits of each span id.
 */
const TRACE = 'f00df00df00df00df00df00d00000000'
const SPAN = 'f00df00df00d'

const { values } = parseArgs({
  options: {
    floods: { type: 'boolean', default: false },
    only: { type: 'string' },
    windows: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '5' },
    embedded: { type: 'boolean', default: false },
  },
})

type Way = {
  readonly name: string
  readonly path: string
  readonly type: string
  readonly gzip?: boolean
  body(number: number): Uint8Array | string
}

type Window = { readonly rate: number; readonly serverUs: number; readonly postgresUs: number }

const request = encodeRequest()
const records = JSON.stringify({
  records: itemsOf('traces', readProtobuf(request, TRACES), {
    settings: OTLP_SETTINGS_DEFAULT,
    subjectSalt: new Uint8Array(32),
    known: new Map(),
  }).items.map(({ record }) => ({
    ...record,
    payload: JSON.parse((record.payload as { text: string }).text),
  })),
})
const WAYS: Way[] = [
  { name: 'batches', path: '/v1/records/batch', type: 'application/json', body: batchBody },
  { name: 'OTLP', path: '/v1/traces', type: 'application/x-protobuf', body: otlpBody },
  {
    ...{ name: 'OTLP, gzip', path: '/v1/traces', type: 'application/x-protobuf', gzip: true },
    body: (number) => gzipSync(otlpBody(number), { level: 1 }),
  },
]

const database = await openDatabase(
  { databaseUrl: process.env['DATABASE_URL'], embedded: values.embedded },
  console.log,
)
if (values.floods) {
  const options = { windows: Number(values.windows), seconds: Number(values.seconds), only: values.only }
  await runFloods(database, options).finally(() => database.close())
  process.exit(0)
}
const deployment = await deploy(database.ownerUrl)
const system = await startSystem(deployment, { servers: 1, worker: true, inspect: false })
try {
  console.log(`${describeCommit()}, Node ${process.version}, Postgres ${database.postgres}`)
  console.log(`${SPANS} spans a request: ${records.length} bytes as a batch, ${request.length} as OTLP`)
  let number = 1
  const found = new Map(WAYS.map(({ name }) => [name, [] as Window[]]))
  for (let window = -1; window < Number(values.windows); window++)
    for (const way of WAYS) {
      const measured = await measure(way, Number(values.seconds))
      if (window >= 0) found.get(way.name)!.push(measured)
    }
  const rows = Array.from(found, ([name, all]) => ({
    name,
    rates: all.map(({ rate }) => Math.round(rate)),
    rate: median(all.map(({ rate }) => rate)),
    server: median(all.map(({ serverUs }) => serverUs)),
    postgres: median(all.map(({ postgresUs }) => postgresUs)),
  }))
  printTable([
    ['', 'spans/s', 'of batches', 'CPU of the server, us a span', 'of Postgres', 'windows, spans/s'],
    ...rows.map(({ name, rates, rate, server, postgres }) => [
      name,
      Math.round(rate).toLocaleString('en'),
      `${Math.round((100 * rate) / rows[0]!.rate)} %`,
      server.toFixed(1),
      postgres.toFixed(1),
      rates.join(' '),
    ]),
  ])

  function cpuSeconds() {
    const processes = { server: system.servers.map(({ pid }) => pid) }
    return takeCpuSnapshot({ processes, postmaster: database.postmaster }).seconds
  }

  async function measure(way: Way, seconds: number): Promise<Window> {
    const { host, port } = system.targets[0]!
    // The bodies are made beforehand, so that the clients spend their time on sending.
    const bodies = Array.from({ length: 60 * seconds }, () => way.body(number++))
    const before = cpuSeconds()
    const beganAt = performance.now()
    let done = 0
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        for (
          let body = bodies.pop();
          body && performance.now() - beganAt < seconds * 1_000;
          body = bodies.pop()
        ) {
          const headers = {
            authorization: `Bearer ${system.bearer}`,
            'content-type': way.type,
            ...(way.gzip && { 'content-encoding': 'gzip' }),
          }
          const answer = await fetch(`http://${host}:${port}${way.path}`, {
            ...{ method: 'POST', headers },
            body: body as string,
          })
          const text = await answer.text()
          if (!answer.ok) throw new Error(`${way.path} answered ${answer.status}: ${text}`)
          done += SPANS
        }
      }),
    )
    if (bodies.length === 0) console.log(`${way.name}: all bodies were sent before the window ended`)
    const after = cpuSeconds()
    const usOf = (name: string) => (1e6 * (after[name]! - before[name]!)) / done
    return {
      rate: done / ((performance.now() - beganAt) / 1_000),
      serverUs: usOf('server'),
      postgresUs: usOf('postgres'),
    }
  }
} finally {
  await system.stop()
  deployment.close()
  await database.close()
}

function batchBody(number: number): string {
  const hex = number.toString(16)
  return records.replaceAll(TRACE, hex.padStart(32, '0')).replaceAll(SPAN, hex.padStart(12, '0'))
}

function otlpBody(number: number): Uint8Array {
  const body = Buffer.from(request)
  for (const [digits, marker] of [
    [32, TRACE],
    [12, SPAN],
  ] as const) {
    const sought = Buffer.from(marker, 'hex')
    const mine = Buffer.from(number.toString(16).padStart(digits, '0'), 'hex')
    for (let at = body.indexOf(sought); at >= 0; at = body.indexOf(sought, at + 1)) mine.copy(body, at)
  }
  return body
}

function encodeRequest(): Uint8Array {
  const spans = Array.from({ length: SPANS }, (_, i) => {
    const spanId = SPAN + i.toString(16).padStart(4, '0')
    const at = [1_790_000_000 + i, 5_000_000]
    return {
      ...{ name: 'execute_tool search', kind: 0, startTime: at, endTime: at, duration: [0, 0], ended: true },
      spanContext: () => ({ traceId: TRACE, spanId, traceFlags: 1 }),
      parentSpanContext: { traceId: TRACE, spanId: `${SPAN}ffff`, traceFlags: 1 },
      status: { code: 1 },
      attributes: {
        'gen_ai.agent.id': 'billing',
        'gen_ai.conversation.id': 'c-17',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.provider.name': 'example',
        'gen_ai.tool.call.arguments': `{"query":"price of tin ${i}"}`,
        'gen_ai.tool.call.id': `call_${SPAN}${i}`,
        'gen_ai.tool.name': 'search',
        'gen_ai.usage.input_tokens': 1_000 + i,
        'gen_ai.usage.output_tokens': 7 * i,
        'server.address': 'mcp.example.com',
      },
      ...{ events: [], links: [], droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
      resource: resourceFromAttributes({
        'service.name': 'agents',
        'service.version': '1.0',
        'host.name': 'h1',
      }),
      instrumentationScope: { name: 'agents', version: '2.0' },
    } as unknown as ReadableSpan
  })
  return ProtobufTraceSerializer.serializeRequest(spans)!
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}
