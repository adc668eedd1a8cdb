import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import { PEER_WITNESSES_MAX, WITNESS_POSTS_PER_LEDGER_MAX } from '../../../src/followers/limits.ts'
import { namedWitness } from '../../../src/followers/witnesses/named-witness.ts'
import type { WitnessSetting } from '../../../src/followers/witnesses/settings.ts'
import { WitnessSender, type WitnessTarget } from '../../../src/followers/witnesses/witness-sender.ts'
import { parseAllowances } from '../../../src/outside/connector/allowances.ts'
import { Connector } from '../../../src/outside/connector/connector.ts'
import { parseId, type Uuid } from '../../../src/proof/ids.ts'
import { parseAddCheckpoint } from '../../../src/proof/tree/add-checkpoint.ts'
import { parseCheckpoint } from '../../../src/proof/tree/checkpoint.ts'
import { cosign, countCosignatures, verifyCosignatures } from '../../../src/proof/tree/cosignature.ts'
import { makeNoteKey, parseNote, signatureLine } from '../../../src/proof/tree/note.ts'
import { makeEd25519Signer, nativeProviders } from '../../../src/signing/native.ts'
import { makePublish, unguarded } from '../../helpers/checkpoints.ts'
import { openTestPool } from '../../helpers/connect.ts'
import { lendApp, lentPool } from '../../helpers/lent-app.ts'
import { startImpostor, startWitness } from '../../helpers/witness.ts'

const { sha256 } = nativeProviders

async function setUp(t: TestContext) {
  const app = await lendApp(t)
  const publish = await makePublish(t, app)
  const pool = lentPool(t, app, 'witnesses', () => openTestPool(app.database.workerUrl, { max: 4 }))
  const connector = new Connector({ allowances: parseAllowances('127.0.0.0/8') })
  const stop = new AbortController()
  t.after(() => {
    stop.abort()
    connector.close()
  })
  const seen: string[] = []
  const logged: string[] = []
  let nowMs = 1_000_000
  const ledgerId = parseId('led', app.ledger.ledger.id)
  const deps: ConstructorParameters<typeof WitnessSender>[0] & Parameters<typeof namedWitness>[0] = {
    pool,
    connector,
    userAgent: 'test',
    stopping: stop.signal,
    log: { error: (_, message) => void logged.push(message) },
    now: () => nowMs,
    observe: (name, outcome) => void seen.push(`${name} ${outcome}`),
  }
  const laneOf = (witness: WitnessSetting) => new WitnessSender(deps, namedWitness(deps, witness))
  const { noteVerifierKey } = (await app.send('GET', '/v1/ledger')).json()
  return {
    app,
    ledgerId,
    noteVerifierKey: noteVerifierKey as string,
    seen,
    logged,
    laneOf,
    later: (ms: number) => {
      nowMs += ms
    },
    grow: async () => {
      await app.notarize()
      await publish()
    },
    latest: async (query = '') => (await app.send('GET', `/v1/checkpoints/latest${query}`)).body,
  }
}

test('each new checkpoint is cosigned, and every route serves its note with the cosignatures', async (t) => {
  const { app, ledgerId, noteVerifierKey, seen, laneOf, grow, latest } = await setUp(t)
  const witnesses = [
    await startWitness(t, 'w1.example', [noteVerifierKey]),
    await startWitness(t, 'w2.example', [noteVerifierKey]),
  ]
  const lanes = witnesses.map(laneOf)
  const policy = { witnesses: witnesses.map(({ key }) => key), min: 2 }
  const count = (note: string) => countCosignatures(parseNote(note), policy, nativeProviders).cosigned
  await grow()
  assert.equal(count(await latest()), 0)
  assert.equal((await app.send('GET', '/v1/checkpoints/latest?cosignatures=1')).statusCode, 409)
  for (let round = 0; round < 3; round++) {
    for (const lane of lanes) lane.add(ledgerId)
    for (const lane of lanes) await lane.step()
    assert.equal(count(await latest()), 2)
    await grow()
  }
  assert.equal(seen.filter((each) => each.endsWith(' cosigned')).length, 6)

  // The newest checkpoint has no cosignature yet. With `?cosignatures=2`, a reader gets the newest checkpoint that has
  // at least two.
  const cosigned = await latest('?cosignatures=2')
  assert.equal(count(cosigned), 2)
  assert.equal((await app.send('GET', '/v1/checkpoints/latest?cosignatures=3')).statusCode, 409)
  const { size } = parseCheckpoint(cosigned).checkpoint
  assert.equal((await app.send('GET', `/v1/checkpoints/${size}`)).body, cosigned)
  for (const query of [`size=${size}`, 'cosignatures=2'])
    assert.equal((await app.send('GET', `/v1/entries/1/proof?${query}`)).json().checkpoint, cosigned)
  const refused = await app.send('GET', `/v1/entries/1/proof?size=${size}&cosignatures=2`)
  assert.equal(refused.json().code, 'invalid_request')
  const pending = await app.send('GET', `/v1/entries/${size}/proof?cosignatures=2`)
  assert.equal(pending.json().code, 'checkpoint_pending')

  for (const lane of lanes) {
    lane.add(ledgerId)
    await lane.step()
  }
  const note = await latest()
  assert.equal((await app.send('GET', `/tlog/${app.ledger.ledger.id}/checkpoint`)).body, note)
  const exported = (await app.send('GET', '/v1/export')).body.trimEnd().split('\n')
  assert.deepEqual(JSON.parse(exported.at(-1)!), { checkpoint: note })
})

