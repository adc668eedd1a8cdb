import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { tryLockTree } from '../../../src/db/chain/checkpoints.ts'
import { ContradictionError } from '../../../src/followers/checkpoints/contradictions.ts'
import { PausedLedgers } from '../../../src/followers/checkpoints/faulty-ledgers.ts'
import { publishCheckpoints } from '../../../src/followers/checkpoints/publish.ts'
import { StoredCheckpoints } from '../../../src/followers/checkpoints/stored-checkpoints.ts'
import { CHECKPOINT_LEDGERS_PER_ROUND } from '../../../src/followers/limits.ts'
import { formatId, parseId, type Uuid } from '../../../src/proof/ids.ts'
import { parseVerifierKey, verifyCheckpoint } from '../../../src/proof/tree/checkpoint.ts'
import { merkleRoot } from '../../../src/proof/tree/merkle.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import type { Test, TestApp } from '../../helpers/app.ts'
import { unguarded } from '../../helpers/checkpoints.ts'
import { openTestPool } from '../../helpers/connect.ts'
import { lendApp, lentPool } from '../../helpers/lent-app.ts'
import { makePublisher, type Publisher } from '../../helpers/publisher.ts'

const { sha256 } = nativeProviders

test('a checkpoint has the size, Merkle root and chain hash, signed by the ledger’s note key', async (t) => {
  const { app, worker } = await setUp(t)
  await app.notarize()
  assert.equal(await publishCheckpoints(worker), false)

  const note = (await app.send('GET', '/v1/checkpoints/latest')).body
  const ledger = (await app.send('GET', '/v1/ledger')).json()
  const checkpoint = verifyCheckpoint(
    note,
    parseVerifierKey(ledger.noteVerifierKey, sha256),
    sha256,
    nativeProviders.verifySignature,
  )
  const lines = await app.entries()
  assert.equal(checkpoint.size, 4)
  assert.equal(Buffer.from(checkpoint.chain).toString('hex'), lines[3].chain)
  assert.deepEqual(Buffer.from(checkpoint.root), Buffer.from(merkleRoot(sha256, leavesOf(lines))))
})

test('before the first checkpoint the answer is 409 checkpoint_pending', async (t) => {
  const { app } = await setUp(t)
  const answer = await app.send('GET', '/v1/checkpoints/latest')
  assert.equal(answer.statusCode, 409)
  assert.equal(answer.json().code, 'checkpoint_pending')
})

test('publishes at most one checkpoint a second per ledger, and none without new entries', async (t) => {
  const { app, worker } = await setUp(t)
  await publishCheckpoints(worker)
  await app.notarize()
  await publishCheckpoints(worker)
  assert.equal((await checkpoints(app)).length, 1)
  await makeOlder(app)
  await publishCheckpoints(worker)
  assert.equal((await checkpoints(app)).length, 2)
  await makeOlder(app)
  await publishCheckpoints(worker)
  assert.equal((await checkpoints(app)).length, 2)
})

test('after each growth the stored tiles and the root match all leaves', async (t) => {
  const { app, worker } = await setUp(t)
  for (const count of [1, 250, 2, 1, 255, 256, 300]) {
    await notarizeMany(app, count)
    await publishCheckpoints(worker)
    await makeOlder(app)
    const [newest] = (await checkpoints(app)).slice(-1)
    const leaves = leavesOf(await app.entries())
    assert.equal(Number(newest!.size), leaves.length)
    assert.deepEqual(newest!.root, Buffer.from(merkleRoot(sha256, leaves)))
    await assertTiles(app, leaves)
  }
})

test('publishes no checkpoint of a ledger that another worker has locked', async (t) => {
  const { app, worker } = await setUp(t)
  const other = await worker.pool.connect()
  try {
    await other.query('begin')
    assert.equal(await tryLockTree(other, parseId('led', app.ledger.ledger.id)), true)
    await publishCheckpoints(worker)
    assert.equal((await checkpoints(app)).length, 0)
  } finally {
    await other.query('rollback')
    other.release()
  }
  await publishCheckpoints(worker)
  assert.equal((await checkpoints(app)).length, 1)
})

test('does not publish a note that cannot be stored outside Postgres', async (t) => {
  const { app, worker, dir } = await setUp(t)
  const inTheWay = join(dir, 'checkpoints', `${app.ledger.ledger.id}.note.new`)
  await mkdir(inTheWay, { recursive: true })
  await publishCheckpoints(worker)
  assert.equal(worker.logged.length, 1)
  assert.deepEqual(await checkpoints(app), [])
  await rmdir(inTheWay)
  await publishCheckpoints(worker)
  assert.deepEqual(await checkpoints(app), [], 'a faulty ledger is left alone for a while')
  worker.faulty.resume(app.ledger.ledger.id)
  await publishCheckpoints(worker)
  assert.equal((await checkpoints(app)).length, 1)
})

test('neither stores nor publishes a note with an invalid signature', async (t) => {
  const { app, worker, dir } = await setUp(t)
  const { sign } = worker.noteSigner
  // The checkpoint is signed first, then the tree head for receipts. The test makes each of the two signatures wrong
  // once.
  for (const wrong of [1, 2]) {
    let signed = 0
    const noteSigner = {
      ...worker.noteSigner,
      sign: (message: Uint8Array) => (++signed === wrong ? new Uint8Array(64) : sign(message)),
    }
    await publishCheckpoints({ ...worker, noteSigner })
    worker.faulty.resume(app.ledger.ledger.id)
    assert.equal(worker.logged.length, wrong)
    assert.deepEqual(await checkpoints(app), [])
    assert.equal(await worker.storedCheckpoints.find(app.ledger.ledger.id), null)
  }
  await publishCheckpoints(worker)
  assert.equal((await checkpoints(app)).length, 1)
  assert.deepEqual(await readdir(join(dir, 'checkpoints')), [`${app.ledger.ledger.id}.note`])
})

