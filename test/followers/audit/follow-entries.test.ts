import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { zstdCompressSync } from 'node:zlib'
import { readFollowerLag } from '../../../src/db/audit/audit-cursors.ts'
import { readArchiveFigures } from '../../../src/db/chain/archives.ts'
import { readCheckpointLagSeconds } from '../../../src/db/chain/checkpoints.ts'
import { clearFault } from '../../../src/db/ledgers/ledger-faults.ts'
import { followEntries } from '../../../src/followers/audit/follow-entries.ts'
import { publishCheckpoints } from '../../../src/followers/checkpoints/publish.ts'
import { ENTRY_FOLLOWER_ROUND_MS } from '../../../src/followers/limits.ts'
import { rotateKeys } from '../../../src/followers/rotation/rotate-keys.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { expectStatus, genericBody } from '../../helpers/app.ts'
import { connect } from '../../helpers/connect.ts'
import { addAgent } from '../../helpers/more-keys.ts'
import {
  adminEntry,
  createTestLedger,
  leafOf,
  makeBatch,
  makeEntry,
  randomId,
} from '../../helpers/test-ledger.ts'
import { makeRotator, rotateKey } from '../rotation/rotation.ts'
import { appendAsApi, asTestLedger, signRecord } from './attacker.ts'
import { type AuditTest, cursorOf, followAll, openFaults, setUpAudit, undefended } from './set-up.ts'

test('the follower verifies entries of all kinds and ledgers, and moves its cursor to the head', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  const other = await app.newLedger()
  await fill(audit, 300)
  await addAgent(app, 'second')
  const beforeMs = audit.follower.verifier.cpuMs
  await followAll(audit)
  assert.ok(audit.follower.verifier.cpuMs > beforeMs)
  assert.equal(await cursorOf(audit, app.ledger.ledger.id), 304)
  assert.equal(await cursorOf(audit, other.ledger.id), 3)
  await app.notarize()
  await followAll(audit)
  assert.equal(await cursorOf(audit, app.ledger.ledger.id), 305)
  assert.deepEqual(await openFaults(audit), [])
  assert.deepEqual(audit.alarms, [])
})

test('a moved ledger is not verified and counts in no lag figure', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  await followAll(audit)
  await app.notarize()
  await undefended(audit, "update tallystick.chain_heads set closed = 'moved'")
  let verified = 0
  const observeEntries = (entries: number) => {
    verified += entries
  }
  await followEntries({ ...audit.follower, observeEntries })
  assert.deepEqual([verified, audit.alarms, audit.follower.pausedLedgers.count], [0, [], 0])
  assert.deepEqual(await readFollowerLag(audit.pool), { entries: 0, seconds: 0 })
  assert.equal(await readCheckpointLagSeconds(audit.pool), 0)
  assert.equal((await readArchiveFigures(audit.pool)).behind, 0)
})

test('a round that ends early reads hardly more entries than it verifies', async (t) => {
  const audit = await setUpAudit(t)
  const { verifier } = audit.follower
  await fill(audit, 900)
  let read = 0
  const counted = new WeakSet<object>()
  audit.pool.on('acquire', (client) => {
    if (counted.has(client)) return
    counted.add(client)
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<{ rows: object[] } | undefined>
    client.query = (async (...args: unknown[]) => {
      const answer = await query(...args)
      const rows = answer?.rows ?? []
      if (rows[0] && 'envelope' in rows[0]) read += rows.length
      return answer
    }) as unknown as typeof client.query
  })
  const slow = {
    run: async (...task: Parameters<typeof verifier.run>) => {
      await sleep(ENTRY_FOLLOWER_ROUND_MS + 10)
      return verifier.run(...task)
    },
  } as typeof verifier
  let rounds = 1
  while (await followEntries({ ...audit.follower, verifier: slow })) rounds++
  assert.ok(rounds > 3, `${rounds} rounds`)
  assert.equal(await cursorOf(audit, audit.app.ledger.ledger.id), 903)
  assert.ok(read >= 903 && read < 903 * 1.5, `${read} entries were read`)
})

