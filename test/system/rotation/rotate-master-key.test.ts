import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { MASTER_KEY_AGE_MS_MAX } from '../../../src/followers/limits.ts'
import { buildApp } from '../../../src/http/app.ts'
import { openWebhookSecret } from '../../../src/outside/webhooks/secrets.ts'
import { parseId, type Uuid } from '../../../src/proof/ids.ts'
import { openDeps } from '../../../src/run/deps.ts'
import { archiveKeyContext, makeArchiveKeys } from '../../../src/signing/archive-keys.ts'
import { makeMasterKey, masterKeyId } from '../../../src/signing/master-key.ts'
import { makePeerMacs } from '../../../src/signing/peer-macs.ts'
import { database } from '../../../src/verify/database.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { buildTestApp, OPERATOR_KEY, type Test, type TestApp, testConfig } from '../../helpers/app.ts'
import { TEST_MASTER_KEY } from '../../helpers/database.ts'
import { namedKey } from '../../helpers/peered-chains.ts'
import { runCommand, type ScriptRun } from '../../helpers/run-script.ts'
import { makeSigner } from '../../helpers/test-chain.ts'
import { addPeer } from '../../helpers/test-peers.ts'
import { makeWebhook } from '../../helpers/webhooks.ts'
import { startWorkerOn } from '../deployment/test-deployment.ts'

const NEW_KEY = new Uint8Array(32).fill(8)
const hex = (key: Uint8Array) => Buffer.from(key).toString('hex')
const BOTH = {
  TALLYSTICK_MASTER_KEY: hex(NEW_KEY),
  TALLYSTICK_MASTER_KEY_PREVIOUS: hex(TEST_MASTER_KEY),
}
const NEW = { TALLYSTICK_MASTER_KEY: hex(NEW_KEY) }

test('the master key is replaced under a running server and worker, and no request fails', async (t) => {
  const app = await buildTestApp(t)
  const both = await serverOn(t, app, BOTH)
  await startWorkerOn(t, app.database, { env: BOTH })
  const load = startLoad(both, app.ledger.key.key)

  // Servers that do not know the new master key yet must be able to open what servers with both keys seal.
  const before = await both.makeKey(app.ledger.key.key)
  assert.equal(await statusOf(app, before), 201)
  await makeWebhook(app, {}, app.ledger.key.key)
  await openWebhooks(app, TEST_MASTER_KEY)
  const ledgerId = parseId('led', app.ledger.ledger.id)
  const archived = makeArchiveKeys()
  const context = archiveKeyContext(ledgerId, 0)
  await app.sql('insert into tallystick.archive_keys values ($1, 0, $2)', [
    ledgerId,
    makeMasterKey(TEST_MASTER_KEY).seal(archived, context),
  ])

  const first = await run(app, BOTH)
  assert.match(
    first.stdout,
    /^resealed: server keys 2, secrets of webhooks 1, secrets of API keys 2, keys of peers 0, keys of archived documents 1, cursors \d+\.$/m,
  )
  // The secret of this API key is usually sealed by a server that has not read the master keys since the command began.
  const late = await both.makeKey(app.ledger.key.key)
  await sleep(MASTER_KEY_AGE_MS_MAX * 1.5)
  const after = await both.makeKey(before)
  const second = await run(app, BOTH)
  const resealed =
    /secrets of webhooks 0, secrets of API keys 1, keys of peers 0, keys of archived documents 0, cursors \d+\.$/m.test(
      second.stdout,
    )
      ? 1
      : 0
  assert.match(
    resealed ? (await run(app, BOTH)).stdout : second.stdout,
    /remove TALLYSTICK_MASTER_KEY_PREVIOUS everywhere/,
  )

  const next = await serverOn(t, app, NEW)
  for (const key of [app.ledger.key.key, before, late, after]) assert.equal(await next.notarize(key), 201)
  await openWebhooks(app, NEW_KEY)
  const [resealedKeys] = await app.sql<{ sealed: Buffer }>('select sealed from tallystick.archive_keys')
  assert.deepEqual(makeMasterKey(NEW_KEY).open(resealedKeys!.sealed, context), archived)
  assert.deepEqual([...new Set(await load.stop())], [201])
  const report = await verifyLedger(database(app.database.ownerUrl, app.ledger.ledger.id), { threads: 0 })
  assert.equal(report.failure, null)
  await assert.rejects(openDeps(testConfig(app.database.apiUrl)), /TALLYSTICK_MASTER_KEY/)
  await assert.rejects(startWorkerOn(t, app.database), /TALLYSTICK_MASTER_KEY/)
  const change = [hex(masterKeyId(TEST_MASTER_KEY)), hex(masterKeyId(NEW_KEY)), 'tallystick_owner']
  assert.deepEqual(await changes(app), [
    [...change, 2, 1, 2, 0],
    ...(resealed ? [[...change, 0, 0, 1, 0]] : []),
  ])
})

