import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VERSION } from '../../src/observe/version.ts'
import { openDeps } from '../../src/run/deps.ts'
import { buildTestApp, expectStatus, testConfig } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { connect } from '../helpers/connect.ts'
import { createEmptyDatabase, createTestDatabase, TEST_PASSWORDS, urlFor } from '../helpers/database.ts'
import { startTcpProxy, type TcpProxy } from '../helpers/tcp-proxy.ts'
import { until } from '../helpers/wait.ts'

test('/livez answers while the process runs, /readyz only while it has a database', async (t) => {
  let proxy!: TcpProxy
  const app = await buildTestApp(t, {
    async apiUrl(database) {
      proxy = await startTcpProxy(t, database.apiUrl)
      return proxy.url
    },
  })
  const health = (url: string) => app.send('GET', url, { key: null })
  assert.deepEqual(expectStatus(200, await health('/livez')).json(), { status: 'ok', version: VERSION })
  assert.deepEqual(expectStatus(200, await health('/readyz')).json(), { status: 'ready', version: VERSION })

  // HAProxy, `wget --spider` and monitoring tools send HEAD and OPTIONS requests.
  const probe = async (method: string, url: string) => (await app.send(method, url, { key: null })).statusCode
  for (const url of ['/livez', '/readyz', '/readyz?verbose'])
    assert.deepEqual([await probe('HEAD', url), await probe('OPTIONS', url)], [200, 200])

  proxy.refuse()
  expectStatus(200, await health('/livez'))
  for (const method of ['HEAD', 'OPTIONS'])
    assert.deepEqual([await probe(method, '/livez'), await probe(method, '/readyz')], [200, 503])
  assert.equal(assertProblem(await health('/readyz'), 503, 'unavailable')['retryable'], true)

  proxy.accept()
  // The server tries new connections one at a time, with pauses. So this takes a moment.
  await until(async () => (await health('/readyz')).statusCode === 200)

  proxy.hold()
  const askedAt = performance.now()
  assertProblem(await health('/readyz'), 503, 'unavailable')
  assert.ok(performance.now() - askedAt < 10_000, 'a database that does not answer is not waited for')
  proxy.resume()

  await app.sql('alter table tallystick.schema_migrations rename to elsewhere')
  const problem = assertProblem(await health('/readyz'), 503, 'unavailable')
  // The route is public, and only the operator may see the reason.
  assert.doesNotMatch(String(problem['detail']), /schema_migrations/)
  // The reason is logged at most once a second.
  await until(async () => {
    await health('/readyz')
    return /"cause":\{[^}]*schema_migrations/.test(app.logs())
  })
  expectStatus(200, await health('/livez'))
})

test('simultaneous requests of /readyz share one database query', async (t) => {
  const app = await buildTestApp(t)
  const other = await connect(t, app.database.superuserUrl)
  await other.query('begin')
  await other.query('lock table tallystick.schema_migrations')
  const answers = Promise.all(Array.from({ length: 20 }, () => app.send('GET', '/readyz', { key: null })))
  const asking = () =>
    app.sql(
      `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
  await until(async () => (await asking()).length > 0)
  assert.equal((await asking()).length, 1)
  await other.query('commit')
  for (const answer of await answers) expectStatus(200, answer)
})

test('a server refuses to start', async (t) => {
  const refuses = async (url: string, why: RegExp, environment: Record<string, string> = {}) => {
    await assert.rejects(openDeps(testConfig(url, environment)), (error: Error) => {
      assert.match(error.message, why)
      assert.doesNotMatch(error.message, new RegExp(Object.values(TEST_PASSWORDS).join('|')))
      return true
    })
  }

  await t.test('on a database that was not migrated, and names the command', async (t) => {
    const { ownerUrl } = await createEmptyDatabase(t)
    await refuses(ownerUrl, /not migrated[\s\S]*npm run op -- migrate/)
  })

  const app = await buildTestApp(t)

  await t.test('on a schema newer than the server', async () => {
    await app.sql(`insert into tallystick.schema_migrations (version, name, sha256)
      values (9999, '9999-from-the-future.sql', repeat('0', 64))`)
    await refuses(app.database.apiUrl, /migration 9999[\s\S]*newer than this version/)
    // A server that runs already continues while servers of the next version start.
    expectStatus(200, await app.send('GET', '/readyz', { key: null }))
    await app.sql('delete from tallystick.schema_migrations where version = 9999')
  })

  await t.test('on a schema with a changed migration', async () => {
    const [migration] = await app.sql<{ sha256: string }>(
      'select sha256 from tallystick.schema_migrations where version = 1',
    )
    const set = (sha256: string) =>
      app.sql('update tallystick.schema_migrations set sha256 = $1 where version = 1', [sha256])
    await set('0'.repeat(64))
    await refuses(app.database.apiUrl, /0001-rules-and-keys\.sql differs from the file/)
    await set(migration!.sha256)
  })

  await t.test('on a schema without its newest migration', async () => {
    await app.sql(`delete from tallystick.schema_migrations
      where version = (select max(version) from tallystick.schema_migrations)`)
    await refuses(app.database.apiUrl, /lacks \d{4}-[\s\S]*npm run op -- migrate/)
  })

  await t.test('with a login that has too many privileges, and names the right login', async (t) => {
    const database = await createTestDatabase(t)
    await refuses(
      database.ownerUrl,
      /tallystick_owner has too many privileges[\s\S]*use the login tallystick_api/,
    )
    await refuses(
      database.superuserUrl,
      /too many privileges[\s\S]*superuser[\s\S]*use the login tallystick_api/,
    )
  })

  await t.test('with a wrong or missing master key', async (t) => {
    const { apiUrl } = await createTestDatabase(t)
    const masterKey = '00'.repeat(32)
    await refuses(apiUrl, /TALLYSTICK_MASTER_KEY is not the one/, { TALLYSTICK_MASTER_KEY: masterKey })
    const config = { ...testConfig(apiUrl), masterKey: null }
    await assert.rejects(openDeps(config), /TALLYSTICK_MASTER_KEY is not set/)
    await assert.rejects(openDeps({ ...config, apiUrl: null }), /TALLYSTICK_API_DATABASE_URL is not set/)
  })

  await t.test('with a wrong password, or without a reachable Postgres', async (t) => {
    const database = await createTestDatabase(t)
    const wrong = urlFor(database.superuserUrl, database.name, 'tallystick_api', 'wrong')
    await refuses(wrong, /password authentication failed|trust/)
    await refuses('postgres://tallystick_api:x@127.0.0.1:1/tallystick', /ECONNREFUSED/)
  })
})