test('the stored note is the newest one, and is the only file in its folder', async (t) => {
  const { app, worker, dir } = await setUp(t)
  await publishCheckpoints(worker)
  await app.notarize()
  await makeOlder(app)
  await publishCheckpoints(worker)
  const files = await readdir(join(dir, 'checkpoints'))
  assert.deepEqual(files, [`${app.ledger.ledger.id}.note`])
  const kept = await readFile(join(dir, 'checkpoints', files[0]!), 'utf8')
  assert.equal(kept, (await app.send('GET', '/v1/checkpoints/latest')).body)
})

test('a ledger that contradicts its stored checkpoint gets no checkpoints; other ledgers do', async (t) => {
  const { app, worker, dir } = await setUp(t)
  const other = await app.newLedger()
  for (const [size, fault] of [
    ['1000', /had 1000 entries and has fewer/],
    ['3', /first 3 entries differ from before/],
  ] as const) {
    const path = join(dir, 'checkpoints', `${app.ledger.ledger.id}.note`)
    await new StoredCheckpoints(join(dir, 'checkpoints')).store(app.ledger.ledger.id, forgedNote(app, size))
    const fresh = {
      ...worker,
      storedCheckpoints: new StoredCheckpoints(join(dir, 'checkpoints')),
      faulty: new PausedLedgers(Date.now),
    }
    await publishCheckpoints(fresh)
    const { err, ledger } = worker.logged.pop() as { err: Error; ledger: string }
    assert.ok(err instanceof ContradictionError)
    assert.equal(ledger, app.ledger.ledger.id)
    assert.match(err.message, fault)
    await rm(path)
  }
  const published = await checkpoints(app)
  assert.deepEqual(
    published.map((row) => formatId('led', row.ledger)),
    [other.ledger.id],
  )
})

test('paused ledgers start no round at once and do not displace other ledgers', async (t) => {
  const { app, worker } = await setUp(t)
  await unguarded(
    app,
    `insert into tallystick.chain_heads
     select (jsonb_populate_record(h, jsonb_build_object('ledger_id', gen_random_uuid()))).*
     from tallystick.chain_heads h, generate_series(1, ${CHECKPOINT_LEDGERS_PER_ROUND})`,
  )
  const faulty = await app.sql<{ id: Uuid }>(
    'select ledger_id as id from tallystick.chain_heads where ledger_id <> $1',
    [app.ledgerId],
  )
  for (const { id } of faulty) worker.faulty.pause(formatId('led', id))
  assert.equal(await publishCheckpoints(worker), false)
  assert.equal((await checkpoints(app)).length, 1)
  assert.equal(await publishCheckpoints(worker), false)
  assert.deepEqual(worker.logged, [])
})

async function setUp(t: Test): Promise<{ app: TestApp; worker: Publisher; dir: string }> {
  const app = await lendApp(t)
  const dir = await mkdtemp(join(tmpdir(), 'tallystick-kept-'))
  const pool = lentPool(t, app, 'publish', () => openTestPool(app.database.workerUrl, { max: 4 }))
  t.after(() => rm(dir, { recursive: true }))
  return { app, worker: await makePublisher(pool, dir), dir }
}

test('publishes no checkpoint on a stored tree that differs from the last checkpoint', async (t) => {
  const { app, worker } = await setUp(t)
  await publishCheckpoints(worker)
  await app.notarize()
  await makeOlder(app)
  await unguarded(
    app,
    'update tallystick.tree_frontiers set hashes = set_byte(hashes, 0, get_byte(hashes, 0) # 1)',
  )
  await publishCheckpoints(worker)
  assert.equal((await checkpoints(app)).length, 1)
  assert.match((worker.logged[0] as { err: Error }).err.message, /differs from its checkpoint of 3 entries/)
})

async function checkpoints(app: TestApp) {
  return app.sql<{ ledger: Uuid; size: string; root: Buffer }>(
    'select ledger_id as ledger, size, root from tallystick.checkpoints order by ledger_id, size',
  )
}

async function makeOlder(app: TestApp): Promise<void> {
  await unguarded(app, "update tallystick.checkpoints set published_at = published_at - interval '2 seconds'")
}

async function notarizeMany(app: TestApp, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => app.notarize()))
}

function leavesOf(lines: { leaf: string }[]): Uint8Array[] {
  return lines.map((line) => Buffer.from(line.leaf, 'hex'))
}

async function assertTiles(app: TestApp, leaves: Uint8Array[]): Promise<void> {
  const rows = await app.sql<{ level: number; tile_index: string; hashes: Buffer }>(
    'select level, tile_index, hashes from tallystick.tree_tiles order by level, tile_index',
  )
  const full = Math.floor(leaves.length / 256)
  const lower = Array.from({ length: full }, (_, i) => leaves.slice(i * 256, (i + 1) * 256))
  const expected = lower.map((tile, i) => ({ level: 0, tile_index: `${i}`, hashes: Buffer.concat(tile) }))
  const roots = lower.map((tile) => merkleRoot(sha256, tile))
  if (full > 0) expected.push({ level: 1, tile_index: '0', hashes: Buffer.concat(roots) })
  assert.deepEqual(rows, expected)
}

function forgedNote(app: TestApp, size: string): string {
  const origin = app.ledger.ledger.origin
  const hash = Buffer.alloc(32, 1).toString('base64')
  const signature = Buffer.alloc(68, 1).toString('base64')
  return `${origin}\n${size}\n${hash}\nchain ${hash}\n\n— ${origin} ${signature}\n`
}
