import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { TRACE_CLOSE_MS_MAX } from '../../../src/observe/limits.ts'
import { createTestDatabase, TEST_MASTER_KEY, type TestDatabase } from '../../helpers/database.ts'
import { freePort } from '../../helpers/free-port.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { newCaller, startCollector } from '../../observe/tracing/collector.ts'
import { environmentOf, OPERATOR_KEY } from '../deployment/environment.ts'
import { type PartName, startPart } from '../deployment/part.ts'
import { PROJECT_DIR } from '../deployment/product-process.ts'

const RECORDER = join(PROJECT_DIR, 'test', 'observe', 'tracing', 'record-modules.mjs')

/** Starts a process as an operator does, with `environment` added to the minimum. */
async function start(name: PartName, database: TestDatabase, environment: Record<string, string> = {}) {
  const dataDir = temporaryDir()
  const modules = join(dataDir, 'modules')
  const env = environmentOf(
    { ...database, dataDir, masterKey: TEST_MASTER_KEY },
    {
      TALLYSTICK_PORT: await freePort(),
      TALLYSTICK_DRAIN_SECONDS: '0',
      RECORDED_MODULES: modules,
      ...environment,
    },
  )
  const part = await startPart(name, { env, log: join(dataDir, 'log'), nodeArgs: ['--import', RECORDER] })
  return {
    url: part.url!,
    output: () => part.process!.said(),
    /**
     * Returns the names of the loaded OpenTelemetry packages. The API package is left out, because the metrics code
     * loads it.
     */
    openTelemetry: () =>
      new Set(readFileSync(modules, 'utf8').match(/(?<=@opentelemetry\/)(?!api\/)[^/]+/g) ?? []),
    async stop() {
      const startedAt = performance.now()
      const code = await part.end('SIGTERM')
      return { code, ms: performance.now() - startedAt }
    },
  }
}

type Started = Awaited<ReturnType<typeof start>>

async function makeLedger({ url }: Started, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/v1/ledgers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${OPERATOR_KEY}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ name: 'traced' }),
  })
  assert.equal(response.status, 201)
  return ((await response.json()) as { key: { key: string } }).key.key
}

test('tracing of processes', async (t) => {
  const database = await createTestDatabase(t)

  await t.test('a server without an endpoint loads no module of OpenTelemetry', async () => {
    const server = await start('api', database)
    await makeLedger(server)
    assert.deepEqual(server.openTelemetry(), new Set())
    assert.equal((await server.stop()).code, 0)
  })

  await t.test('a worker without an endpoint loads no module of OpenTelemetry', async () => {
    const worker = await start('worker', database)
    assert.deepEqual(worker.openTelemetry(), new Set())
    await worker.stop()
  })

  await t.test('a stopping server sends its spans first', async (t) => {
    const collector = await startCollector(t)
    const server = await start('api', database, collector.environment)
    assert.ok(server.openTelemetry().has('sdk-trace'))
    const caller = newCaller()
    await makeLedger(server, caller.headers)
    const { code, ms } = await server.stop()
    assert.equal(code, 0)
    assert.ok(ms < TRACE_CLOSE_MS_MAX, `${ms} ms`)
    const [span] = collector.spans.filter(({ traceId }) => traceId === caller.traceId)
    assert.equal(span!.name, 'POST /v1/ledgers')
    assert.equal(span!.attributes['http.response.status_code'], 201)
  })

  await t.test(
    'a collector that hangs slows no request, and delays a shutdown only up to a bound',
    async (t) => {
      const hanging = await startCollector(t, () => {})
      const server = await start('api', database, hanging.environment)
      const key = await makeLedger(server)
      const notarize = async () => {
        const startedAt = performance.now()
        const response = await fetch(`${server.url}/v1/records`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: '{"type":"generic/1","payload":{}}',
        })
        await response.text()
        assert.equal(response.status, 201)
        return performance.now() - startedAt
      }
      // Each request makes three spans. All requests together make more spans than one export takes, and the first export
      // hangs for 10 s.
      const latencies: number[] = []
      for (let i = 0; i < 20; i++)
        latencies.push(...(await Promise.all(Array.from({ length: 20 }, () => notarize()))))
      assert.ok(Math.max(...latencies) < 5_000, `${Math.max(...latencies)} ms`)
      const { code, ms } = await server.stop()
      assert.equal(code, 0)
      assert.ok(ms < TRACE_CLOSE_MS_MAX + 2_000, `${ms} ms`)
      assert.match(server.output(), /"reason":"closed","spans":\d+,"msg":"spans were lost/)
    },
  )

  await t.test('a client that disconnects ends its span with the error aborted', async (t) => {
    const collector = await startCollector(t)
    const server = await start('api', database, collector.environment)
    const key = await makeLedger(server)
    const caller = newCaller()
    const tail = request(`${server.url}/v1/events`, {
      headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream', ...caller.headers },
    }).end()
    tail.on('error', () => {})
    const [answer] = await once(tail, 'response')
    assert.equal(answer.statusCode, 200)
    await sleep(50)
    // The client resets the connection. Otherwise the server may assume that the client still reads (RFC 9112 §9.6).
    answer.socket.resetAndDestroy()
    const [span] = await collector.ofTrace(caller.traceId, 1)
    assert.equal(span!.attributes['error.type'], 'aborted')
    assert.equal(span!.attributes['http.response.status_code'], 200)
    assert.ok(span!.endedAtMs - span!.startedAtMs >= 50)
    await server.stop()
  })

  await t.test('a malformed configuration is logged as a warning, and the server starts', async (t) => {
    const collector = await startCollector(t)
    const server = await start('api', database, {
      ...collector.environment,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    })
    assert.match(server.output(), /OTEL_EXPORTER_OTLP_PROTOCOL/)
    await server.stop()
  })
})
