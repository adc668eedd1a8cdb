import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { serverLedger } from '../../../cli/server-ledger.ts'
import { Tallystick } from '../../../sdk/client.ts'
import { publishCheckpoints } from '../../../src/followers/checkpoints/publish.ts'
import { rotateKeys } from '../../../src/followers/rotation/rotate-keys.ts'
import { database } from '../../../src/verify/database.ts'
import { exportFile } from '../../../src/verify/export-file.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import type { Test, TestApp } from '../../helpers/app.ts'
import { bareEnvironment } from '../../helpers/bare-environment.ts'
import { unguarded } from '../../helpers/checkpoints.ts'
import { openTestPool } from '../../helpers/connect.ts'
import { TEST_MASTER_KEY } from '../../helpers/database.ts'
import { lendApp } from '../../helpers/lent-app.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { makePublisher } from '../../helpers/publisher.ts'
import { envelopeKeys, kidOf, makeRotator, passTwoMinutes, rotateKey } from './rotation.ts'

const PROJECT_DIR = join(import.meta.dirname, '..', '..', '..')

test('npm run op -- rotate-key makes a key and prints the next step; a rerun is refused', async (t) => {
  const app = await lendApp(t)
  const oldKid = await kidOf(app)
  const first = run(app, [])
  assert.equal(first.status, 0, first.stderr)
  const [old, newest] = await envelopeKeys(app)
  assert.equal(old!.kid, oldKid)
  assert.match(first.stdout, new RegExp(`^old key  ${oldKid}$\n^new key  ${newest!.kid}$\n`, 'm'))
  assert.match(first.stdout, /worker now moves every ledger/)

  const second = run(app, [])
  assert.deepEqual([second.status, second.stdout], [1, ''])
  assert.match(second.stderr, /an earlier rotation is not finished/)
  assert.equal((await envelopeKeys(app)).length, 2)
  assert.equal(run(app, ['--force', '--compromised-at', '2026-01-31T00:00Z']).status, 0)
  assert.deepEqual(
    (await envelopeKeys(app)).map(({ compromised }) => compromised),
    [true, true, false],
  )
})

test('npm run op -- rotate-key changes nothing if its arguments are invalid', async (t) => {
  const app = await lendApp(t)
  for (const [args, env, reason] of [
    [['--compromised-at', '2026-13-01T00:00Z'], {}, /2026-13-01T00:00Z is not a time such as/],
    [['--compromised-at', '2026-02-30T00:00Z'], {}, /2026-02-30T00:00Z is not a time such as/],
    [['--compromised-at', '2999-01-01T00:00:00.000Z'], {}, /is in the future/],
    [['--comprised'], {}, /usage: rotate-key/],
    [[], { DATABASE_URL: app.database.apiUrl }, /permission denied/],
    [[], { TALLYSTICK_MASTER_KEY: '00'.repeat(32) }, /TALLYSTICK_MASTER_KEY is not the one/],
  ] as [string[], Record<string, string>, RegExp][]) {
    const { status, stderr } = run(app, args, env)
    assert.equal(status, 1)
    assert.match(stderr, reason)
  }
  assert.equal((await envelopeKeys(app)).length, 1)
})

test('the earliest reported time of a key’s compromise is stored', async (t) => {
  const app = await lendApp(t)
  const [early, late] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-02-01T00:00:00Z')]
  for (const compromisedAt of [late, early, late]) await rotateKey(app, { compromisedAt, force: true })
  const [first] = await app.sql<{ compromised_at: Date }>(
    "select compromised_at from tallystick.server_keys where use = 'envelope' order by activated_at limit 1",
  )
  assert.deepEqual(first!.compromised_at, early)
})

test('entries signed by a compromised key count only up to a stored checkpoint, in every source', async (t) => {
  const app = await lendApp(t)
  const worker = makeRotator(t, app)
  const publish = await makePublish(t, app)
  const before = await publish()
  await app.notarize()
  await rotateKey(app, { compromisedAt: new Date('2026-01-01T00:00:00Z') })
  await rotateKeys(worker)
  await passTwoMinutes(app)
  await rotateKeys(worker)
  await app.notarize()
  const after = await publish()

  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json', { key: null })).json()
  assert.deepEqual(
    keys.map((key: { compromisedAt: string | null }) => key.compromisedAt),
    ['2026-01-01T00:00:00.000Z', null],
  )
  const file = join(temporaryDir(), 'export.ndjson')
  writeFileSync(file, (await app.send('GET', '/v1/export')).body)
  const url = await app.app.listen({ port: 0, host: '127.0.0.1' })
  for (const source of [
    exportFile(file),
    serverLedger(new Tallystick({ baseUrl: url, apiKey: app.ledger.key.key }), url),
    database(app.database.superuserUrl, app.ledger.ledger.id),
  ]) {
    const verify = async (checkpoints: string[]) => {
      const report = await verifyLedger(source, { threads: 1, checkpoints })
      return report.failure ?? report.covered
    }
    for (const checkpoints of [[], [before]]) {
      const failure = await verify(checkpoints)
      assert.ok(typeof failure === 'object', source.name)
      assert.equal(failure.code, 'key_compromised', failure.reason)
      // Entry 4 is the last entry that the old key signed. It names the new key.
      assert.match(failure.reason, /signed up to seq 4/)
    }
    assert.equal(await verify([before, after]), 6)
  }
})

function run(app: TestApp, args: string[], env: Record<string, string> = {}) {
  return spawnSync(process.execPath, ['src/run/command.ts', 'rotate-key', ...args], {
    cwd: PROJECT_DIR,
    encoding: 'utf8',
    env: {
      ...bareEnvironment(),
      DATABASE_URL: app.database.ownerUrl,
      TALLYSTICK_MASTER_KEY: Buffer.from(TEST_MASTER_KEY).toString('hex'),
      ...env,
    },
  })
}

async function makePublish(t: Test, app: TestApp): Promise<() => Promise<string>> {
  const pool = openTestPool(app.database.workerUrl, { max: 2 })
  t.after(() => pool.end())
  const publisher = await makePublisher(pool, temporaryDir())
  return async () => {
    await unguarded(
      app,
      "update tallystick.checkpoints set published_at = published_at - interval '2 seconds'",
    )
    await publishCheckpoints(publisher)
    return (await app.send('GET', '/v1/checkpoints/latest')).body
  }
}
