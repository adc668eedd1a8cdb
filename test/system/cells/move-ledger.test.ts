import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { Tallystick } from '../../../sdk/index.ts'
import type { NewLedger } from '../../../src/ledgers/create-ledger.ts'
import { formatId } from '../../../src/proof/ids.ts'
import { parseCheckpoint } from '../../../src/proof/tree/checkpoint.ts'
import { database } from '../../../src/verify/database.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { bareEnvironment } from '../../helpers/bare-environment.ts'
import {
  askAnew,
  live,
  Member,
  type Organisation,
  offer,
  peer,
  registerDelivery,
  share,
  startOrganisations,
  take,
  untilBoth,
  untilQuiet,
} from '../../helpers/federation.ts'
import { freePort } from '../../helpers/free-port.ts'
import { DELIVERY } from '../../helpers/gated-app.ts'
import { post } from '../../helpers/post.ts'
import { runCommand } from '../../helpers/run-script.ts'
import { until } from '../../helpers/wait.ts'
import { startReceiver } from '../../helpers/webhook-receiver.ts'
import { cosignersOf, type RunningWitness, startWitness } from '../../helpers/witness.ts'
import { type Deployment, MASTER_KEY, OPERATOR_KEY } from '../deployment/deployment.ts'
import { startTestDeployment } from '../deployment/test-deployment.ts'
import { type Haproxy, isHaproxyThere, startHaproxy } from './haproxy.ts'

const skip = !isHaproxyThere && 'haproxy is not installed'
const COMMAND = 'move-ledger'
/** Number of moves between the two deployments while writers append. The variable can set a higher number. */
const MOVES = Number(process.env['TALLYSTICK_TEST_MOVES'] ?? 4)
/** Retries of clients. On a busy machine a move once took longer than the SDK's five retries. */
const PATIENT = { retriesMax: 60 }
const TIMEOUT_MS = 500_000
/** Maximum wait in ms for a peer. A refused peer waits for some seconds before it tries again. */
const PEER_MS_MAX = 60_000

let a: Deployment
let b: Deployment
let haproxy: Haproxy
let map: string
let witness: RunningWitness
const cleanups: (() => unknown)[] = []

before(
  async () => {
    if (skip) return
    const t = { name: 'two deployments', after: (cleanup: () => unknown) => cleanups.push(cleanup) }
    witness = await startWitness(t, 'w1.example', [])
    // Peers reach both deployments at HAProxy's address.
    const port = await freePort()
    const env = {
      TALLYSTICK_PUBLIC_URL: `http://127.0.0.1:${port}`,
      TALLYSTICK_WITNESSES: `${witness.vkey} ${witness.url}`,
    }
    const options = { worker: true, env, only: 'migrated' } as const
    a = await startTestDeployment(t, options)
    b = await startTestDeployment(t, options)
    for (const { superuserUrl } of [a, b]) await allowMoves(superuserUrl)
    await a.startAll()
    const shared = await move(a, b, 'share-keys')
    assert.equal(shared.code, 0, shared.stderr)
    await b.startAll()
    haproxy = await startHaproxy({ a: a.url, b: b.url, c: b.url }, {}, port)
    map = /^\d+ \((.+ledgers\.map)\)/m.exec(await haproxy.command('show map'))![1]!
  },
  { timeout: TIMEOUT_MS },
)
test.after(async () => {
  for (const cleanup of cleanups) await cleanup()
})

