import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { ConnectError } from '../../../src/db/connect/connect-error.ts'
import { Database } from '../../../src/db/connect/connection.ts'
import { openReadPool, openSearchPool } from '../../../src/db/connect/pools.ts'
import { Reconnects } from '../../../src/db/connect/reconnects.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { until } from '../../helpers/wait.ts'

const LOG = { warn: () => {} }
const REQUESTS = 1_000
const always = () => true

test('after a failure attempts run one at a time, with pauses that double up to a limit', async () => {
  const { reconnects, clock, attempts, fails, refused } = startReconnects()
  await Promise.all([fails('first'), fails('second'), fails('third')])
  assert.equal(attempts(), 3, 'those that were under way together')
  const pausesMs: number[] = []
  for (let i = 0; i < 7; i++) {
    const before = attempts()
    const pausedAt = clock.ms
    while (attempts() === before) {
      clock.ms += 5
      await fails(`probe ${i}`)
    }
    pausesMs.push(clock.ms - pausedAt)
  }
  assert.deepEqual(pausesMs, [20, 40, 80, 160, 320, 500, 500])
  await refused('probe 6')
  clock.ms += 500
  const probe = Promise.withResolvers<string>()
  const probing = reconnects.attempt(() => probe.promise, always)
  await refused('probe 6')
  probe.resolve('connected')
  assert.equal(await probing, 'connected')
  const before = attempts()
  await Promise.all([fails('anew'), fails('anew')])
  assert.equal(attempts(), before + 2, 'nobody waits after a success')
})

test('an error that is not about the database causes no pause', async () => {
  const { reconnects, fails } = startReconnects()
  const failing = () =>
    reconnects.attempt(
      () => Promise.reject(new Error('password')),
      (error) => error.message !== 'password',
    )
  for (let i = 0; i < 3; i++) await assert.rejects(failing(), /password/)
  await fails('down')
  await assert.rejects(failing(), /down/)
})

test('an unreachable database is tried seldom, however many requests need it, and used when it returns', async (t) => {
  const { gate, pools } = await openGated(t)
  gate.isOpen = false
  const awayAtMs = performance.now()
  for (let i = 0; i < REQUESTS; i++) {
    const error = await pools[i % 2]!.query('select').catch((error: Error) => error)
    assert.ok(error instanceof ConnectError)
  }
  // The pauses between attempts are 10, 20, 40, 80 and 160 ms. All further pauses are at least 250 ms.
  const attemptsMax = 6 + (performance.now() - awayAtMs) / 250
  assert.ok(gate.connections <= attemptsMax, `${gate.connections} attempts of ${attemptsMax}`)
  gate.isOpen = true
  await until(() => pools[0]!.query('select').then(always, () => false))
  await pools[1]!.query('select')
})

function startReconnects() {
  const clock = { ms: 0 }
  const reconnects = new Reconnects(
    () => clock.ms,
    () => 1,
  )
  let count = 0
  const attempt = (name: string) =>
    reconnects.attempt(async () => {
      count++
      throw new Error(name)
    }, always)
  return {
    reconnects,
    clock,
    attempts: () => count,
    fails: (name: string) => assert.rejects(attempt(name)),
    refused: (why: string) => assert.rejects(attempt('not asked for'), { message: why }),
  }
}

/** Opens two pools of one database behind a proxy that counts connections. */
async function openGated(t: TestContext) {
  const { apiUrl } = await createTestDatabase(t)
  const target = new URL(apiUrl)
  const gate = { isOpen: true, connections: 0 }
  const server = createServer((client) => {
    client.on('error', () => {})
    gate.connections++
    if (!gate.isOpen) return void client.resetAndDestroy()
    const postgres = connect(Number(target.port), target.hostname)
    postgres.on('error', () => {})
    client.pipe(postgres).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const database = new Database(
    Object.assign(new URL(apiUrl), { port: String((server.address() as AddressInfo).port) }).href,
  )
  const pools = [openReadPool(database, LOG), openSearchPool(database, LOG)]
  t.after(async () => {
    for (const pool of pools) await pool.end()
    server.close()
  })
  return { gate, pools }
}
