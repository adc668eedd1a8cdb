import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseLines } from '../../helpers/app.ts'
import { endsWithTests } from '../../helpers/children.ts'
import { connect } from '../../helpers/connect.ts'
import {
  createTestDatabase,
  TEST_MASTER_KEY,
  TEST_PASSWORDS,
  type TestDatabase,
} from '../../helpers/database.ts'
import { freePort } from '../../helpers/free-port.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { until } from '../../helpers/wait.ts'
import { startReceiver } from '../../helpers/webhook-receiver.ts'
import { environmentOf, OPERATOR_KEY } from '../deployment/environment.ts'
import { ProductProcess } from '../deployment/product-process.ts'

const SCRIPTS = ['server', 'worker'] as const
const PATIENCE_MS = 30_000
/** A private text. It is in payloads, headers, URLs and answers of other servers. */
const PRIVATE = 'hunter2-of-a-client'
const MASTER_KEY_HEX = Buffer.from(TEST_MASTER_KEY).toString('hex')

test('server and worker at the most verbose level log no secret, also in errors', async (t) => {
  const database = await createTestDatabase(t)
  const port = await freePort()
  const running = SCRIPTS.map((script) => run(script, database, port))
  const said = () => running.map((each) => each.said()).join('')
  const api = makeClient(`http://127.0.0.1:${port}`)
  await running[0]!.isReadyAt(`http://127.0.0.1:${port}`)

  const ledger = (await api.made('POST', '/v1/ledgers', OPERATOR_KEY, { name: 'a', agent: 'b' })).key.key
  const other = (await api.made('POST', '/v1/keys', ledger, { name: 'other', scopes: ['records:write'] })).key
  const receiver = await startReceiver((_, response) => response.writeHead(410).end(PRIVATE))
  t.after(async () => void (await receiver.close()))
  const url = `${receiver.url}?token=${PRIVATE}`
  const hook = await api.made('POST', '/v1/webhooks', ledger, { url, events: ['*'], include: ['documents'] })
  const rotated = await api.sent(200, 'POST', `/v1/webhooks/${hook.id}/rotate-secret`, ledger, {})
  const payload = { note: PRIVATE }
  await api.made('POST', '/v1/records', other, { type: 'generic/1', payload, metadata: payload })
  const missing = [
    await api.send('GET', `/v1/records/${PRIVATE}?key=${ledger}`, ledger),
    await api.send('GET', '/v1/records', `${ledger}x`),
    await api.send('POST', '/v1/ledgers', `${OPERATOR_KEY}x`, payload),
    await api.send('POST', '/v1/records', ledger, { type: PRIVATE, payload }, PRIVATE),
  ]
  assert.deepEqual(
    missing.map(({ status }) => status),
    [422, 401, 401, 422],
  )
  const superuser = await connect(t, database.superuserUrl)
  // Ends the server's database connections while the server works. Then adds a constraint that refuses new records. The
  // detail of that error contains the refused row.
  await superuser.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [
    'tallystick_api',
  ])
  await superuser.query(
    `alter table tallystick.records add constraint broken check (length(payload) < 5) not valid`,
  )
  await until(
    async () => (await api.send('POST', '/v1/records', other, { type: 'generic/1', payload })).status === 500,
  )
  await until(() => receiver.received.length > 0, PATIENCE_MS)
  await until(() => said().includes('deliveries to an endpoint were stopped'), PATIENCE_MS)
  for (const each of running) assert.equal(await each.end('SIGTERM'), 0)

  const lines = parseLines(said())
  assert.ok(lines.some(({ route, status }) => route === '/v1/records' && status === 201))
  const failed = lines.find(({ msg, level }) => msg === 'request failed' && level === 50)
  assert.ok(failed.requestId)
  assert.deepEqual([failed.method, failed.route], ['POST', '/v1/records'])
  assert.ok(lines.some(({ msg }) => msg === 'an idle database connection broke'))
  assertNoSecret(said(), [ledger, other, hook.secret, rotated.secret])
})

test('a failed start prints no password or key', async (t) => {
  const database = await createTestDatabase(t)
  const wrong = 'hunter2-of-an-operator'
  const withPassword = (url: string) => Object.assign(new URL(url), { password: wrong }).href
  // Malformed values are left out, because parseConfig refuses them (test/run/config.test.ts).
  const badly: Record<string, string>[] = [
    {
      TALLYSTICK_API_DATABASE_URL: withPassword(database.apiUrl),
      TALLYSTICK_WORKER_DATABASE_URL: withPassword(database.workerUrl),
    },
    { TALLYSTICK_MASTER_KEY: 'ab'.repeat(32) },
  ]
  const starts = badly.flatMap((environment) => SCRIPTS.map((script) => ({ script, environment })))
  await Promise.all(
    starts.map(async ({ script, environment }) => {
      const started = run(script, database, '0', environment)
      const code = await started.ended
      const said = started.said()
      assert.equal(code, 1, said)
      assert.match(said, /^tallystick (server|worker): /m)
      assertNoSecret(said, [wrong, 'ab'.repeat(32)])
    }),
  )
})

function assertNoSecret(text: string, more: readonly string[]): void {
  const secrets = [
    ...more,
    ...more.filter((one) => one.startsWith('whsec_')).map((one) => one.slice('whsec_'.length)),
    PRIVATE,
    OPERATOR_KEY,
    MASTER_KEY_HEX,
    Buffer.from(TEST_MASTER_KEY).toString('base64'),
    ...Object.values(TEST_PASSWORDS),
  ]
  for (const secret of secrets) {
    // Postgres writes bytes as hex.
    assert.ok(!text.includes(Buffer.from(secret).toString('hex')), `${secret} was said, as hex`)
    const at = text.indexOf(secret)
    assert.equal(at, -1, `${secret} was said: ${text.slice(Math.max(0, at - 300), at + 50)}`)
  }
  assert.doesNotMatch(text, /(tly|tlo|whsec)_[0-9A-Za-z]|Bearer|Failing row/)
}

function run(
  script: 'server' | 'worker',
  database: TestDatabase,
  port: string,
  environment: Record<string, string> = {},
): ProductProcess {
  const env = environmentOf(
    { ...database, dataDir: temporaryDir(), masterKey: TEST_MASTER_KEY },
    {
      TALLYSTICK_PORT: port,
      TALLYSTICK_DRAIN_SECONDS: '0',
      TALLYSTICK_LOG_LEVEL: 'debug',
      TALLYSTICK_LOG_REQUESTS: 'true',
      ...environment,
    },
  )
  const started = new ProductProcess({ script, env, output: 'memory' })
  endsWithTests(started.child)
  return started
}

function makeClient(base: string) {
  const send = (method: string, path: string, key = '', body?: object, header = '') =>
    fetch(`${base}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        'x-private': header,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  const sent = async (status: number, ...request: Parameters<typeof send>): Promise<any> => {
    const response = await send(...request)
    const text = await response.text()
    assert.equal(response.status, status, text)
    return JSON.parse(text)
  }
  return { send, sent, made: (...request: Parameters<typeof send>) => sent(201, ...request) }
}