async function allowMoves(superuserUrl: string): Promise<void> {
  await sql(superuserUrl, 'grant set on parameter session_replication_role to tallystick_owner')
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
async function sql(url: string, text: string, values: unknown[] = []): Promise<any[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

type Place = Pick<Deployment, 'ownerUrl'>

const environmentOf = (from: Place, to: Place) => ({
  DATABASE_URL: from.ownerUrl,
  TALLYSTICK_TARGET_DATABASE_URL: to.ownerUrl,
  TALLYSTICK_MASTER_KEY: Buffer.from(MASTER_KEY).toString('hex'),
})

function move(from: Place, to: Place, ...args: string[]) {
  return runCommand(COMMAND, args, { env: environmentOf(from, to) })
}

function switchTo(name: 'a' | 'b'): string[] {
  const program =
    `const socket = require('net').connect(process.argv[1]);` +
    `socket.write('clear map ' + process.argv[2] + ';add map ' + process.argv[2] + ' ' + process.env.LEDGER + ' ${name}\\n');` +
    `socket.on('end', () => process.exit(0)).resume()`
  return ['--switch', `'${process.execPath}' -e "${program}" '${haproxy.socket}' '${map}'`]
}

async function makeLedger(name: string): Promise<NewLedger> {
  return post<NewLedger>(`${a.url}/v1/ledgers`, OPERATOR_KEY, { name, agent: 'tester' })
}

const clientOf = (ledger: NewLedger) => new Tallystick({ baseUrl: haproxy.url, apiKey: ledger.key.key })

async function verify(place: Place, ledger: NewLedger) {
  const report = await verifyLedger(database(place.ownerUrl, ledger.ledger.id), { lateTail: 'noticed' })
  assert.equal(report.ok, true, JSON.stringify(report))
  return report
}

const standing = (place: Deployment, ledger: NewLedger) =>
  sql(
    place.superuserUrl,
    `select closed, size::int from tallystick.chain_heads where ledger_id = (select ledger_id from tallystick.ledgers where origin = $1)`,
    [ledger.ledger.origin],
  )

async function send(
  ledger: NewLedger,
  path: string,
  body: object,
  headers: Record<string, string> = {},
  url = haproxy.url,
) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${ledger.key.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  return { status: response.status, headers: response.headers, body: (await response.json()) as any }
}

test('a ledger is moved with all its data, under writers, without a lost request', {
  skip,
  timeout: TIMEOUT_MS,
}, async (t) => {
  const ledger = await makeLedger('moves')
  const client = clientOf(ledger)
  const receiver = await startReceiver()
  t.after(async () => receiver.close())
  assert.equal(
    (await send(ledger, '/v1/webhooks', { url: receiver.url, events: ['record.recorded'] })).status,
    201,
  )
  assert.equal((await send(ledger, '/v1/types', DELIVERY)).status, 201)
  const worker = await send(ledger, '/v1/keys', {
    name: 'worker',
    scopes: ['records:write', 'records:read:own'],
  })
  assert.equal(worker.status, 201, JSON.stringify(worker.body))
  const erased = await client.records.notarize({ payload: { person: 'Ada' } })
  const batch = await send(ledger, '/v1/records/batch', {
    records: Array.from({ length: 200 }, (_, n) => ({ type: 'generic/1', payload: { n } })),
  })
  assert.equal(batch.status, 201)
  const erasure = await fetch(`${haproxy.url}/v1/records/${erased.id}/payload`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${ledger.key.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ code: 'data_subject_request' }),
  })
  assert.ok(erasure.ok, await erasure.text())
  const order = await send(ledger, '/v1/records', {
    type: 'delivery/1',
    payload: { quantity: 100, currency: 'EUR' },
    performer: worker.body.agent,
  })
  assert.equal(order.status, 201, JSON.stringify(order.body))
  const once = { 'idempotency-key': 'before-the-move' }
  const first = await send(ledger, '/v1/records', { type: 'generic/1', payload: { once: true } }, once)
  assert.equal(first.status, 201, JSON.stringify(first.body))
  await until(
    async () =>
      (
        await fetch(`${haproxy.url}/v1/checkpoints/latest`, {
          headers: { authorization: `Bearer ${ledger.key.key}` },
        })
      ).ok,
  )

  const acked = new Set<string>()
  let isOver = false
  t.after(async () => {
    isOver = true
  })
  const writers = Array.from({ length: 3 }, async (_, writer) => {
    for (let n = 0; !isOver; n += 1)
      acked.add((await client.records.notarize({ payload: { writer, n } }, PATIENT)).id)
  })
  const writing = Promise.all(writers)
  writing.catch(() => {})
  await until(() => acked.size > 20)
  for (let n = 0; n < MOVES; n += 1) {
    const [from, to, name] = n % 2 === 0 ? ([a, b, 'b'] as const) : ([b, a, 'a'] as const)
    const before = acked.size
    const moved = await move(from, to, ledger.ledger.id, ...switchTo(name))
    assert.equal(moved.code, 0, moved.stdout + moved.stderr)
    assert.match(moved.stdout, /INTEGRITY_OK/)
    assert.equal((await standing(from, ledger))[0].closed, 'moved')
    await until(() => acked.size > before + 10)
  }
  // The ledger ends on `b`, so that the following checks use another deployment than at the start.
  if (MOVES % 2 === 0) assert.equal((await move(a, b, ledger.ledger.id, ...switchTo('b'))).code, 0)
  await until(async () => (await standing(b, ledger))[0].closed === null)
  isOver = true
  await writing

  const found = await sql(
    b.superuserUrl,
    'select record_id from tallystick.records r join tallystick.ledgers l using (ledger_id) where origin = $1',
    [ledger.ledger.origin],
  )
  const all = [...acked, erased.id, order.body.id, first.body.id]
  assert.deepEqual(found.map(({ record_id: id }) => formatId('rec', id)).sort(), all.sort())
  await verify(b, ledger)
  await verify(a, ledger)

  const again = await send(ledger, '/v1/records', { type: 'generic/1', payload: { once: true } }, once)
  assert.equal(again.body.id, first.body.id)
  const refused = await send(ledger, '/v1/records', { type: 'generic/1', payload: {} }, {}, a.url)
  assert.deepEqual([refused.status, refused.body.code, refused.body.retryable], [421, 'ledger_moved', false])
  const asWorker = { ...ledger, key: { ...ledger.key, key: worker.body.key } }
  assert.equal((await send(asWorker, `/v1/records/${order.body.id}/activate`, {})).status, 200)
  const done = await send(asWorker, `/v1/records/${order.body.id}/completions`, {
    evidence: { quantity: 100, currency: 'EUR' },
  })
  assert.equal(done.status, 200, JSON.stringify(done.body))
  await until(async () => (await client.records.get(order.body.id)).state === 'VERIFIED')
  // The webhook receives each record at least once, from the worker of either deployment.
  await until(() => {
    const told = receiver.received.map(({ body }) => body).join()
    return [...acked].every((id) => told.includes(id))
  })

  assert.equal((await move(a, b, 'forget', ledger.ledger.id)).code, 0)
  assert.deepEqual(await standing(a, ledger), [])
  await verify(b, ledger)
})

