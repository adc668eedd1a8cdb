import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { PEER_PAGE_BYTES_MAX } from '../../../src/outside/federation/limits.ts'
import type { Organisation } from '../../helpers/federation.ts'
import { makeSigner, type TestLine } from '../../helpers/test-chain.ts'
import { until } from '../../helpers/wait.ts'
import {
  appendingOf,
  type Heard,
  type Lie,
  leafOf,
  type Mallory,
  meetMallory,
  type SentLine,
} from './mallory.ts'
import { verifyOwnExport } from './unchanged.ts'

/* Tests that the victim's sender neither crashes nor accepts the false answers of a peer. */

/** Returns rows that show which entries of the victim the peer has received. */
async function heardOf({ victim, peer }: Mallory): Promise<string[]> {
  const rows = await victim.sql<{ value: string }>(
    `select 'receipt ' || seq as value from tallystick.peer_receipts
     union all select 'dead ' || seq || ' ' || code from tallystick.peer_dead_letters
     union all select 'at ' || next_seq || ' ' || encode(known_kid, 'hex') from tallystick.peer_cursors
     union all select 'backlog ' || record_id || ' ' || from_seq from tallystick.peer_backlog order by 1`,
  )
  assert.ok(peer)
  return rows.map(({ value }) => value)
}

const drainOf = async ({ victim, peer }: Mallory) => (await victim.ask('GET', `/v1/peers/${peer}`)).drain

async function createShared({ victim, peer }: Mallory): Promise<string> {
  const share = [{ peer, documents: 'whole' }]
  return (await victim.ask('POST', '/v1/records', { body: { type: 'task/1', payload: {}, share } })).id
}

function hurry(victim: Organisation) {
  return victim.sql('update tallystick.peer_cursors set resume_at = null')
}

/**
 * Asserts that after Mallory's false answer the victim's delivery fails with the code, changes nothing, and pauses
 * before it retries.
 */
async function believesNothing(mallory: Mallory, lie: (heard: Heard) => Lie, code: RegExp): Promise<void> {
  const before = await heardOf(mallory)
  const asked = mallory.heard.length
  mallory.lie = lie
  const { failures } = await drainOf(mallory)
  await hurry(mallory.victim)
  await until(async () => mallory.heard.length > asked && (await drainOf(mallory)).failures > failures)
  const { lastError, resumeAt } = await drainOf(mallory)
  assert.match(lastError, code)
  assert.ok(Date.parse(resumeAt) > Date.now() - 1_000)
  assert.deepEqual(await heardOf(mallory), before)
  assert.ok(mallory.heard.length - asked <= 2, 'it is not asked over and over')
}

