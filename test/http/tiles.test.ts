import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PUBLIC_LEDGERS_MAX } from '../../src/ledgers/limits.ts'
import { fromHex, toHex } from '../../src/proof/bytes.ts'
import { parseCheckpoint } from '../../src/proof/tree/checkpoint.ts'
import { leafHash, merkleRoot, TILE_HASHES } from '../../src/proof/tree/merkle.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import {
  buildTestApp,
  expectStatus,
  OPERATOR_KEY,
  type SendOptions,
  type Test,
  type TestApp,
} from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { makePublish, unguarded } from '../helpers/checkpoints.ts'
import { addKey } from '../helpers/more-keys.ts'
import { shareApp } from '../helpers/shared-app.ts'

const { sha256 } = nativeProviders
/** A separate application, because the test publishes checkpoints of all its ledgers. */
const publishedApp = shareApp()

async function setUp(t: Test) {
  const app = await publishedApp()
  const publish = await makePublish(t, app)
  const log = `/tlog/${app.ledger.ledger.id}`
  const get = (path: string, options: SendOptions = {}) => app.send('GET', `${log}/${path}`, options)
  const read = async (path: string, options: SendOptions = {}) =>
    expectStatus(200, await get(path, options)).rawPayload
  const open = async (tiles: 'key' | 'public') =>
    expectStatus(
      200,
      await app.send('PUT', `/v1/ledgers/${app.ledger.ledger.id}/tiles`, {
        key: OPERATOR_KEY,
        body: { tiles },
      }),
    )
  return { app, publish, get, read, open }
}

async function notarizeUpTo(app: TestApp, size: number): Promise<void> {
  const { length } = await app.entries()
  await Promise.all(Array.from({ length: size - length }, () => app.notarize()))
}

function hashesOf(tile: Buffer): string[] {
  return Array.from({ length: tile.length / 32 }, (_, i) => tile.toString('hex', i * 32, i * 32 + 32))
}

function entriesOf(bundle: Buffer): Buffer[] {
  const entries: Buffer[] = []
  for (let at = 0; at < bundle.length; ) {
    const end = at + 2 + bundle.readUInt16BE(at)
    entries.push(bundle.subarray(at + 2, end))
    at = end
  }
  return entries
}

test('tiles of a ledger match C2SP tlog-tiles, at sizes around tile boundaries', async (t) => {
  const { app, publish, read, get } = await setUp(t)
  for (const size of [3, 256, 257, 700]) {
    await notarizeUpTo(app, size)
    await publish()
    const checkpoint = await get('checkpoint')
    assert.equal(checkpoint.headers['content-type'], 'text/plain; charset=utf-8')
    assert.equal(parseCheckpoint(checkpoint.body).checkpoint.size, size)
    const lines = await app.entries()
    const leaves = lines.map(({ leaf }) => leaf as string)
    for (let tile = 0; tile * TILE_HASHES < size; tile++) {
      const width = Math.min(TILE_HASHES, size - tile * TILE_HASHES)
      const name = `00${tile}${width === TILE_HASHES ? '' : `.p/${width}`}`
      const own = leaves.slice(tile * TILE_HASHES, tile * TILE_HASHES + width)
      assert.deepEqual(hashesOf(await read(`tile/0/${name}`)), own, name)
      const entries = entriesOf(await read(`tile/entries/${name}`))
      assert.deepEqual(
        entries.map((entry) => toHex(leafHash(sha256, entry))),
        own,
      )
      assert.equal(entries.at(-1)!.toString('base64'), lines[tile * TILE_HASHES + width - 1].envelope)
    }
    const full = Math.floor(size / TILE_HASHES)
    if (full > 0) {
      const roots = Array.from({ length: full }, (_, i) =>
        toHex(merkleRoot(sha256, leaves.slice(i * TILE_HASHES, (i + 1) * TILE_HASHES).map(fromHex))),
      )
      assert.deepEqual(hashesOf(await read(`tile/1/000.p/${full}`)), roots)
    }
  }
  // The server also returns partial tiles that belong to older checkpoints or to sizes without a checkpoint.
  assert.equal((await read('tile/0/000.p/3')).length, 96)
  assert.equal((await read('tile/0/002.p/1')).length, 32)
})