test('a moved ledger continues with its peers, holds and witnesses', {
  skip,
  timeout: TIMEOUT_MS,
}, async (t) => {
  const home = new Member('moved', [haproxy.url], a.superuserUrl)
  await home.createLedger(OPERATOR_KEY)
  const [guest] = (await startOrganisations(t, 1)) as [Organisation]
  const { noteVerifierKey } = await home.ask('GET', '/v1/ledger')
  witness.know(noteVerifierKey)
  await registerDelivery(home)
  const id = await peer(home, guest)
  const shared = { home, guest, peer: id, performer: await guest.addAgent('performer') }
  await live(await share(shared))
  const onItsWay = await share(shared)
  await untilBoth(onItsWay, 'CREATED')
  await offer(onItsWay, 'activate')
  await untilBoth(onItsWay, 'ACTIVE')
  const kept = await home.ask('POST', '/v1/records', { body: { type: 'generic/1', payload: { n: 1 } } })
  const hold = await home.ask('POST', '/v1/holds', { body: { case: '2027/1', records: [kept.id] } })
  const { ownKey } = (await guest.ask('GET', `/v1/peers/${id}`)).witness
  const cosigned = () => home.ask('GET', '/v1/checkpoints/latest?cosignatures=2') as Promise<string>
  const untilCosigned = async () => {
    const { size } = await home.ask('GET', '/v1/ledger')
    await until(async () => {
      const { status, body } = await home.send('GET', '/v1/checkpoints/latest?cosignatures=2')
      return status === 200 && parseCheckpoint(body).checkpoint.size >= size
    }, PEER_MS_MAX)
    assert.equal(cosignersOf(await cosigned(), [witness.vkey, ownKey]).length, 2)
  }
  await untilCosigned()

  const moved = await move(a, b, home.ledger)
  assert.equal(moved.code, 0, moved.stdout + moved.stderr)
  // As long as requests still go to the old deployment, the guest's server gets `ledger_moving` and tries again.
  await offer(onItsWay, 'completions')
  const [, ...command] = switchTo('b')
  await promisify(execFile)('sh', ['-c', command.join(' ')], { env: { LEDGER: home.ledger } })
  assert.equal((await move(a, b, 'finish', home.ledger)).code, 0)
  await untilBoth(onItsWay, 'VERIFIED', PEER_MS_MAX)
  await take(onItsWay, 'verdict', { verdict: 'accept' })
  await untilBoth(onItsWay, 'ACCEPTED', PEER_MS_MAX)
  await live(await share(shared))
  for (const side of [home, guest]) {
    await untilQuiet(side, id)
    const { reconciled, reasons, summary } = await askAnew(side, id)
    assert.deepEqual([reconciled, reasons, summary.records, summary.differences], [true, [], 3, []])
  }

  const erase = () =>
    home.send('DELETE', `/v1/records/${kept.id}/payload`, { body: { code: 'data_subject_request' } })
  const held = await erase()
  assert.deepEqual(
    [held.status, held.body.code, held.body.holds],
    [409, 'held', [{ seq: hold.seq, case: '2027/1' }]],
  )
  await home.ask('POST', `/v1/holds/${hold.seq}/lift`, { body: {} })
  assert.equal((await erase()).status, 202)

  await untilCosigned()
  const theirs = (await home.ask('GET', `/v1/peers/${id}`)).witness
  await until(async () => {
    const { size } = await guest.ask('GET', '/v1/ledger')
    const { seenSize, fork } = (await home.ask('GET', `/v1/peers/${id}`)).witness
    assert.equal(fork, null)
    return seenSize >= Math.max(size, theirs.seenSize)
  }, PEER_MS_MAX)
  const report = await verifyLedger(database(b.ownerUrl, home.ledger), { lateTail: 'noticed' })
  assert.equal(report.ok, true, JSON.stringify(report))
})