test('a malformed answer, or a receipt that the peer has not signed, changes nothing', async (t) => {
  const mallory = await meetMallory(t)
  const { victim, chain } = mallory
  // Mallory answers 500, so that from now on an entry waits to be sent.
  mallory.lie = () => ({ status: 500, body: {} })
  await createShared(mallory)
  await until(async () => (await drainOf(mallory)).failures > 0)
  const outcomes = (make: (entry: SentLine, at: number) => unknown) => (heard: Heard) =>
    heard.path.endsWith('/entries') ? { body: { outcomes: heard.body.entries.map(make) } } : { body: {} }
  const received = (make: (entry: SentLine) => TestLine) =>
    outcomes((entry) => ({
      leaf: leafOf(entry.envelope),
      outcome: 'received',
      envelope: make(entry).envelope,
    }))
  /**
   * Replaces the newest entry of Mallory's chain by the same entry with changes, such as another signer. Returns the
   * new entry.
   */
  const signed = (line: TestLine, more: object) => {
    chain.forget()
    return chain.append({ ...appendingOf(line), ...more })
  }

  const LIES: Record<string, [lie: (heard: Heard) => Lie, code: RegExp]> = {
    'no JSON': [() => ({ body: 'OK' }), /^unexpected_answer/],
    nothing: [() => ({ body: '' }), /^unexpected_answer/],
    null: [() => ({ body: 'null' }), /^unexpected_answer/],
    'a list': [() => ({ body: '[]' }), /^unexpected_answer/],
    'bytes that are no text': [() => ({ body: Buffer.from([0x7b, 0xff, 0x7d]) }), /^unexpected_answer/],
    'no outcomes': [() => ({ body: {} }), /^unexpected_answer/],
    'too few outcomes': [() => ({ body: { outcomes: [] } }), /^unexpected_answer/],
    'too many outcomes': [() => ({ body: { outcomes: Array(501).fill({}) } }), /^unexpected_answer/],
    'outcomes that are null': [outcomes(() => null), /^unexpected_answer/],
    'outcomes that are lists': [outcomes(() => [[]]), /^unexpected_answer/],
    'outcomes that are numbers': [outcomes(() => 7), /^unexpected_answer/],
    'outcomes that say nothing known': [outcomes(() => ({ outcome: 'perhaps' })), /^unexpected_answer/],
    'a receipt that is no envelope': [
      outcomes(() => ({ outcome: 'received', envelope: 'AAAA' })),
      /^receipt_invalid/,
    ],
    'a receipt that is no text': [
      outcomes(() => ({ outcome: 'received', envelope: {} })),
      /^receipt_invalid/,
    ],
    'the entry itself as its receipt': [
      outcomes(({ envelope }) => ({ outcome: 'received', envelope })),
      /^receipt_invalid/,
    ],
    'a receipt of another entry': [
      received((entry) => mallory.receive(entry, { leaf: 'ab'.repeat(32) })),
      /^receipt_invalid/,
    ],
    'a receipt of another seq': [received((entry) => mallory.receive(entry, { seq: 1 })), /^receipt_invalid/],
    'a receipt by a key that is not its own': [
      received((entry) => signed(mallory.receive(entry), { signer: makeSigner() })),
      /^receipt_invalid/,
    ],
    'a receipt with a false signature': [
      received((entry) =>
        signed(mallory.receive(entry), { signer: { ...mallory.signer, sign: makeSigner().sign } }),
      ),
      /^receipt_invalid/,
    ],
    'an entry of its own as a receipt': [received(() => chain.lines[0]!), /^receipt_invalid/],
    'that it misses what there is not': [
      outcomes(() => ({ outcome: 'missing', record: 'rec_01jegv5gyme05800000000000a', version: 1 })),
      /^unexpected_answer/,
    ],
    'a redirection': [
      () => ({ status: 307, headers: { location: `${mallory.url}/elsewhere` }, body: {} }),
      /^unexpected_answer/,
    ],
    'that it is elsewhere': [
      () => ({ status: 301, headers: { location: 'http://169.254.169.254/' }, body: {} }),
      /^unexpected_answer/,
    ],
    'far too much': [() => ({ body: `{"outcomes":["${'x'.repeat(PEER_PAGE_BYTES_MAX)}"]}` }), /./],
    'what is nested without end': [
      () => ({ body: `{"outcomes":${'['.repeat(100_000)}${']'.repeat(100_000)}}` }),
      /^unexpected_answer/,
    ],
    'an error with a code that is none': [
      () => ({ status: 400, body: { code: '<script>' } }),
      /^request_refused/,
    ],
    'that it comes too often': [
      () => ({ status: 429, headers: { 'retry-after': '1' }, body: { code: 'rate_limited' } }),
      /^rate_limited/,
    ],
  }
  for (const [what, [lie, code]] of Object.entries(LIES))
    await t.test(what, () => believesNothing(mallory, lie, code))

  await t.test('a missing version that no record has', async () => {
    for (const version of [0, -1, 2, 1.5, 2 ** 31, 2 ** 40, -(2 ** 40), '1', null])
      await believesNothing(
        mallory,
        (heard) => ({
          body: {
            outcomes: heard.body.entries.map(() => ({
              outcome: 'missing',
              record: recordOf(heard),
              version,
            })),
          },
        }),
        /^unexpected_answer/,
      )
  })
  assert.ok(mallory.heard.every(({ path }) => path !== '/elsewhere'))

  await t.test('after an honest answer the waiting entries are sent and acknowledged', async () => {
    mallory.lie = (heard) => mallory.honestAnswer(heard)
    await hurry(victim)
    await until(async () => (await drainOf(mallory)).behind === 0)
    assert.equal((await heardOf(mallory)).filter((text) => text.startsWith('receipt')).length, 1)
  })
  await verifyOwnExport(victim)
})

function recordOf({ body }: Heard): unknown {
  return appendingOf({ envelope: body.entries[0].envelope, documents: [] }).predicate['record']
}

