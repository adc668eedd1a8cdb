import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Tallystick } from '../../sdk/client.ts'
import type { ChunkInArchive } from '../../src/db/connect/archive.ts'
import { archiveUnavailable } from '../../src/db/connect/archive.ts'
import type { Db } from '../../src/db/connect/client.ts'
import type { DatabasePool } from '../../src/db/connect/pools.ts'
import { READ_CONNECTIONS_MAX, REPLICA_PROBE_EVERY_MS, SEARCH_CONNECTIONS_MAX } from '../../src/db/limits.ts'
import type { ReadSources } from '../../src/http/reads/replica-connections.ts'
import { ProofError } from '../../src/proof/error.ts'
import { parseId, type Uuid } from '../../src/proof/ids.ts'
import { startPostgres } from '../../src/run/postgres/start.ts'
import { expectStatus, openApp, type SendOptions, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { ALL_TESTS } from '../helpers/at-end.ts'
import { makePublish } from '../helpers/checkpoints.ts'
import { openEraser } from '../helpers/eraser.ts'
import { addKey } from '../helpers/more-keys.ts'
import { TEST_SETTINGS, temporaryDirInMemory } from '../helpers/postgres.ts'
import { type Replicated, type Standby, startReplicated, startStandby } from '../helpers/replica.ts'
import { startTcpProxy } from '../helpers/tcp-proxy.ts'
import { addTestHome } from '../helpers/test-home.ts'
import { until } from '../helpers/wait.ts'

type Reader = { readonly known?: number; readonly ledgerId?: Uuid }

describe('reads from a replica', () => {
  let servers: Replicated
  /** The standby that one test promotes. */
  let next: Standby
  let makeApp: (environment?: Record<string, string>) => Promise<TestApp>
  /**
   * `app`: server that reads a replica even if the replica lags. `strict`: server that refuses a replica with almost
   * any lag.
   */
  let app: TestApp
  let strict: TestApp

  before(async () => {
    servers = await startReplicated(ALL_TESTS, { max_standby_streaming_delay: 0 })
    next = await startStandby(ALL_TESTS, servers.primary)
    makeApp = async (environment = {}) => {
      const opened = await openApp(ALL_TESTS, {
        database: servers.database,
        environment: { TALLYSTICK_REPLICA_URL: servers.replica.apiUrl, ...environment },
      })
      return opened.of(await opened.makeLedger())
    }
    // The server does not read a replica whose lag exceeds this limit. The limit is high, because the tests pause the
    // replay.
    app = await makeApp({ TALLYSTICK_REPLICA_LAG_MS_MAX: '600000' })
    strict = await makeApp({ TALLYSTICK_REPLICA_LAG_MS_MAX: '100' })
  })

  beforeEach(async () => {
    await servers.replica.resume()
    await servers.replica.caughtUp()
  })

  after(() => servers?.replica.resume().catch(() => {}))

  async function pauseReplica(): Promise<void> {
    await servers.replica.caughtUp()
    await servers.replica.pause()
  }

  /** Sends a request. Returns the answer and the name of the counter that the request increased. */
  async function read(of: TestApp, url: string, options: SendOptions = {}) {
    const before = { ...of.deps.reads.counts }
    const response = await of.send('GET', url, options)
    const { replica, primary, fallback } = of.deps.reads.counts
    const from = {
      replica: replica - before.replica,
      primary: primary - before.primary,
      fallback: fallback - before.fallback,
    }
    const where = Object.entries(from).flatMap(([name, count]) => (count > 0 ? [name] : []))
    return { response, where: where.join(), size: sizeOf(response.headers) }
  }

  function sizeOf(headers: Record<string, unknown>): number | null {
    const size = headers['tallystick-ledger-size']
    return size === undefined ? null : Number(size)
  }

  test('a write answers the ledger’s size, and a read from the replica the size that it saw', async () => {
    const response = expectStatus(
      201,
      await app.send('POST', '/v1/records', { body: { type: 'generic/1', payload: {} } }),
    )
    const { entry, id } = response.json()
    assert.equal(sizeOf(response.headers), entry.seq + 1)
    await servers.replica.caughtUp()
    const one = await read(app, `/v1/records/${id}`)
    assert.deepEqual([one.where, one.size], ['replica', entry.seq + 1])
    const key = { 'idempotency-key': 'once' }
    const body = { type: 'generic/1', payload: {} }
    const first = await app.send('POST', '/v1/records', { body, headers: key })
    await app.notarize()
    const again = await app.send('POST', '/v1/records', { body, headers: key })
    assert.equal(sizeOf(again.headers), sizeOf(first.headers))
  })

  test('a paused replica answers old lists, but not to a reader that knows a larger size', async () => {
    await app.notarize()
    await pauseReplica()
    const { id, entry } = await app.notarize()
    const ids = (response: { json(): { data: { id: string }[] } }) =>
      response.json().data.map((one) => one.id)
    const stale = await read(app, '/v1/records')
    assert.deepEqual([stale.where, stale.size], ['replica', entry.seq])
    assert.ok(
      !ids(stale.response).includes(id),
      'the control: without a demand the newest record is not there',
    )
    for (const url of ['/v1/records', '/v1/records?order=asc', '/v1/events', '/v1/entries', '/v1/export']) {
      const { response } = await read(app, url, { headers: { 'if-known-size': `${entry.seq + 1}` } })
      assert.ok(response.body.includes(id), `${url} lacks what the reader knows of`)
    }
    assert.equal(app.deps.reads.fallbacks.behind > 0, true)
  })

  test('an SDK client never reads an older state than it wrote or read', async (t: TestContext) => {
    const baseUrl = await app.app.listen({ port: 0, host: '127.0.0.1' })
    t.after(() => app.app.server.closeAllConnections())
    const options = { baseUrl, apiKey: app.ledger.key.key, fetch: ownConnections }
    const [writer, another, notarizing, fresh] = Array.from({ length: 4 }, () => new Tallystick(options))
    await pauseReplica()
    const newest = async ({ records }: Tallystick, call = {}) =>
      (await records.list({ limit: 1 }, call).page()).data[0]!.id
    const newestBy = async (directives: string) =>
      (await app.send('GET', '/v1/records?limit=1', { headers: { 'cache-control': directives } })).json()
        .data[0].id
    const { id, entry } = await writer!.records.notarize({ payload: { n: 1 } })
    assert.equal(await newest(writer!), id)
    assert.notEqual(await newest(another!), id, 'the control: another client knows nothing of it')
    assert.equal(await newest(another!, { ifKnownSize: entry.seq + 1 }), id)
    const notarizer = notarizing!.notarizer()
    notarizer.record({ n: 2 })
    await notarizer.close()
    const batched = await newest(notarizing!)
    assert.notEqual(batched, id)
    await assert.rejects(newest(fresh!, { ifKnownSize: entry.seq + 1_000 }), { code: 'ledger_smaller' })
    const line = new Tallystick({ ...options, fresh: true })
    assert.equal(await newest(line), batched)
    // The server must find the directive between other directives (RFC 9111 §5.2).
    for (const directives of ['no-cache, no-store', 'No-Cache', 'max-age=0', 'max-age=0, no-cache'])
      assert.equal(await newestBy(directives), batched, directives)
    for (const directives of ['no-store', 'max-age=60', 'x="no-cache"'])
      assert.notEqual(await newestBy(directives), batched, directives)
  })

  test('a record missing on the replica is read from the primary', async () => {
    await pauseReplica()
    const { id, entry } = await app.notarize()
    const one = await read(app, `/v1/records/${id}`)
    assert.deepEqual([one.response.statusCode, one.where, one.size], [200, 'fallback', null])
    expectStatus(200, await app.send('GET', `/v1/records/${id}/entries`))
    expectStatus(404, await app.send('GET', '/v1/records/rec_01900000-0000-7000-8000-000000000000'))
    const publish = await makePublish(ALL_TESTS, app)
    await publish()
    expectStatus(200, await app.send('GET', `/v1/entries/${entry.seq}/proof`))
  })

  test('no read shows an erased document once its erasure was answered', async (t: TestContext) => {
    const { id } = await app.notarize({ type: 'generic/1', payload: { secret: 'a name' } })
    const { id: another } = await app.notarize({ type: 'generic/1', payload: { name: 'kept' } })
    const other = await addKey(app, { scopes: ['records:read', 'audit:read'] })
    await pauseReplica()
    const shown = async (url: string) => {
      const { response, where } = await read(app, url, { key: other })
      return { has: response.body.includes('a name'), where }
    }
    // Before the erasure, all these addresses show the document, which they read from the replica.
    for (const url of [`/v1/records/${id}`, '/v1/records', '/v1/entries'])
      assert.deepEqual(await shown(url), { has: true, where: 'replica' }, url)
    expectStatus(
      202,
      await app.send('DELETE', `/v1/records/${id}/payload`, { body: { code: 'data_subject_request' } }),
    )
    for (const url of [
      `/v1/records/${id}`,
      '/v1/records',
      `/v1/records/${id}/tree`,
      '/v1/entries',
      '/v1/export',
    ]) {
      const { has } = await shown(url)
      assert.equal(has, false, `${url} shows an erased document`)
    }
    assert.equal((await shown(`/v1/records/${another}`)).where, 'fallback')
    await servers.replica.resume()
    await servers.replica.caughtUp()
    assert.deepEqual(await shown(`/v1/records/${id}`), { has: false, where: 'replica' })
    await openEraser(t, app).run()
    await servers.replica.caughtUp()
    assert.deepEqual(await shown('/v1/records'), { has: false, where: 'replica' })
  })

  test('no read shows another ledger’s document once its erasure was received', async () => {
    const guest = await app.newLedger()
    const home = await addTestHome(app, guest)
    const record = await home.share({ payload: { secret: 'a guest’s name' } })
    await pauseReplica()
    const shown = async () => {
      const { response, where } = await read(app, `/v1/records/${record.id}?peer=${home.peer}`, {
        key: guest.key.key,
      })
      expectStatus(200, response)
      return { has: response.body.includes('a guest’s name'), where }
    }
    assert.deepEqual(await shown(), { has: true, where: 'replica' }, 'the control')
    await record.erase({ name: record.id, sha256: record.payload.digest }, record.last().seq)
    assert.deepEqual(await shown(), { has: false, where: 'fallback' })
    await servers.replica.resume()
    await servers.replica.caughtUp()
    assert.deepEqual(await shown(), { has: false, where: 'replica' })
  })

  test('a read without a free connection goes to the primary; searches have their own connections', async () => {
    const { id } = await app.notarize()
    await servers.replica.caughtUp()
    const gate = Promise.withResolvers<void>()
    const all = Promise.withResolvers<void>()
    let begun = 0
    const answers = Array.from({ length: READ_CONNECTIONS_MAX }, () =>
      app.deps.reads.of(...asked(), async ({ readPool }) => {
        await readPool.query('select 1')
        if (++begun === READ_CONNECTIONS_MAX) all.resolve()
        await gate.promise
      }),
    )
    try {
      await all.promise
      const startedMs = performance.now()
      assert.equal((await read(app, `/v1/records/${id}`)).where, 'fallback')
      assert.ok(performance.now() - startedMs < 2_000, 'it waited for the others')
      assert.ok(app.deps.reads.fallbacks.busy > 0)
      for (const url of ['/v1/records', `/v1/records/${id}/tree`])
        assert.equal((await read(app, url)).where, 'replica')
      await new Promise((resolve) => setTimeout(resolve, 2 * REPLICA_PROBE_EVERY_MS))
      const metrics = await app.deps.metrics.registry.metrics()
      assert.match(metrics, /^tallystick_replica_up 1$/m)
    } finally {
      gate.resolve()
      await Promise.all(answers)
    }
    assert.equal((await read(app, `/v1/records/${id}`)).where, 'replica')
  })

  describe('reads that share a connection', () => {
    /** Starts the reads at the same time. Returns the connection that each read got, or the primary's pool. */
    const atOnce = (readers: readonly Reader[], work: (db: Db, i: number) => Promise<unknown> = selectOne) =>
      Promise.all(
        readers.map((reader, i) => {
          const told = async ({ readPool }: ReadSources) => {
            await work(readPool, i)
            return readPool
          }
          return app.deps.reads.of(...asked(reader), told, { shares: true })
        }),
      )
    const selectOne = (db: Db) => db.query('select 1')
    const pidOf = async (db: Db) =>
      (await db.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid

    test('only the read that knows a larger size goes to the primary', async () => {
      await app.notarize()
      await pauseReplica()
      const { entry } = await app.notarize()
      const { behind } = app.deps.reads.fallbacks
      // There is one round more than connections. So the test fails if a finished read does not return its connection.
      for (let times = 0; times <= READ_CONNECTIONS_MAX; times++) {
        const readers = [{}, { known: entry.seq + 1 }, { known: entry.seq }]
        const [one, knowing, another] = await atOnce(readers)
        assert.equal(knowing, app.deps.readPool)
        assert.notEqual(one, app.deps.readPool)
        assert.equal(one, another)
      }
      assert.equal(app.deps.reads.fallbacks.behind - behind, READ_CONNECTIONS_MAX + 1)
    })

    test('reads of other ledgers stay on the replica when a document is erased', async () => {
      const { ledger } = await app.newLedger()
      const other = { ledgerId: parseId('led', ledger.id) }
      const { id } = await app.notarize()
      await pauseReplica()
      const readers = [other, {}, other, {}]
      assert.equal(new Set(await atOnce(readers)).size, 1, 'the control')
      const body = { code: 'data_subject_request' }
      expectStatus(202, await app.send('DELETE', `/v1/records/${id}/payload`, { body }))
      const [one, erased, another, also] = await atOnce(readers)
      assert.deepEqual([erased === app.deps.readPool, also === erased], [true, true])
      assert.deepEqual([one === app.deps.readPool, one === another], [false, true])
    })

    for (const [what, spoil] of [
      ['that breaks', (pid: number) => servers.replica.sql('select pg_terminate_backend($1, 5000)', [pid])],
      ['on which a statement fails', (_: number, db: Db) => db.query('select 1 / 0').catch(() => {})],
    ] as const)
      test(`a connection ${what} sends all of its reads to the primary`, async () => {
        const { replica, fallback } = app.deps.reads.counts
        const pids: number[] = []
        const spoiled = Promise.withResolvers<void>()
        const found = await atOnce([{}, {}, {}], async (db, i) => {
          if (db === app.deps.readPool) return
          pids.push(await pidOf(db))
          if (i === 2) await spoil(pids[0]!, db)
          if (i === 2) spoiled.resolve()
          await spoiled.promise
          await db.query('select 1')
        })
        assert.deepEqual([pids.length, new Set(pids).size], [3, 1])
        assert.deepEqual(found, Array(3).fill(app.deps.readPool))
        const { counts } = app.deps.reads
        assert.deepEqual([counts.replica - replica, counts.fallback - fallback], [0, 3])
        await untilRead(app)
        const [next] = await atOnce([{}], async (db) => void pids.push(await pidOf(db)))
        assert.notEqual(next, app.deps.readPool)
        assert.notEqual(pids[3], pids[0], 'the connection was kept')
      })

    test('a read that cannot decode a row alone goes to the primary', async () => {
      const left = Promise.withResolvers<void>()
      const found = await atOnce([{}, {}], async (db, i) => {
        if (db === app.deps.readPool) return left.resolve()
        if (i === 0) throw new ProofError('chunk_syntax', 'as of a chunk that is spoiled')
        await left.promise
        await db.query('select 1')
      })
      assert.deepEqual(
        found.map((db) => db === app.deps.readPool),
        [true, false],
      )
    })

    test('a waiting read delays no other read, nor does a slow read on its own connection', async () => {
      const { id } = await app.notarize()
      await servers.replica.caughtUp()
      let isSlowDone = false
      const slow = app.deps.reads
        .of(...asked(), ({ readPool }) => readPool.query('select pg_sleep(1)'))
        .then(() => {
          isSlowDone = true
        })
      const gate = Promise.withResolvers<void>()
      const quick = Promise.withResolvers<void>()
      const pids: number[] = []
      const sharing = atOnce([{}, {}, {}], async (db, i) => {
        // The first read waits, as a read that waits for the archive does.
        if (i === 0) await gate.promise
        if (pids.push(await pidOf(db)) === 2) quick.resolve()
      })
      await quick.promise
      assert.equal((await read(app, `/v1/records/${id}`)).where, 'replica')
      await atOnce([{}], async (db) =>
        assert.ok(!pids.includes(await pidOf(db)), 'it was given back too early'),
      )
      assert.equal(isSlowDone, false)
      gate.resolve()
      assert.equal(new Set(await sharing).size, 1)
      await slow
    })

    test('only reads of a record by id and lists without a filter share connections', async (t: TestContext) => {
      const { id } = await app.notarize()
      const of = t.mock.method(app.deps.reads, 'of')
      const sharing: Record<string, unknown> = {}
      for (const url of [
        `/v1/records/${id}`,
        '/v1/records?limit=1',
        '/v1/records?type=generic/1',
        `/v1/records/${id}/tree`,
        '/v1/events',
      ]) {
        expectStatus(200, await app.send('GET', url))
        const { pool = 'read', shares = false } = of.mock.calls.at(-1)!.arguments[3] ?? {}
        sharing[url.replace(id, ':id')] = `${pool} ${shares}`
      }
      assert.deepEqual(sharing, {
        '/v1/records/:id': 'read true',
        '/v1/records?limit=1': 'search true',
        '/v1/records?type=generic/1': 'search false',
        '/v1/records/:id/tree': 'search false',
        '/v1/events': 'read false',
      })
    })
  })

  test('an unresponsive replica is given up within three seconds', async (t: TestContext) => {
    const proxy = await startTcpProxy(ALL_TESTS, servers.replica.apiUrl)
    const through = await makeApp({ TALLYSTICK_REPLICA_URL: proxy.url })
    t.after(() => proxy.accept())
    assert.equal((await read(through, '/v1/records')).where, 'replica')
    proxy.isolate()
    const startedMs = performance.now()
    assert.equal((await read(through, '/v1/records')).where, 'fallback')
    assert.ok(performance.now() - startedMs < 3_000)
    assert.equal(through.deps.reads.fallbacks.away, 1)
    proxy.accept()
    await untilRead(through)
  })

  test('a standby of a replaced primary is not read', async () => {
    await servers.replica.caughtUp()
    await next.caughtUp()
    await next.sql('select pg_promote()')
    const opened = await openApp(ALL_TESTS, {
      database: servers.database,
      apiUrl: () => next.apiUrl,
      environment: {
        TALLYSTICK_REPLICA_URL: servers.replica.apiUrl,
        TALLYSTICK_REPLICA_LAG_MS_MAX: '600000',
      },
    })
    const after = opened.of(app.ledger)
    assert.equal((await read(after, '/v1/records')).where, 'replica', 'nothing was lost')
    const lost = await app.notarize({ type: 'generic/1', payload: { lost: 1 } })
    await app.notarize()
    await servers.replica.caughtUp()
    const { where, response } = await read(after, '/v1/records')
    assert.deepEqual([where, response.body.includes(lost.id)], ['fallback', false])
    assert.equal(after.deps.reads.fallbacks.ahead, 1)
    // After the first record the new primary has as many entries as the old primary had, or more. After the third it
    // certainly has more. Its chain differs from that of the old primary.
    for (let more = 0; more < 3; more++) await after.notarize()
    for (const url of [
      '/v1/records',
      '/v1/entries',
      '/v1/export',
      '/v1/ledger',
      '/v1/checkpoints',
      '/v1/peers',
    ]) {
      const { response } = await read(after, url)
      assert.ok(!response.body.includes(lost.id), `${url} shows what was lost`)
    }
    assert.ok(after.deps.reads.fallbacks.diverged >= 3)
    await next.stop()
  })

  test('a replica above the maximum lag is not read; an idle primary causes no lag', async () => {
    // The check is repeated if Postgres wrote WAL meanwhile, for example for a vacuum. Then the primary was not idle.
    await until(async () => {
      await servers.replica.resume()
      await servers.replica.caughtUp()
      await untilRead(strict)
      await pauseReplica()
      await new Promise((resolve) => setTimeout(resolve, 300))
      return (await read(strict, '/v1/records')).where === 'replica'
    })
    const { id } = await strict.notarize()
    await strict.send('GET', '/v1/records') // Because of this read, the server asks the primary for its WAL position.
    await new Promise((resolve) => setTimeout(resolve, 250))
    const { where, response } = await read(strict, '/v1/records')
    assert.equal(where, 'fallback')
    assert.ok(response.body.includes(id))
    await servers.replica.resume()
    await servers.replica.caughtUp()
    await untilRead(strict)
  })

  test('a larger if-known-size than the ledger’s gets 412 ledger_smaller, an invalid one 400', async () => {
    const { size } = await read(app, '/v1/records')
    const headers = { 'if-known-size': `${size! + 1}` }
    assertProblem(await app.send('GET', '/v1/records', { headers }), 412, 'ledger_smaller')
    assertProblem(await app.send('GET', '/v1/entries', { headers }), 412, 'ledger_smaller')
    for (const text of ['0', '-1', '1.5', 'many', '01', '"3"'])
      assertProblem(
        await app.send('GET', '/v1/records', { headers: { 'if-known-size': text } }),
        400,
        'bad_request',
      )
  })

  test('without a replica a too large if-known-size also gets 412 ledger_smaller', async () => {
    const alone = await makeApp({ TALLYSTICK_REPLICA_URL: '' })
    const { entry } = await alone.notarize()
    const known = (size: number) => ({ headers: { 'if-known-size': `${size}` } })
    const one = await read(alone, '/v1/records', known(entry.seq + 1))
    assert.deepEqual([one.response.statusCode, one.where], [200, 'primary'])
    for (const url of ['/v1/records', '/v1/entries', '/v1/export'])
      assertProblem(await alone.send('GET', url, known(entry.seq + 2)), 412, 'ledger_smaller')
  })

  test('a read that fails with archive_unavailable is not repeated on the primary', async () => {
    await servers.replica.caughtUp()
    const before = { ...app.deps.reads.counts }
    let reads = 0
    const answer = app.deps.reads.of(...asked(), async () => {
      reads++
      throw archiveUnavailable('it is away')
    })
    await assert.rejects(answer, { code: 'archive_unavailable' })
    const { replica, fallback } = app.deps.reads.counts
    assert.deepEqual([reads, replica - before.replica, fallback - before.fallback], [1, 1, 0])
  })

  for (const shares of [false, true])
    test(`reads waiting for the archive free their connections, then continue on the replica${shares ? ', shared ones too' : ''}`, async (t: TestContext) => {
      const reader = await makeApp({
        TALLYSTICK_REPLICA_LAG_MS_MAX: '600000',
        TALLYSTICK_ARCHIVE: 'file:///nonexistent',
      })
      await pauseReplica()
      const came = Promise.withResolvers<Uint8Array>()
      t.after(() => came.resolve(new Uint8Array()))
      t.mock.method((reader.deps.readPool as DatabasePool).archive!, 'read', () => came.promise)
      const pools = [
        ...Array(READ_CONNECTIONS_MAX).fill('read'),
        ...Array(SEARCH_CONNECTIONS_MAX).fill('search'),
      ] as const
      const atOnce = shares ? 2 : 1
      let waiting = 0
      const work = async ({ readPool }: ReadSources) => {
        await readPool.query('select 1')
        waiting++
        await readPool.archive!.read({} as ChunkInArchive)
        const { rows } = await readPool.query<{ is: boolean }>('select pg_is_in_recovery() as is')
        return rows[0]!.is
      }
      // On a busy machine some reads get no connection in time and use the primary instead.
      const isElsewhere = () => reader.deps.reads.fallbacks.busy
      const answers: Promise<boolean>[] = []
      for (const pool of pools) {
        for (let i = 0; i < atOnce; i++)
          answers.push(reader.deps.reads.of(...asked({ ledgerId: reader.ledgerId }), work, { pool, shares }))
        await until(() => waiting === answers.length)
      }
      // Reads that wait for the archive return their connections after a moment. Other reads can then use the replica.
      for (const url of ['/v1/events', '/v1/records'])
        await until(async () => (await read(reader, url)).where === 'replica')
      came.resolve(new Uint8Array())
      const wereThere = (await Promise.all(answers)).filter((is) => is).length
      assert.ok(
        wereThere > 0 && answers.length - wereThere <= isElsewhere(),
        `${wereThere} of ${answers.length}`,
      )
    })

  test('a read that waited for the archive continues on the primary after an erasure meanwhile', async (t: TestContext) => {
    const reader = await makeApp({
      TALLYSTICK_REPLICA_LAG_MS_MAX: '600000',
      TALLYSTICK_ARCHIVE: 'file:///nonexistent',
    })
    const { id } = await reader.notarize()
    await pauseReplica()
    const came = Promise.withResolvers<Uint8Array>()
    t.after(() => came.resolve(new Uint8Array()))
    t.mock.method((reader.deps.readPool as DatabasePool).archive!, 'read', () => came.promise)
    const asks = () => asked({ ledgerId: reader.ledgerId })
    const seen: { pid: number; is: boolean }[] = []
    const look = async ({ readPool }: ReadSources) => {
      const text = 'select pg_backend_pid() as pid, pg_is_in_recovery() as is'
      return (await readPool.query<{ pid: number; is: boolean }>(text)).rows[0]!
    }
    const work = async (from: ReadSources) => {
      seen.push(await look(from))
      await from.readPool.archive!.read({} as ChunkInArchive)
      return look(from)
    }
    const answers = [0, 1].map(() => reader.deps.reads.of(...asks(), work, { shares: true }))
    await until(() => seen.length === 2)
    // Waits until the connection of the first read is free. READ_CONNECTIONS_MAX concurrent reads use every connection,
    // so one of them then gets this connection.
    await until(async () => {
      const reads = Array.from({ length: READ_CONNECTIONS_MAX }, () => reader.deps.reads.of(...asks(), look))
      return (await Promise.all(reads)).some(({ pid }) => pid === seen[0]!.pid)
    })
    const body = { code: 'data_subject_request' }
    expectStatus(202, await reader.send('DELETE', `/v1/records/${id}/payload`, { body }))
    const { behind } = reader.deps.reads.fallbacks
    came.resolve(new Uint8Array())
    assert.deepEqual(
      (await Promise.all(answers)).map(({ is }) => is),
      [false, false],
    )
    assert.deepEqual(
      seen.map(({ is }) => is),
      [true, true, false, false],
    )
    assert.equal(reader.deps.reads.fallbacks.behind - behind, 2)
  })

  test('a read cancelled by WAL replay is answered by the primary', async () => {
    await app.sql('create table if not exists public.churn (n int)')
    await app.sql('grant select on public.churn to tallystick_api')
    await app.sql('insert into public.churn select generate_series(1, 1000)')
    await servers.replica.caughtUp()
    await untilRead(app)
    const { failed } = app.deps.reads.fallbacks
    const codes: string[] = []
    const answer = app.deps.reads.of(...asked(), async ({ readPool }) => {
      if (codes.length > 0) return 'by the primary'
      await readPool.query('select count(*), pg_sleep(15) from public.churn').catch((error) => {
        codes.push(error.code)
        throw error
      })
      return 'by the replica'
    })
    await until(async () => {
      const sleeping =
        "select pid from pg_stat_activity where wait_event = 'PgSleep' and query like '%public.churn%'"
      return (await servers.replica.sql(sleeping)).length > 0
    })
    await app.sql('delete from public.churn')
    await app.sql('vacuum public.churn')
    assert.equal(await answer, 'by the primary')
    assert.deepEqual(codes, ['40001'])
    assert.equal(app.deps.reads.fallbacks.failed - failed, 1)
    await untilRead(app)
  })

  test('a server of another Postgres system is not read', async (t: TestContext) => {
    const foreign = await startPostgres({
      dataDir: temporaryDirInMemory(),
      temporary: true,
      settings: TEST_SETTINGS,
    })
    t.after(() => foreign.stop())
    const other = await makeApp({ TALLYSTICK_REPLICA_URL: foreign.ownerUrl })
    assert.equal((await read(other, '/v1/records')).where, 'fallback')
    assert.equal(other.deps.reads.fallbacks.foreign, 1)
  })

  /**
   * Reads the address, and retries once if the read used the primary instead. On a busy machine a read may get no
   * connection of the replica in time, or may take too long to share its connection.
   */
  async function readAgain(address: string) {
    const first = await read(app, address)
    if (!first.where.endsWith('fallback')) return first
    await untilRead(app)
    return read(app, address)
  }

  test('each GET route reads from where it declares', async (t: TestContext) => {
    const publish = await makePublish(t, app)
    const { id, entry, agent } = await app.notarize()
    await publish()
    await servers.replica.caughtUp()
    const { ledger } = app.ledger
    const [known] = (await app.send('GET', '/v1/agents')).json().data
    const values: Record<string, string> = {
      '/v1/records/:id': id,
      '/v1/records/:id/entries': id,
      '/v1/records/:id/tree': id,
      '/v1/records/:id/proof': id,
      '/v1/records/:id/receipt': id,
      '/v1/entries/:seq/proof': `${entry.seq}`,
      '/v1/entries/:seq/receipt': `${entry.seq}`,
      '/v1/agents/:id': known.id ?? agent,
      '/v1/agents/:id/signing-keys': known.id,
      '/v1/checkpoints/consistency': '?from=1&to=2',
      '/v1/checkpoints/consistency/receipt': '?from=1',
      '/tlog/:ledger/tile/*': '',
    }
    const gets = app.routes.filter(({ method, url }) => method === 'GET' && url.startsWith('/'))
    const asked = gets.map(({ url, config }) => {
      const value = values[url] ?? 'none'
      if (url.startsWith('/v1/types/')) return { url, address: '/v1/types/generic/1', reads: config!.reads }
      const address = url
        .replace(':ledger', ledger.id)
        .replace('tile/*', `tile/entries/000.p/${entry.seq + 1}`)
        .replace(/:(id|seq)/, value)
        .replace(/:\w+/g, '1')
      return { url, address: value.startsWith('?') ? address + value : address, reads: config!.reads }
    })
    const answers: Record<string, string[]> = { replica: [], other: [] }
    for (const { url, address, reads } of asked) {
      if (url === '/v1/export' || url === '/v1/entries' || url.startsWith('/console')) continue
      const { where, response } = await readAgain(address)
      if (reads === 'replica') {
        assert.match(
          where,
          /^(replica|fallback)$/,
          `${url} (${response.statusCode}) says that it reads from the replica`,
        )
        if (where === 'replica') answers['replica']!.push(url)
      } else assert.equal(where, '', `${url} says that it reads from elsewhere`)
    }
    const replied = answers['replica']!
    const notFound = ['/v1/types/:name/:version', '/v1/statements/:id', '/v1/registration-policy']
    assert.deepEqual(
      asked
        .filter(({ url, reads }) => reads === 'replica' && !replied.includes(url) && !notFound.includes(url))
        .map(({ url }) => url),
      ['/v1/entries', '/v1/export'],
    )
    for (const url of ['/v1/entries', '/v1/export'])
      assert.equal((await readAgain(url)).where, 'replica', url)
  })

  test('metrics count reads by source and show the replica’s lag', async () => {
    await pauseReplica()
    await app.notarize()
    await servers.replica.resume()
    await servers.replica.caughtUp()
    await untilRead(app)
    const text = await app.deps.metrics.registry.metrics()
    const value = (metric: string) => Number(new RegExp(`^${metric} (\\S+)$`, 'm').exec(text)?.[1])
    const { replica, fallback } = app.deps.reads.counts
    assert.equal(value('tallystick_reads_total\\{source="replica"\\}'), replica)
    assert.equal(value('tallystick_reads_total\\{source="fallback"\\}'), fallback)
    assert.ok(value('tallystick_replica_fallbacks_total\\{reason="behind"\\}') > 0)
    assert.equal(value('tallystick_replica_up'), 1)
    assert.equal(value('tallystick_replica_lag_seconds'), 0)
    assert.equal(value('tallystick_replica_lag_bytes'), 0)
  })

  test('a promoted or stopped replica is not read, and the server keeps answering', async () => {
    const { id } = await app.notarize()
    await servers.replica.sql('select pg_promote()')
    const promoted = await read(app, `/v1/records/${id}`)
    assert.deepEqual([promoted.response.statusCode, promoted.where], [200, 'fallback'])
    assert.ok(app.deps.reads.fallbacks.promoted > 0)
    await servers.replica.stop()
    const gone = await read(app, `/v1/records/${id}`)
    assert.deepEqual([gone.response.statusCode, gone.where], [200, 'fallback'])
    expectStatus(200, await app.send('GET', '/readyz', { key: null }))
    assert.match(app.logs(), /reads go to the primary instead of the replica/)
  })

  /** Returns a fake request and a fake reply, by default for the ledger of `app`. */
  function asked({ known, ledgerId = app.ledgerId }: Reader = {}): [FastifyRequest, FastifyReply] {
    const headers = known === undefined ? {} : { 'if-known-size': `${known}` }
    const request = { headers, caller: { ledgerId } } as unknown as FastifyRequest
    const reply = { sent: false, header() {}, removeHeader() {} } as unknown as FastifyReply
    return [request, reply]
  }

  /** Uses one connection for each request, so that no connection stays open. */
  const ownConnections: typeof fetch = (url, init) =>
    fetch(url, { ...init, headers: { ...init?.headers, connection: 'close' } })

  async function untilRead(of: TestApp): Promise<void> {
    for (let tries = 0; tries < 100; tries++) {
      if ((await read(of, '/v1/records')).where === 'replica') return
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    assert.fail('reads did not come back to the replica')
  }
})
