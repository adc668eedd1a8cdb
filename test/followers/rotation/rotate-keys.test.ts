import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withClient } from '../../../src/db/connect/client.ts'
import { rotateKeys } from '../../../src/followers/rotation/rotate-keys.ts'
import { toHex } from '../../../src/proof/bytes.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { database } from '../../../src/verify/database.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { genericBody, OPERATOR_KEY, type TestApp } from '../../helpers/app.ts'
import { testDatabase } from '../../helpers/connect.ts'
import { lendApp } from '../../helpers/lent-app.ts'
import { createTestLedger } from '../../helpers/test-ledger.ts'
import { envelopeKeys, kidOf, makeRotator, passTwoMinutes, rotateKey } from './rotation.ts'

test('each ledger’s chain names the new key, and verifies from its first key alone', async (t) => {
  const app = await lendApp(t)
  const worker = makeRotator(t, app)
  const firstKid = await kidOf(app)
  const other = await app.newLedger()
  const { oldKids, newKid } = await rotateKey(app)
  assert.deepEqual(oldKids.map(toHex), [firstKid])
  await app.notarize()
  assert.equal(await kidOf(app), firstKid, 'until the ledger has moved, the old key signs')

  await rotateKeys(worker)
  assert.deepEqual(worker.logged, [])
  for (const ledger of [app.ledger, other]) {
    assert.equal(await kidOf(app, ledger.ledger.id), toHex(newKid))
    await app.notarize(genericBody(), { key: ledger.key.key })
    const report = await verify(app, ledger.ledger.id, [firstKid])
    assert.deepEqual([report.ok, report.keys, report.firstKid], [true, 'given', firstKid])
  }
  const kinds = (await app.entries()).map(({ kind }) => kind)
  assert.deepEqual(kinds.slice(-3), ['record-notarized', 'server-key-rotated', 'record-notarized'])
})

test('the old key is retired and its secret destroyed once no ledger uses it, after 90 s', async (t) => {
  const app = await lendApp(t)
  const worker = makeRotator(t, app)
  const oldKid = await kidOf(app)
  const { newKid } = await rotateKey(app)
  await rotateKeys(worker)
  const old = { kid: oldKid, retired: false, compromised: false, sealed: true }
  const newest = { kid: toHex(newKid), retired: false, compromised: false, sealed: true }
  assert.deepEqual(await envelopeKeys(app), [old, newest])
  await passTwoMinutes(app)
  await rotateKeys(worker)
  assert.deepEqual(await envelopeKeys(app), [{ ...old, retired: true, sealed: false }, newest])
  assert.equal(await rotateKeys(worker), false)

  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json', { key: null })).json()
  assert.deepEqual(
    keys.map((key: { kid: string; retiredAt: string | null }) => [key.kid, key.retiredAt !== null]),
    [
      [oldKid, true],
      [toHex(newKid), false],
    ],
  )
  // A server that knows only the old key continues to sign with it. New ledgers begin with the new key.
  await app.notarize()
  const made = await app.send('POST', '/v1/ledgers', { key: OPERATOR_KEY, body: { name: 'later' } })
  assert.equal(await kidOf(app, made.json().ledger.id), toHex(newKid))
  assert.equal((await verify(app, app.ledger.ledger.id, [oldKid])).ok, true)
})

test('a second rotation is refused until the first is finished, unless forced', async (t) => {
  const app = await lendApp(t)
  const worker = makeRotator(t, app)
  const firstKid = await kidOf(app)
  await rotateKey(app)
  await assert.rejects(rotateKey(app), /an earlier rotation is not finished.*--force/)
  const { oldKids, newKid } = await rotateKey(app, { force: true })
  assert.equal(oldKids.length, 2)
  await rotateKeys(worker)
  assert.equal(await kidOf(app), toHex(newKid), 'straight to the newest')
  await passTwoMinutes(app)
  await rotateKeys(worker)
  assert.deepEqual(
    (await envelopeKeys(app)).map(({ retired }) => retired),
    [true, true, false],
  )
  assert.equal((await verify(app, app.ledger.ledger.id, [firstKid])).ok, true)
})

test('three workers at once move each ledger to the new key once', async (t) => {
  const app = await lendApp(t)
  const workers = [makeRotator(t, app), makeRotator(t, app), makeRotator(t, app)]
  for (let i = 0; i < 20; i++) await app.newLedger()
  await rotateKey(app)
  await Promise.all(workers.map(rotateKeys))
  assert.deepEqual(
    workers.map(({ logged }) => logged),
    [[], [], []],
  )
  const rows = await app.sql(
    "select ledger_id from tallystick.entries where kind = 'server-key-rotated' group by 1 having count(*) = 1",
  )
  assert.equal(rows.length, 21)
})