test('a witness whose tree is larger or smaller than stored cosigns after a second request', async (t) => {
  const { app, ledgerId, noteVerifierKey, seen, logged, laneOf, grow } = await setUp(t)
  const witness = await startWitness(t, 'w1.example', [noteVerifierKey])
  const lane = laneOf(witness)
  await grow()
  lane.add(ledgerId)
  await lane.step()
  // The cosignatures are deleted, as if the witness's answer was lost or another worker got the answer.
  await unguarded(app, 'delete from tallystick.cosignatures')
  await grow()
  lane.add(ledgerId)
  await lane.step()
  assert.deepEqual(seen, ['w1.example cosigned', 'w1.example cosigned'])
  assert.deepEqual(logged, [])
  // This witness was restored from a backup: it has the same key, but knows no tree.
  const forgetful = new Map()
  witness.state.findCosignedTree = (origin) => forgetful.get(origin) ?? null
  await grow()
  lane.add(ledgerId)
  await lane.step()
  assert.match(logged[0]!, /has forgotten what it cosigned/)
  assert.equal(seen.at(-1), 'w1.example cosigned')
})

test('the sweep finds a new checkpoint of which the sender was not notified', async (t) => {
  const { app, noteVerifierKey, seen, laneOf, later, grow } = await setUp(t)
  const lane = laneOf(await startWitness(t, 'w1.example', [noteVerifierKey]))
  await grow()
  await lane.step()
  assert.deepEqual(seen, [])
  await unguarded(app, "update tallystick.checkpoints set published_at = published_at - interval '1 min'")
  later(60_000)
  await lane.step()
  assert.deepEqual(seen, ['w1.example cosigned'])
})

test('stores only a valid cosignature of the sent checkpoint', async (t) => {
  const { app, ledgerId, seen, laneOf, later, grow } = await setUp(t)
  await grow()
  const signer = makeEd25519Signer(sha256, new Uint8Array(32).fill(9))
  const key = makeNoteKey('w1.example', 'cosignature', signer.key, sha256)
  const cosigning =
    (change: (text: string) => string) =>
    (body: string, timeSeconds = 1_700_000_000n) =>
      cosign(change(parseNote(parseAddCheckpoint(body).note).text), timeSeconds, key.name, signer, sha256)
  const good = cosigning((text) => text)
  const answers: [string, number, (body: string) => string | Buffer, string][] = [
    ['a cosignature of another checkpoint', 200, cosigning((text) => text.replace('\n', '\n1')), 'invalid'],
    ['one that was changed', 200, (body) => good(body).replace(/....\n$/, 'AAA=\n'), 'invalid'],
    ['one by another witness', 200, (body) => good(body).replace('w1.example', 'w2.example'), 'invalid'],
    ['a time from 2^63 on', 200, (body) => good(body, 2n ** 63n), 'invalid'],
    ['a plain signature', 200, () => '— w1.example AAAAAAAA\n', 'invalid'],
    ['nothing', 200, () => '', 'invalid'],
    ['no text', 200, () => Buffer.from([0xff, 0xfe, 0x0a]), 'invalid'],
    ['a huge answer', 200, (body) => good(body).repeat(1_000), 'invalid'],
    ['a note', 200, (body) => `x\n\n${good(body)}`, 'invalid'],
    ['a redirect', 307, () => '', 'refused'],
    ['an unknown log', 404, () => 'unknown\n', 'refused'],
    ['a size that is no size', 409, () => 'many\n', 'refused'],
    ['a larger log', 409, () => '999999\n', 'ahead'],
    ['another size each time', 409, () => '1\n', 'refused'],
    ['a fault', 500, () => '', 'unreachable'],
    ['too many', 429, () => '', 'unreachable'],
  ]
  for (const [what, status, answer, failure] of answers) {
    const url = await startImpostor(t, answering(status, answer))
    const lane = laneOf({ key, url })
    lane.add(ledgerId)
    await lane.step()
    assert.equal(seen.pop(), `w1.example ${failure}`, what)
    assert.ok(lane.waitingSeconds >= 0)
    later(1)
  }
  assert.deepEqual(await app.sql('select from tallystick.cosignatures'), [])
  // Returns an answer whose timestamp is in nanoseconds instead of seconds. A witness can choose any timestamp.
  const silly = (body: string) => good(body, 1_700_000_000_000_000_000n)
  const lane = laneOf({ key, url: await startImpostor(t, answering(200, silly)) })
  lane.add(ledgerId)
  await lane.step()
  assert.equal(seen.pop(), 'w1.example cosigned')
  const [{ line }] = (await app.sql('select line from tallystick.cosignatures')) as [{ line: string }]
  const note = (await app.send('GET', '/v1/checkpoints/latest')).body
  assert.ok(note.endsWith(line))
  assert.equal(verifyCosignatures(parseNote(note), [key], nativeProviders).length, 1)
})