test('garbage appended with the API’s login is a fault; only that ledger gets no more checkpoints', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  const other = await app.newLedger()
  await publishCheckpoints(audit.publisher)
  await fill(audit, 40)
  const [answer] = await appendAsApi(app, [makeEntry(await asTestLedger(app))])
  assert.equal(answer?.outcome, 'appended')
  await fill(audit, 40)
  await app.notarize(genericBody(), { key: other.key.key })
  await followAll(audit)

  const [fault, ...more] = await openFaults(audit)
  assert.deepEqual(more, [])
  assert.equal(Number(fault!.seq), answer!.seq)
  assert.equal(fault!.found_by, 'follower')
  assert.equal(await cursorOf(audit, app.ledger.ledger.id), answer!.seq)
  assert.equal(audit.alarms.length, 1)
  assert.equal(audit.alarms[0]!['ledger'], app.ledger.ledger.id)
  assert.equal(await cursorOf(audit, other.ledger.id), 4)

  await undefended(
    audit,
    "update tallystick.checkpoints set published_at = published_at - interval '2 seconds'",
  )
  await publishCheckpoints(audit.publisher)
  assert.match((await app.send('GET', '/v1/checkpoints/latest')).body, /\n3\n/)
  assert.match((await app.send('GET', '/v1/checkpoints/latest', { key: other.key.key })).body, /\n4\n/)
})

test('an entry with a time that no Date can hold is a fault of its ledger', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  const [keys, records] = [await app.newLedger(), await app.newLedger()]
  const ofKeys = await asTestLedger(app, keys)
  const key = {
    agentId: ofKeys.agentId,
    name: 'for ever',
    scopes: [],
    secretHash: randomBytes(32).toString('hex'),
    mac: randomBytes(32).toString('hex'),
    expiresAt: 'infinity',
  }
  const batch = makeBatch(await asTestLedger(app, records), 2)
  const afterAllDates = batch.records.map((record) => ({ ...record, occurredAtMs: 8.64e15 + 1 }))
  await appendAsApi(app, [
    adminEntry(ofKeys, 'key-created', randomId(), key),
    { ...batch, records: afterAllDates },
  ])
  await followAll(audit)
  const found = (await openFaults(audit)).map((fault) => fault.ledger_id).sort()
  const ids = [keys, records].map(({ ledger }) => parseId('led', ledger.id))
  assert.deepEqual(found, ids.sort())
})

test('a validly signed entry whose columns contradict its statement is a fault', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  const victim = await app.newLedger()
  const lies: [string, Awaited<ReturnType<typeof signRecord>>][] = []
  for (const [name, change] of [
    ['actor_id', { actorId: randomId() }],
    ['key_id', { keyId: randomId() }],
    ['recorded_at', { recordedAtMs: Date.now() + 5_000 }],
    ['kind', { kind: 'type-registered', version: null, records: [], detail: typeDetail() }],
  ] as const) {
    const ledger = await app.newLedger()
    lies.push([name, { ...(await signRecord(app, ledger)), ...change }])
  }
  const honest = await signRecord(app)
  const foreign = await signRecord(app, victim)
  lies.push(['ledger', { ...foreign, ledgerId: parseId('led', app.ledger.ledger.id) }])
  const answers = await appendAsApi(app, [honest, ...lies.map(([, entry]) => entry)])
  assert.deepEqual(
    answers.map((answer) => answer.outcome),
    Array(6).fill('appended'),
  )
  await followAll(audit)
  const faults = await openFaults(audit)
  assert.equal(faults.length, 5, JSON.stringify(faults))
  const reasonOf = new Map(
    faults.map((fault) => [fault.ledger_id, `${fault.seq} ${fault.code} ${fault.reason}`]),
  )
  for (const [name, entry] of lies) {
    const found = reasonOf.get(entry.ledgerId)
    const expected = {
      actor_id: /3 columns_contradict_entries entries.actor_id/,
      key_id: /3 columns_contradict_entries entries.key_id/,
      recorded_at: /3 line_contradicts_envelope recordedAt/,
      kind: /3 line_contradicts_envelope kind/,
      ledger: /4 ledger_foreign/,
    }[name]!
    assert.match(found ?? '', expected)
  }
})