test('writes work before and after Postgres forgets the previous master key', async (t) => {
  const app = await buildTestApp(t)
  const both = await serverOn(t, app, BOTH)
  const hook = (path: string) => {
    const body = { url: `https://hooks.example/${path}`, events: ['record.recorded'] }
    return both.status('POST', '/v1/webhooks', app.ledger.key.key, body)
  }
  assert.equal(await hook('before'), 201)
  await run(app, BOTH)
  await sleep(MASTER_KEY_AGE_MS_MAX * 1.5)
  assert.match((await run(app, BOTH)).stdout, /remove TALLYSTICK_MASTER_KEY_PREVIOUS everywhere/)
  assert.equal(await hook('after'), 201)
})

test('forged rows are not resealed, and are counted', async (t) => {
  const app = await buildTestApp(t)
  await app.sql(
    `insert into tallystick.api_key_secrets (ledger_id, secret_hash, key_id, mac)
     select ledger_id, sha256('forged'), key_id, sha256('forged') from tallystick.api_keys`,
  )
  const { peer, peerId } = await addPeer(app)
  const [genuine, forged] = [makeSigner(), makeSigner()].map((signer) => namedKey(signer))
  const ofPeer = { ledger: app.ledger.ledger.id, peer, ...genuine! }
  const mac = makePeerMacs(makeMasterKey(TEST_MASTER_KEY)).key.of(ofPeer)
  for (const [{ kid, spki }, until] of [
    [genuine!, null],
    [forged!, 7],
  ] as const)
    await app.sql(
      `insert into tallystick.peer_keys (ledger_id, peer_id, kid, alg, spki, until_seq, mac)
       select ledger_id, peer_id, decode($2, 'hex'), 'EdDSA', decode($3, 'base64'), $4, $5 from tallystick.peers where peer_id = $1`,
      [peerId, kid, spki, until, mac],
    )
  const { code, stdout } = await run(app, BOTH)
  assert.equal(code, 0)
  assert.match(
    stdout,
    /secrets of API keys 1, keys of peers 1, keys of archived documents 0, cursors \d+\.[\s\S]*^2 rows are sealed under neither key/m,
  )
  const macs = await app.sql<{ mac: Buffer }>(
    'select mac from tallystick.peer_keys order by until_seq nulls first',
  )
  assert.ok(makePeerMacs(makeMasterKey(NEW_KEY)).key.isOf(ofPeer, macs[0]!.mac))
  assert.deepEqual(macs[1]!.mac, mac)
  const [row] = await app.sql(
    "select mac = sha256('forged') as same from tallystick.api_key_secrets where secret_hash = sha256('forged')",
  )
  assert.deepEqual(row, { same: true })
})

test('changes nothing without both keys, or with a wrong previous key', async (t) => {
  const app = await buildTestApp(t)
  const stranger = '55'.repeat(32)
  for (const [env, reason] of [
    [{ TALLYSTICK_MASTER_KEY: hex(NEW_KEY) }, /TALLYSTICK_MASTER_KEY_PREVIOUS is not set/],
    [{ ...BOTH, TALLYSTICK_MASTER_KEY_PREVIOUS: stranger }, /a sealed key cannot be opened/],
    [{ ...BOTH, DATABASE_URL: app.database.apiUrl }, /permission denied/],
  ] as [Record<string, string>, RegExp][]) {
    const { code, stdout, stderr } = await run(app, env)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, reason)
  }
  assert.deepEqual(await changes(app), [])
  assert.equal(await (await serverOn(t, app, {})).notarize(app.ledger.key.key), 201)
})