test('answers 404 for malformed paths, and for tiles beyond the newest checkpoint', async (t) => {
  const { app, publish, get } = await setUp(t)
  assertProblem(await get('checkpoint'), 409, 'checkpoint_pending')
  assertProblem(await get('tile/0/000.p/1'), 404, 'not_found')
  await publish()
  await app.notarize()
  const beyond = [
    '0/000',
    '0/000.p/4',
    '0/001.p/1',
    '1/000.p/1',
    'entries/000.p/4',
    'entries/000',
    '63/000.p/1',
  ]
  const malformed = [
    '0/0',
    '0/00',
    '00/000',
    '64/000',
    '-1/000',
    '0/x000/000',
    '0/000.p/0',
    '0/000.p/256',
    '0/000.p/03',
  ]
  const others = [
    '0/000/',
    '0',
    '',
    'data/000',
    'entries',
    '0/000.p',
    '0/000.p/3/x',
    '8/0/000',
    '0/x001',
    '0/%30%30%30.p/%33x',
  ]
  for (const path of [...beyond, ...malformed, ...others])
    assertProblem(await get(`tile/${path}`), 404, 'not_found')
  expectStatus(200, await get('tile/0/000.p/3'))
  assertProblem(await get('tile/0/000.p/3?x=1'), 422, 'invalid_request')
})

test('tiles are cacheable for a year, publicly if the ledger is public, with 304 by ETag', async (t) => {
  const { publish, get, open } = await setUp(t)
  await publish()
  const path = 'tile/entries/000.p/3'
  const first = expectStatus(200, await get(path))
  assert.equal(first.headers['cache-control'], 'private, max-age=31536000, immutable')
  assert.match(first.headers['etag'] as string, /^"[0-9a-f]{32}"$/)
  const headers = { 'if-none-match': first.headers['etag'] as string }
  const again = expectStatus(304, await get(path, { headers }))
  assert.deepEqual([again.body, again.headers['etag']], ['', first.headers['etag']])
  expectStatus(200, await get(path, { headers: { 'if-none-match': '"other"' } }))
  assert.equal((await get('checkpoint')).headers['cache-control'], 'private, max-age=1')
  await open('public')
  assert.equal(
    (await get(path, { key: null })).headers['cache-control'],
    'public, max-age=31536000, immutable',
  )
  assert.equal((await get('checkpoint', { key: null })).headers['cache-control'], 'public, max-age=1')
  // Refusals are not cached.
  assert.equal((await get('tile/0/001', { key: null })).headers['cache-control'], 'no-store')
})

test('only the operator makes a ledger’s tiles public, and private again', async (t) => {
  const { app, publish, get, open } = await setUp(t)
  await publish()
  const elsewhere = await app.newLedger()
  const writer = await addKey(app, { scopes: ['records:write'] })
  const summary = async () =>
    (await app.send('GET', `/v1/ledgers/${app.ledger.ledger.id}`, { key: OPERATOR_KEY })).json().tiles
  assert.equal(await summary(), 'key')
  assertProblem(await get('checkpoint', { key: null }), 401, 'unauthenticated')
  assertProblem(await get('checkpoint', { key: elsewhere.key.key }), 404, 'not_found')
  assertProblem(await get('checkpoint', { key: writer }), 403, 'forbidden')
  await open('public')
  assert.equal(await summary(), 'public')
  const shown = expectStatus(200, await get('checkpoint', { key: null }))
  assert.equal(expectStatus(200, await get('checkpoint', { key: elsewhere.key.key })).body, shown.body)
  // Only the tiles are public.
  for (const url of [
    '/v1/entries',
    '/v1/checkpoints/latest',
    `/tlog/${elsewhere.ledger.id}/checkpoint`,
    '/tlog/led_x/checkpoint',
  ])
    assertProblem(await app.send('GET', url, { key: null }), 401, 'unauthenticated')
  assertProblem(await get('checkpoint', { key: 'tly_none' }), 401, 'unauthenticated')
  await open('key')
  assertProblem(await get('checkpoint', { key: null }), 401, 'unauthenticated')
  const nowhere = await app.send('PUT', '/v1/ledgers/led_01jegv5gyme05800000000000a/tiles', {
    key: OPERATOR_KEY,
    body: { tiles: 'public' },
  })
  assertProblem(nowhere, 404, 'not_found')
})