test('arbitrary bytes appended by an attacker are faults, and the follower continues', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  const good = (await signRecord(app)).envelope
  const shapes: Uint8Array[] = [
    Buffer.of(0),
    Buffer.of(0xd2),
    Buffer.of(0xd2, 0x84),
    Buffer.alloc(32_768, 0x81),
    Buffer.alloc(32_768, 0xd2),
    Buffer.alloc(32_768, '['),
    Buffer.concat([Buffer.of(0xd2, 0x9b), Buffer.alloc(8, 0xff)]),
    Buffer.concat([good, Buffer.of(0)]),
    good.subarray(1),
    ...Array.from({ length: 12 }, (_, i) => mutated(good, Math.floor((i / 12) * good.length))),
  ]
  const ledgers = await Promise.all(shapes.map(() => app.newLedger()))
  const entries = await Promise.all(
    shapes.map(async (envelope, i) =>
      makeEntry(await asTestLedger(app, ledgers[i]), { envelope, leaf: leafOf(envelope) }),
    ),
  )
  const documents = [
    Buffer.from('{"a":\n1}'),
    Buffer.from('"\xff"', 'latin1'),
    Buffer.from('},{}'),
    Buffer.from('null,"x":1'),
  ]
  const answers = await appendAsApi(app, entries)
  assert.ok(answers.every((answer) => answer.outcome === 'appended'))
  // An attacker with write access to the table changes the document of a signed entry.
  const broken = await Promise.all(documents.map(() => app.newLedger()))
  for (const ledger of broken) await app.notarize(genericBody(), { key: ledger.key.key })
  for (const [i, bytes] of documents.entries()) {
    await undefended(
      audit,
      `update tallystick.records set payload = '\\x${bytes.toString('hex')}'
       where ledger_id = '${parseId('led', broken[i]!.ledger.id)}'`,
    )
  }
  await followAll(audit)
  const faults = await openFaults(audit)
  assert.equal(faults.length, shapes.length + documents.length)
  assert.ok(faults.every((fault) => Number(fault.seq) === 3))
  assert.equal(audit.follower.pausedLedgers.count, 0)
  await app.notarize()
  await followAll(audit)
  assert.equal(await cursorOf(audit, app.ledger.ledger.id), 4)
})

test('an unreadable or oversized chunk is the fault chunk_syntax, and no thread dies', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  const contents = [
    Buffer.from('no zstd'),
    Buffer.alloc(0),
    zstdCompressSync(Buffer.alloc(64 * 1024 * 1024)),
    zstdCompressSync(Buffer.from([255, 255])),
  ]
  const records = [genericBody(), genericBody()]
  for (const content of contents) {
    const ledger = await app.newLedger()
    const answer = await app.send('POST', '/v1/records/batch', { body: { records }, key: ledger.key.key })
    expectStatus(201, answer)
    await undefended(
      audit,
      `alter table tallystick.batch_chunks drop constraint if exists batch_chunks_content_check;
       update tallystick.batch_chunks set content = '\\x${content.toString('hex')}'
       where ledger_id = '${parseId('led', ledger.ledger.id)}'`,
    )
  }
  expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
  await followAll(audit)
  const faults = await openFaults(audit)
  assert.deepEqual(
    faults.map(({ seq, code }) => [Number(seq), code]),
    contents.map(() => [3, 'chunk_syntax']),
  )
  assert.equal(audit.follower.pausedLedgers.count, 0)
  assert.equal(await cursorOf(audit, app.ledger.ledger.id), 4)
})