test('a frozen ledger moves to the new key; one closed as restored moves after it is reopened', async (t) => {
  const app = await lendApp(t)
  const worker = makeRotator(t, app)
  const oldKid = await kidOf(app)
  const closed = await app.newLedger()
  await app.sql("update tallystick.chain_heads set closed = 'frozen'")
  await app.sql(`update tallystick.chain_heads set closed = 'restored' where ledger_id = $1`, [
    parseId('led', closed.ledger.id),
  ])
  const { newKid } = await rotateKey(app)
  await rotateKeys(worker)
  await passTwoMinutes(app)
  await rotateKeys(worker)
  assert.equal(await kidOf(app), toHex(newKid))
  assert.equal(await kidOf(app, closed.ledger.id), oldKid)
  assert.equal((await envelopeKeys(app))[0]!.retired, false)
  await app.sql("update tallystick.chain_heads set closed = null where closed = 'restored'")
  await rotateKeys(worker)
  assert.equal(await kidOf(app, closed.ledger.id), toHex(newKid))
  assert.equal((await envelopeKeys(app))[0]!.retired, true)
  assert.deepEqual(worker.logged, [])
})

test('a ledger that cannot move to the new key is logged, and delays no other', async (t) => {
  const app = await lendApp(t)
  const worker = makeRotator(t, app)
  const kid = Buffer.from(await kidOf(app), 'hex')
  // An attacker with the API's login can create a ledger with an unsigned first entry.
  const forged = await withClient(testDatabase(app.database.apiUrl), (client) =>
    createTestLedger(client, { kid }),
  )
  const { newKid } = await rotateKey(app)
  await rotateKeys(worker)
  await rotateKeys(worker)
  assert.equal(await kidOf(app), toHex(newKid))
  assert.equal(worker.logged.length, 1, 'it is left alone for a while')
  const { ledger, err } = worker.logged[0] as { ledger: string; err: Error }
  assert.deepEqual(parseId('led', ledger), forged.id)
  assert.match(err.message, /cbor_malformed/)
})

test('a server’s login cannot move a ledger to a new key', async (t) => {
  const app = await lendApp(t)
  const { pool: _, ...worker } = makeRotator(t, app)
  const kid = await kidOf(app)
  await rotateKey(app)
  await app.sql('grant execute on function tallystick.retire_envelope_keys to tallystick_api')
  await rotateKeys({ ...worker, pool: app.deps.writePool })
  assert.equal(await kidOf(app), kid)
  assert.match((worker.logged[0] as { err: Error }).err.message, /refused/)
})

test('two rotations under load fail no request, and every chain verifies from its first key', async (t) => {
  const app = await lendApp(t)
  const worker = makeRotator(t, app)
  const ledgers = [app.ledger, await app.newLedger(), await app.newLedger()]
  const firstKid = await kidOf(app)
  let rotating = true
  const statuses: Record<string, number> = {}
  const clients = ledgers.flatMap((ledger) =>
    [1, 2, 3, 4].map(async (client) => {
      for (let n = 0; rotating; n++) {
        const body =
          client % 2 ? genericBody({ n }) : { records: [genericBody({ n }), genericBody({ n, two: 2 })] }
        const url = client % 2 ? '/v1/records' : '/v1/records/batch'
        const { statusCode } = await app.send('POST', url, { key: ledger.key.key, body })
        statuses[statusCode] = (statuses[statusCode] ?? 0) + 1
      }
    }),
  )
  for (let i = 0; i < 2; i++) {
    await rotateKey(app)
    await rotateKeys(worker)
    await new Promise((done) => setTimeout(done, 200))
    await passTwoMinutes(app)
    await rotateKeys(worker)
    await new Promise((done) => setTimeout(done, 200))
  }
  rotating = false
  await Promise.all(clients)
  assert.deepEqual(Object.keys(statuses), ['201'])
  assert.deepEqual(
    (await envelopeKeys(app)).map(({ retired }) => retired),
    [true, true, false],
  )
  for (const { ledger } of ledgers) {
    const report = await verify(app, ledger.id, [firstKid])
    assert.deepEqual([report.ok, report.keys], [true, 'given'])
  }
})

function verify(app: TestApp, ledger: string, kids: string[]) {
  return verifyLedger(database(app.database.superuserUrl, ledger), { threads: 1, kids })
}