test('limits readers without a key per ledger with 429; requests for unknown ledgers cost no queries', async (t) => {
  const { app, publish, get, open } = await setUp(t)
  await publish()
  await open('public')
  const states = async (limit: number, ask: () => ReturnType<typeof get>) => {
    const codes = new Map<number, number>()
    for (const { statusCode } of await Promise.all(Array.from({ length: limit }, ask)))
      codes.set(statusCode, (codes.get(statusCode) ?? 0) + 1)
    return codes
  }
  const own = await states(500, () => get('checkpoint', { key: null }))
  assert.ok(own.get(200)! >= 300 && own.get(429)! > 0, JSON.stringify([...own]))
  // The limit for readers without a key does not apply to readers with a key.
  assert.equal(expectStatus(200, await get('checkpoint')).headers['ratelimit'], undefined)
  const queries = await countQueries(app, async () => {
    const strangers = await states(1_000, () => {
      const id = `led_01jegv5gyme05800${String(Math.floor(Math.random() * 1e9)).padStart(9, '0')}a`
      return app.send('GET', `/tlog/${id}/checkpoint`, { key: null })
    })
    assert.deepEqual([...strangers], [[401, 1_000]])
  })
  assert.ok(queries <= 1, `${queries} queries`)
})

async function countQueries({ deps }: TestApp, work: () => Promise<void>): Promise<number> {
  const { query } = deps.readPool
  let count = 0
  deps.readPool.query = ((...args: Parameters<typeof query>) => {
    count++
    return query.apply(deps.readPool, args)
  }) as typeof query
  try {
    await work()
  } finally {
    deps.readPool.query = query
  }
  return count
}

test('limits the number of public ledgers', async (t) => {
  const app = await buildTestApp(t)
  const set = (id: string, tiles: string) =>
    app.send('PUT', `/v1/ledgers/${id}/tiles`, { key: OPERATOR_KEY, body: { tiles } })
  const second = await app.newLedger()
  await app.sql(`insert into tallystick.ledgers
    select (json_populate_record(l, json_build_object('ledger_id', gen_random_uuid(), 'origin', gen_random_uuid(), 'tiles_public', true))).*
    from tallystick.ledgers l, generate_series(1, ${PUBLIC_LEDGERS_MAX - 1}) where l.ledger_id = '${app.ledgerId}'`)
  expectStatus(200, await set(second.ledger.id, 'public'))
  expectStatus(200, await set(second.ledger.id, 'public'))
  assertProblem(await set(app.ledger.ledger.id, 'public'), 409, 'state_conflict')
  expectStatus(200, await set(second.ledger.id, 'key'))
  expectStatus(200, await set(app.ledger.ledger.id, 'public'))
})

test('a tile that was changed in the database is not served', async (t) => {
  const { app, publish, get, read } = await setUp(t)
  await notarizeUpTo(app, 300)
  await publish()
  await read('tile/0/000')
  await read('tile/1/000.p/1')
  await unguarded(
    app,
    `update tallystick.tree_tiles set hashes = overlay(hashes placing '\\xffff' from 100)
     where ledger_id = '${app.ledgerId}' and level = 0`,
  )
  assertProblem(await get('tile/0/000'), 500, 'integrity_fault')
  assertProblem(await get('tile/entries/000'), 500, 'integrity_fault')
  await read('tile/1/000.p/1')
  await unguarded(
    app,
    `update tallystick.tree_tiles set hashes = overlay(hashes placing '\\xffff' from 1)
     where ledger_id = '${app.ledgerId}' and level = 1`,
  )
  assertProblem(await get('tile/1/000.p/1'), 500, 'integrity_fault')
})