test('ignores other lines in a witness’s answer', async (t) => {
  const { app, ledgerId, noteVerifierKey, laneOf, grow } = await setUp(t)
  await grow()
  const witness = await startWitness(t, 'w1.example', [noteVerifierKey])
  const url = await startImpostor(t, async (request, response) => {
    const body = await textOf(request)
    const answer = await fetch(`${witness.url}/add-checkpoint`, { method: 'POST', body })
    const others = ['other.example', 'a\ufeff', 'a\u007f', 'a\u0080'].map((name) => `— ${name} AAAAAAAA\n`)
    const postQuantum = signatureLine('w1.example', new Uint8Array(4), new Uint8Array(5_000)).repeat(4)
    response.end(others.join('') + postQuantum + (await answer.text()))
  })
  const lane = laneOf({ key: witness.key, url })
  lane.add(ledgerId)
  await lane.step()
  const rows = (await app.sql('select line from tallystick.cosignatures')) as { line: string }[]
  assert.equal(rows.length, 1)
  assert.match(rows[0]!.line, /^— w1\.example \S+\n$/)
})

test('an unreachable witness is paused longer after each failure, and delays no other witness', async (t) => {
  const { app, ledgerId, noteVerifierKey, seen, laneOf, later, grow } = await setUp(t)
  const others = [await app.newLedger(), await app.newLedger()]
  await grow()
  const { key, url } = await startWitness(t, 'w1.example', [noteVerifierKey])
  const away = laneOf({ key, url: 'http://127.0.0.1:9' })
  const there = laneOf({ key, url })
  away.add(ledgerId)
  for (let i = 0; i < 10; i++) {
    await away.step()
    for (const { ledger } of others) away.add(parseId('led', ledger.id))
    later(40)
  }
  assert.deepEqual(seen, ['w1.example unreachable'])
  later(300_000)
  await away.step()
  assert.ok(away.waitingSeconds >= 300)
  assert.ok(seen.at(-1)!.endsWith('unreachable'))
  there.add(ledgerId)
  await there.step()
  assert.equal(seen.at(-1), 'w1.example cosigned')
  assert.equal(there.waitingSeconds, 0)
})

test('unresponsive peers of one ledger do not delay peers of another ledger', async () => {
  const [slow, quick] = ['led_0', 'led_1'] as unknown as [Uuid, Uuid]
  const peersOf = (ledgerId: Uuid) =>
    Array.from({ length: PEER_WITNESSES_MAX }, (_, i) => ({ ledgerId, peerId: `${i}` as unknown as Uuid }))
  const sent: Uuid[] = []
  const answer = Promise.withResolvers<boolean>()
  const target: WitnessTarget = {
    name: 'peers',
    pausesAsOne: false,
    postsMax: PEER_WITNESSES_MAX,
    expand: async (ledgerIds) => ledgerIds.flatMap(peersOf),
    sweep: async () => [],
    async send({ ledgerId }) {
      sent.push(ledgerId)
      return ledgerId === slow ? answer.promise : true
    },
  }
  const stopping = new AbortController().signal
  const log = { error: () => {} }
  const lane = new WitnessSender({ stopping, log, now: () => 0, observe: () => {} }, target)
  lane.add(slow)
  await lane.step()
  lane.add(quick)
  await lane.step()
  const count = (ledgerId: Uuid) => sent.filter((each) => each === ledgerId).length
  assert.deepEqual([count(slow), count(quick)], [WITNESS_POSTS_PER_LEDGER_MAX, PEER_WITNESSES_MAX])
  lane.add(slow)
  answer.resolve(true)
  while (await lane.step());
  assert.equal(
    count(slow),
    PEER_WITNESSES_MAX + WITNESS_POSTS_PER_LEDGER_MAX,
    'all, and again those that had begun',
  )
})

test('cosignatures are append-only', async (t) => {
  const { app, ledgerId, noteVerifierKey, laneOf, grow } = await setUp(t)
  await grow()
  const lane = laneOf(await startWitness(t, 'w1.example', [noteVerifierKey]))
  lane.add(ledgerId)
  await lane.step()
  for (const statement of [
    "update tallystick.cosignatures set line = line || ''",
    'delete from tallystick.cosignatures',
    'truncate tallystick.cosignatures',
  ])
    await assert.rejects(app.sql(statement), /append-only|cosignatures/)
})

function answering(status: number, answer: (body: string) => string | Buffer): RequestListener {
  return async (request, response) => {
    const body = await textOf(request)
    response.writeHead(status, { location: '/elsewhere' }).end(answer(body))
  }
}

async function textOf(request: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}