test('an entry that a peer reports as missing again and again is not sent without end', async (t) => {
  const mallory = await meetMallory(t)
  const { victim } = mallory
  const record = await createShared(mallory)
  await until(async () => (await drainOf(mallory)).behind === 0)
  const asked = mallory.heard.length
  // The peer has received the first entry and confirms it. Then it reports the same entry as missing.
  mallory.lie = (heard) => ({
    body: {
      outcomes: heard.body.entries.map((entry: SentLine, at: number) =>
        at === 0 && versionOf(entry) === 1
          ? { outcome: 'received', envelope: mallory.receive(entry).envelope }
          : { outcome: 'missing', record, version: 1 },
      ),
    },
  })
  await victim.ask('POST', `/v1/records/${record}/cancel`, { body: { reason: 'not needed' } })
  await until(async () => (await drainOf(mallory)).failures > 0)
  assert.match((await drainOf(mallory)).lastError, /^unexpected_answer/)
  assert.ok(mallory.heard.length - asked <= 4, `${mallory.heard.length - asked} requests`)
})

function versionOf({ envelope }: SentLine): unknown {
  return appendingOf({ envelope, documents: [] }).predicate['version']
}

test('an entry that a peer refuses for good is a dead letter, with its detail as plain text', async (t) => {
  const mallory = await meetMallory(t)
  const { victim, peer } = mallory
  const answers = [
    { outcome: 'refused', code: 'fork', detail: 'x'.repeat(5_000), held: 7 },
    { outcome: 'refused', code: '<b>', detail: { a: 1 } },
    { outcome: 'refused' },
    { outcome: 'refused', code: 'a'.repeat(65), detail: '\u{1F600}'.repeat(600) },
  ]
  for (const answer of answers) {
    mallory.lie = ({ body }) => ({ body: { outcomes: body.entries.map(() => answer) } })
    const record = await createShared(mallory)
    const letters = async () => (await victim.ask('GET', `/v1/peers/${peer}/dead-letters`)).data
    await until(async () => (await letters()).some((one: { record: string }) => one.record === record))
  }
  const { data } = await victim.ask('GET', `/v1/peers/${peer}/dead-letters`)
  assert.deepEqual(
    data.map(({ code }: { code: string }) => code),
    ['fork', 'unexpected_answer', 'unexpected_answer', 'unexpected_answer'],
  )
  for (const { detail } of data) assert.ok((detail ?? '').length <= 1_000)
  // The peer answers honestly from now on. Entries of other records are sent normally, and the refused entries are sent
  // again.
  mallory.lie = (heard) => mallory.honestAnswer(heard)
  await createShared(mallory)
  await until(async () => (await drainOf(mallory)).behind === 0)
  assert.deepEqual(await victim.ask('POST', `/v1/peers/${peer}/replay`, { body: {} }), { replayed: 4 })
  await until(async () => (await heardOf(mallory)).filter((text) => text.startsWith('receipt')).length === 5)
  assert.deepEqual((await victim.ask('GET', `/v1/peers/${peer}/dead-letters`)).data, [])
})

test('after both sides have ended a peering, no further request is sent', async (t) => {
  const mallory = await meetMallory(t)
  const { victim, peer } = mallory
  mallory.lie = () => ({ status: 403, body: { code: 'peer_revoked' } })
  await victim.ask('POST', `/v1/peers/${peer}/revoke`, { body: {} })
  await until(async () => mallory.heard.length > 0 && (await isAtEnd(mallory)))
  const asked = mallory.heard.length
  await hurry(victim)
  await sleep(1_500)
  assert.equal(mallory.heard.length, asked)
})

async function isAtEnd({ victim }: Mallory): Promise<boolean> {
  const [row] = await victim.sql<{ ended: boolean }>(
    'select c.next_seq > p.revoked_seq as ended from tallystick.peers p join tallystick.peer_cursors c using (ledger_id, peer_id)',
  )
  return row!.ended
}

test('a peer that answers request_replayed to each request is retried with pauses', async (t) => {
  const mallory = await meetMallory(t)
  await until(async () => (await drainOf(mallory)).behind === 0)
  const asked = mallory.heard.length
  mallory.lie = () => ({ status: 409, body: { code: 'request_replayed' } })
  await createShared(mallory)
  await until(async () => (await drainOf(mallory)).failures >= 2)
  await sleep(3_000)
  const { lastError } = await drainOf(mallory)
  assert.match(lastError, /^request_replayed/)
  // The victim retries immediately, then after pauses that double from half a second.
  assert.ok(mallory.heard.length - asked <= 6, `${mallory.heard.length - asked} requests`)
})