test('a ledger without any signature is a fault at seq 0', async (t) => {
  const audit = await setUpAudit(t)
  await createTestLedger(await connect(t, audit.app.database.apiUrl))
  await followAll(audit)
  const [fault] = await openFaults(audit)
  assert.equal(Number(fault!.seq), 0)
})

for (const [what, sql, expected] of [
  ['deleted', 'delete from tallystick.entries where seq = 57', /57 (seq_not_dense|columns)/],
  [
    'exchanged',
    `update tallystick.entries set seq = 1000 + seq where seq in (57, 58);
     update tallystick.entries set seq = 1115 - seq where seq > 1000`,
    /57 /,
  ],
  [
    'given another chain hash',
    "update tallystick.entries set chain = sha256('x') where seq = 57",
    /57 chain_broken/,
  ],
  ['given another record', 'delete from tallystick.records where first_seq = 57', /57 /],
  [
    'given a twin',
    `alter table tallystick.entries drop constraint entries_pkey cascade;
     insert into tallystick.entries select * from tallystick.entries where seq = 57`,
    /57 seq_not_dense seq 57 occurs twice/,
  ],
  [
    'given another version',
    'update tallystick.entries set version = 2 where seq = 57',
    /57 columns_contradict_entries entries.version/,
  ],
  [
    'cut off',
    `delete from tallystick.entries where seq >= 57;
     delete from tallystick.records where first_seq >= 57`,
    /57 seq_not_dense/,
  ],
  [
    'contradicted by the head’s chain',
    "update tallystick.chain_heads set chain = sha256('x')",
    /70 .*chain_heads.chain/,
  ],
  [
    'contradicted by the head’s key',
    "update tallystick.chain_heads set envelope_kid = sha256('x')",
    /70 .*chain_heads.envelope_kid/,
  ],
  ['left without its ledger', 'delete from tallystick.ledgers', /30 ledger_foreign/],
  ['denied by the head', 'update tallystick.chain_heads set size = 2', /30 .*chain_heads.size/],
] as const) {
  test(`finds and names an entry that the owner has ${what} before its verification`, async (t) => {
    const audit = await setUpAudit(t)
    await fill(audit, 27)
    await followAll(audit)
    await fill(audit, 40)
    await undefended(audit, sql)
    await followAll(audit)
    const [fault, ...more] = await openFaults(audit)
    assert.deepEqual(more, [])
    assert.match(`${fault?.seq} ${fault?.code} ${fault?.reason}`, expected)
  })
}

test('the follower continues after a rotation of the envelope key without a restart', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  await app.notarize()
  await followAll(audit)
  await rotateKey(app)
  await rotateKeys(makeRotator(t, app))
  await app.notarize()
  await followAll(audit)
  assert.deepEqual(await openFaults(audit), [])
  assert.equal(await cursorOf(audit, app.ledger.ledger.id), 6)
  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json', { key: null })).json()
  const [{ kid }] = (await app.sql<{ kid: string }>(
    "select encode(envelope_kid, 'hex') as kid from tallystick.audit_cursors where next_seq = 6",
  )) as [{ kid: string }]
  assert.equal(kid, keys[1].kid)
})

test('an entry signed by a key that is not the ledger’s current key is the fault key_not_current', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  await followAll(audit)
  const oldKid = Buffer.from((await app.deps.signers.load()).kid)
  await rotateKey(app)
  const entry = await signRecord(app)
  assert.notDeepEqual(Buffer.from(entry.kid), oldKid)
  const [answer] = await appendAsApi(app, [{ ...entry, kid: oldKid }])
  assert.equal(answer?.outcome, 'appended')
  await followAll(audit)
  const [fault] = await openFaults(audit)
  assert.match(`${fault?.seq} ${fault?.code}`, /3 key_not_current/)
})