test('the operator’s key is replaced server by server, and both keys work meanwhile', async (t) => {
  const app = await buildTestApp(t)
  const newKey = `tlo_${'n'.repeat(40)}`
  const replaced = { TALLYSTICK_OPERATOR_KEY: newKey, TALLYSTICK_OPERATOR_KEY_PREVIOUS: OPERATOR_KEY }
  const meanwhile = await serverOn(t, app, replaced)
  const done = await serverOn(t, app, { TALLYSTICK_OPERATOR_KEY: newKey })
  const statuses = async (server: Server) => [
    await server.status('GET', '/v1/ledgers', newKey),
    await server.status('GET', '/v1/ledgers', OPERATOR_KEY),
    await server.status('GET', '/v1/ledgers', `tlo_${'x'.repeat(40)}`),
  ]
  assert.deepEqual(await statuses(meanwhile), [200, 200, 401])
  assert.deepEqual(await statuses(done), [200, 401, 401])
  const none = { TALLYSTICK_OPERATOR_KEY: '', TALLYSTICK_OPERATOR_KEY_PREVIOUS: OPERATOR_KEY }
  assert.deepEqual(await statuses(await serverOn(t, app, none)), [401, 401, 401])
})

type Server = Awaited<ReturnType<typeof serverOn>>

async function serverOn(t: Test, { database }: TestApp, environment: Record<string, string>) {
  const deps = await openDeps(testConfig(database.apiUrl, environment))
  const app = buildApp(deps)
  t.after(async () => {
    await app.close()
    await deps.close()
  })
  const send = (method: 'GET' | 'POST', url: string, key: string, body?: object) =>
    app.inject({ method, url, headers: { authorization: `Bearer ${key}` }, ...(body && { payload: body }) })
  return {
    status: async (method: 'GET' | 'POST', url: string, key: string, body?: object) =>
      (await send(method, url, key, body)).statusCode,
    async notarize(key: string): Promise<number> {
      const body = { type: 'generic/1', payload: { n: 1 } }
      return (await send('POST', '/v1/records', key, body)).statusCode
    },
    async makeKey(key: string): Promise<string> {
      const scopes = ['records:write', 'keys:manage']
      const answer = await send('POST', '/v1/keys', key, { name: 'another', scopes })
      assert.equal(answer.statusCode, 201, answer.body)
      return answer.json().key
    },
  }
}

async function statusOf(app: TestApp, key: string): Promise<number> {
  const body = { type: 'generic/1', payload: { n: 1 } }
  return (await app.send('POST', '/v1/records', { key, body })).statusCode
}

/** Sends requests with an existing key one after another. `stop` ends the requests and returns their statuses. */
function startLoad(server: Server, key: string): { stop(): Promise<number[]> } {
  const stop = new AbortController()
  const running = (async () => {
    const statuses: number[] = []
    while (!stop.signal.aborted) {
      statuses.push(await server.notarize(key))
      await sleep(5)
    }
    return statuses
  })()
  return {
    stop() {
      stop.abort()
      return running
    },
  }
}

/** Opens the secrets as a worker with this key does. Throws if the key does not open them. */
async function openWebhooks(app: TestApp, key: Uint8Array): Promise<void> {
  const rows = await app.sql<{ webhook_id: Uuid; secret_id: Uuid; sealed: Buffer }>(
    'select webhook_id, secret_id, sealed from tallystick.webhook_secrets',
  )
  assert.equal(rows.length, 1)
  for (const { webhook_id, secret_id, sealed } of rows) {
    const of = { ledgerId: parseId('led', app.ledger.ledger.id), webhookId: webhook_id }
    openWebhookSecret(makeMasterKey(key), { ...of, secretId: secret_id, sealed })
  }
}

async function changes(app: TestApp): Promise<unknown[][]> {
  const rows = await app.sql<Record<string, unknown>>(
    `select encode(previous_id, 'hex') as a, encode(current_id, 'hex') as b, changed_by as c, server_keys as d,
       webhook_secrets as e, api_key_secrets as f, refused as g
     from tallystick.master_key_changes order by changed_at`,
  )
  return rows.map((row) => Object.values(row))
}

function run(app: TestApp, env: Record<string, string>): Promise<ScriptRun> {
  return runCommand('rotate-master-key', [], {
    env: { DATABASE_URL: app.database.ownerUrl, ...env },
  })
}