test('a move continues after a kill at each step', { skip, timeout: TIMEOUT_MS }, async () => {
  for (const line of [/is closed at the source/, /copied rows/, /INTEGRITY_OK/, /is open at the target/]) {
    const ledger = await makeLedger(`killed at ${line.source}`)
    const client = clientOf(ledger)
    for (let n = 0; n < 20; n += 1) await client.records.notarize({ payload: { n } })
    // The switch command takes 30 s, so a kill during it comes after the activation.
    await killAt(line, ledger, ['--switch', 'sleep 30'])
    const moved = await move(a, b, ledger.ledger.id, ...switchTo('b'))
    assert.equal(moved.code, 0, `${line}: ${moved.stdout}${moved.stderr}`)
    const record = await client.records.notarize({ payload: { after: true } })
    assert.equal((await client.records.get(record.id)).id, record.id)
    assert.equal((await standing(a, ledger))[0].closed, 'moved')
    assert.equal((await verify(b, ledger)).entries, 24)
    assert.match((await move(a, b, ledger.ledger.id)).stdout, /has already moved/)
  }
})

async function killAt(line: RegExp, ledger: NewLedger, args: string[]): Promise<void> {
  const child = spawn(process.execPath, ['src/run/command.ts', COMMAND, ledger.ledger.id, ...args], {
    env: { ...bareEnvironment(), ...environmentOf(a, b) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  for await (const text of child.stdout.setEncoding('utf8')) {
    said += text
    if (line.test(said)) child.kill('SIGKILL')
  }
  assert.match(said, line)
}

test('during a move writes get 503 ledger_moving and reads work; undo fails after target writes', {
  skip,
  timeout: TIMEOUT_MS,
}, async () => {
  const ledger = await makeLedger('given back')
  const body = { type: 'generic/1', payload: {} }
  const first = await send(ledger, '/v1/records', body, { 'idempotency-key': 'k' })
  assert.equal((await move(a, b, ledger.ledger.id)).code, 0)
  const waits = await send(ledger, '/v1/records', body)
  assert.deepEqual([waits.status, waits.body.code, waits.body.retryable], [503, 'ledger_moving', true])
  assert.equal(waits.headers.get('retry-after'), '1')
  const webhook = await send(ledger, '/v1/webhooks', { url: 'https://example.com/', events: ['*'] })
  assert.deepEqual([webhook.status, webhook.body.code], [503, 'ledger_moving'])
  assert.equal((await send(ledger, '/v1/records', body, { 'idempotency-key': 'k' })).body.id, first.body.id)
  const undone = await move(a, b, 'undo', ledger.ledger.id)
  assert.equal(undone.code, 0, undone.stderr)
  assert.equal((await send(ledger, '/v1/records', body)).status, 201)

  assert.equal((await move(a, b, ledger.ledger.id)).code, 0)
  assert.equal((await send(ledger, '/v1/records', body, {}, b.url)).status, 201)
  const late = await move(a, b, 'undo', ledger.ledger.id)
  assert.match(late.stderr, /1 more entries at the target: move the ledger back instead/)
  assert.equal((await move(a, b, 'finish', ledger.ledger.id)).code, 0)
  const [option, command] = switchTo('a')
  const saysMuch = `head -c 2000000 /dev/zero && ${command}`
  assert.equal((await move(b, a, ledger.ledger.id, option!, saysMuch)).code, 0)
  assert.equal((await send(ledger, '/v1/records', body)).status, 201)
})

test('an undo that was killed while it waited loses no entry written at the target', {
  skip,
  timeout: TIMEOUT_MS,
}, async (t) => {
  const ledger = await makeLedger('undone half')
  const body = { type: 'generic/1', payload: {} }
  const grow = async () => assert.equal((await send(ledger, '/v1/records', body, {}, b.url)).status, 201)
  const isClosed = async () => (await standing(b, ledger))[0].closed === 'moving'
  assert.equal((await move(a, b, ledger.ledger.id)).code, 0)
  const writer = new pg.Client({ connectionString: b.superuserUrl })
  await writer.connect()
  t.after(() => writer.end())
  for (const args of [['undo', ledger.ledger.id], [ledger.ledger.id]]) {
    await grow()
    await writer.query('begin; select pg_current_xact_id()')
    const undo = spawn(process.execPath, ['src/run/command.ts', COMMAND, 'undo', ledger.ledger.id], {
      env: { ...bareEnvironment(), ...environmentOf(a, b) },
      stdio: 'inherit',
    })
    await until(isClosed)
    undo.kill('SIGKILL')
    await writer.query('rollback')
    const again = await move(a, b, ...args)
    assert.match(again.stderr, /more entries at the target: move the ledger back instead/, args.join(' '))
    await grow()
  }
  assert.equal((await verify(b, ledger)).entries, (await standing(b, ledger))[0].size)
  assert.equal((await move(a, b, 'finish', ledger.ledger.id)).code, 0)
})

// This test must be the last, because afterwards the target lacks the key of some ledgers.
test('a move is refused if the target has retired the ledger’s key', {
  skip,
  timeout: TIMEOUT_MS,
}, async () => {
  const ledger = await makeLedger('of a key that is gone')
  const [{ kid }] = await sql(
    a.superuserUrl,
    `select envelope_kid as kid from tallystick.chain_heads h join tallystick.ledgers l using (ledger_id) where origin = $1`,
    [ledger.ledger.origin],
  )
  const env = { ...environmentOf(b, a), TALLYSTICK_TARGET_DATABASE_URL: '' }
  assert.equal((await runCommand('rotate-key', ['--force'], { env })).code, 0)
  // retire_envelope_keys retires the key in the same way, once the key signs for no ledger of the deployment.
  await sql(b.superuserUrl, 'update tallystick.server_keys set retired_at = now() where kid = $1', [kid])
  await sql(b.superuserUrl, 'delete from tallystick.envelope_key_secrets where kid = $1', [kid])
  const moved = await move(a, b, ledger.ledger.id)
  assert.match(moved.stderr, /the target has retired the key/)
  assert.equal((await send(ledger, '/v1/records', { type: 'generic/1', payload: {} })).status, 201)
})