test('a chain changed behind the cursor is the fault chain_broken at the next entry', async (t) => {
  const audit = await setUpAudit(t)
  await fill(audit, 5)
  await followAll(audit)
  await undefended(
    audit,
    `update tallystick.entries set chain = sha256('x') where seq = 7;
     update tallystick.chain_heads set chain = sha256('x')`,
  )
  await audit.app.notarize()
  await followAll(audit)
  const [fault] = await openFaults(audit)
  assert.match(`${fault?.seq} ${fault?.code}`, /8 chain_broken/)
})

test('a fault stays open until the owner clears it, and is found again if nothing was repaired', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  await fill(audit, 3)
  await undefended(audit, "update tallystick.records set type = 'other/1' where first_seq = 4")
  await followAll(audit)
  assert.equal(await followEntries(audit.follower), false)
  assert.equal(audit.alarms.length, 1, 'no alarm a second')
  const owner = await connect(t, app.database.ownerUrl)
  const ledgerId = parseId('led', app.ledger.ledger.id)
  assert.equal(await clearFault(owner, ledgerId, 'looked at'), true)
  assert.equal(await clearFault(owner, ledgerId, 'looked at'), false)
  await publishCheckpoints(audit.publisher)
  const early = await app.send('GET', '/v1/checkpoints/latest')
  assert.equal(early.statusCode, 409, 'not before the entry was verified again')
  await followAll(audit)
  assert.equal((await openFaults(audit)).length, 1)
  assert.equal(audit.alarms.length, 2)

  await undefended(audit, "update tallystick.records set type = 'generic/1' where first_seq = 4")
  await clearFault(owner, ledgerId, 'mended')
  await followAll(audit)
  assert.deepEqual(await openFaults(audit), [])
  assert.equal(await cursorOf(audit, app.ledger.ledger.id), 6)
  await publishCheckpoints(audit.publisher)
  assert.match((await app.send('GET', '/v1/checkpoints/latest')).body, /\n6\n/)
})

test('a ledger locked by another worker is skipped until the lock is released', async (t) => {
  const audit = await setUpAudit(t)
  await followAll(audit)
  const client = await connect(t, audit.app.database.workerUrl)
  await client.query('begin; select from tallystick.audit_cursors for update')
  await audit.app.notarize()
  await followAll(audit)
  assert.equal(await cursorOf(audit, audit.app.ledger.ledger.id), 3)
  await client.query('rollback')
  await followAll(audit)
  assert.equal(await cursorOf(audit, audit.app.ledger.ledger.id), 4)
})

test('two workers at once verify every entry without a fault', async (t) => {
  const audit = await setUpAudit(t)
  await fill(audit, 100)
  const appending = fill(audit, 200)
  await Promise.all([followAll(audit), followAll(audit), appending])
  await followAll(audit)
  assert.equal(await cursorOf(audit, audit.app.ledger.ledger.id), 303)
  assert.deepEqual(await openFaults(audit), [])
})

test('a verifier thread that dies pauses the ledger, and makes no fault', async (t) => {
  const audit = await setUpAudit(t)
  const { verifier, pausedLedgers } = audit.follower
  let failures = 0
  const dying = {
    run: async () => {
      failures++
      throw new Error('a verification thread ended with code 1')
    },
    close: () => verifier.close(),
  } as unknown as typeof verifier
  assert.equal(await followEntries({ ...audit.follower, verifier: dying }), false)
  assert.equal(failures, 1)
  assert.equal(pausedLedgers.count, 1)
  assert.equal(audit.alarms.length, 1)
  assert.deepEqual(await openFaults(audit), [], 'that says nothing about the ledger')
  pausedLedgers.resume(audit.app.ledger.ledger.id)
  await followAll(audit)
  assert.equal(await cursorOf(audit, audit.app.ledger.ledger.id), 3)
})

async function fill({ app }: AuditTest, count: number): Promise<void> {
  for (let i = 0; i < count; i += 100)
    await Promise.all(Array.from({ length: Math.min(100, count - i) }, () => app.notarize()))
}

function typeDetail() {
  return { name: 'made/1', gated: false, definition: '{}' }
}

function mutated(bytes: Uint8Array, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at]! ^= 1
  return copy
}
