import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import { encodeChunk } from '../../../src/db/chunks/chunk-content.ts'
import { chunkKey } from '../../../src/db/chunks/chunk-keys.ts'
import { CHUNKS_OF_KEYS_MAX } from '../../../src/db/limits.ts'
import { BATCH_KEYS_MAX } from '../../../src/records/limits.ts'
import { spanIdentity } from '../../../src/records/otlp/identity.ts'
import { KnownItems } from '../../../src/records/otlp/known-items.ts'
import {
  OTLP_GROUPS_AT_ONCE_MAX,
  OTLP_KNOWN_GROUPS_MAX,
  OTLP_KNOWN_ITEMS_OF_GROUP_MAX,
  OTLP_KNOWN_ITEMS_OF_LEDGER_MAX,
  OTLP_READS_MAX,
  OTLP_WAITING_MAX,
} from '../../../src/records/otlp/limits.ts'
import { makeEntropy } from '../../../src/signing/entropy.ts'

const entropy = makeEntropy()
const newSender = () => ({ ledgerId: entropy.uuidv7(1), agentId: entropy.uuidv7(1) })
/** Makes a KnownItems without a database, because these tests never make it read one. */
const newItems = () => new KnownItems(null as unknown as pg.Pool)

test('requests about the same trace run one after another, others in parallel; a failure releases the trace', async () => {
  const items = newItems()
  const sender = newSender()
  const said: string[] = []
  const first = Promise.withResolvers<void>()
  const work =
    (name: string, until: Promise<void> = Promise.resolve()) =>
    async () => {
      said.push(`${name} begins`)
      await until
      said.push(`${name} ends`)
    }
  const waiting = [
    items.whileReserved(sender, ['a', 'b'], work('first', first.promise)),
    items.whileReserved(sender, ['b', 'c'], () => Promise.reject(new Error('second'))),
    items.whileReserved(sender, ['b'], work('third')),
  ]
  await items.whileReserved(sender, ['d'], work('another trace'))
  await items.whileReserved(newSender(), ['a', 'b'], work('another ledger'))
  first.resolve()
  await assert.rejects(waiting[1]!, /second/)
  await Promise.all([waiting[0], waiting[2]])
  assert.deepEqual(said, [
    'first begins',
    ...['another trace begins', 'another trace ends', 'another ledger begins', 'another ledger ends'],
    ...['first ends', 'third begins', 'third ends'],
  ])
})

test('at most OTLP_WAITING_MAX requests of a ledger wait; the next one is refused', async () => {
  const items = newItems()
  const sender = newSender()
  const { promise, resolve } = Promise.withResolvers<void>()
  const held = items.whileReserved(sender, ['a'], () => promise)
  const waiting = Array.from({ length: OTLP_WAITING_MAX }, () =>
    items.whileReserved(sender, ['a'], async () => {}),
  )
  await assert.rejects(
    items.whileReserved(sender, ['a'], async () => {}),
    /too many requests about the same traces/,
  )
  resolve()
  await Promise.all([held, ...waiting])
})

type Query = { readonly name: string; readonly values: readonly unknown[] }
const pooled = (query: (query: Query) => Promise<object[]>) =>
  new KnownItems({ query: async (of: Query) => ({ rows: await query(of) }) } as unknown as pg.Pool)
const NOTHING = [{ size: 1_000_000, index: null, seq: null, chunk: null, own: null }]
const identities = (count: number) => Array.from({ length: count }, (_, i) => `${i}.`)
/** Decodes an array of int8 in Postgres' binary format. */
const numbersOf = (array: unknown) => {
  const bytes = array as Buffer
  return Array.from({ length: bytes.readInt32BE(12) }, (_, i) => Number(bytes.readBigInt64BE(24 + 12 * i)))
}

test('a ledger has a limited share of the memory; of a trace the newest spans stay', async () => {
  const items = pooled(async () => NOTHING)
  const [quiet, loud] = [newSender(), newSender()]
  const span = new Map([['aa', ['x.']]])
  items.note(quiet, span, 1)
  for (let i = 0; i < 4; i++)
    items.note(loud, new Map([[`${i}${i}`, identities(OTLP_KNOWN_ITEMS_OF_GROUP_MAX + 5)]]), i)
  assert.ok(items.figures.items <= OTLP_KNOWN_ITEMS_OF_LEDGER_MAX + 1)
  assert.ok(items.figures.groups < 5)
  assert.deepEqual((await items.find(quiet, span)).repeated, span)
  const [oldest, newest] = ['0.', `${OTLP_KNOWN_ITEMS_OF_GROUP_MAX + 4}.`]
  const { repeated } = await items.find(loud, new Map([['33', [oldest!, newest!]]]))
  assert.deepEqual([...repeated], [['33', [newest]]])
})

test('a batch with more than OTLP_GROUPS_AT_ONCE_MAX traces is not remembered, and reserves only the first', async () => {
  const names = Array.from({ length: OTLP_GROUPS_AT_ONCE_MAX + 1 }, (_, i) => `${i}`)
  const items = newItems()
  const sender = newSender()
  items.note(sender, new Map(names.map((name) => [name, ['x.']])), 1)
  assert.deepEqual(items.figures, { items: 0, groups: 0 })
  items.note(sender, new Map(names.slice(1).map((name) => [name, ['x.']])), 2)
  assert.equal(items.figures.groups, OTLP_GROUPS_AT_ONCE_MAX)
  await items.whileReserved(sender, names, () => items.whileReserved(sender, names.slice(-1), async () => {}))
})

test('the memory of a process is bounded for any number of ledgers, and includes the newest trace', async () => {
  const items = pooled(async () => NOTHING)
  const senders = Array.from({ length: 12 }, newSender)
  for (const sender of senders)
    for (let i = 0; i < 64; i++)
      items.note(
        sender,
        new Map(Array.from({ length: OTLP_GROUPS_AT_ONCE_MAX }, (_, j) => [`${i} ${j}`, ['x.']])),
        i,
      )
  const { groups } = items.figures
  assert.ok(groups <= OTLP_KNOWN_GROUPS_MAX && groups > OTLP_KNOWN_GROUPS_MAX / 2, `${groups}`)
  assert.ok(items.remembers(senders.at(-1)!, new Map([['63 0', []]])))
  assert.ok(!items.remembers(senders[0]!, new Map([['63 0', []]])))
})

test('a group evicted from memory during a lookup is not used', async () => {
  const sender = newSender()
  const trace = 'ab'.repeat(16)
  const record = {
    ...{ type: 'otel-span/1', occurredAtMs: null, onBehalfOf: null, parentId: null, otherMembers: null },
    document: { salt: Buffer.alloc(16), payload: Buffer.from('{}'), references: null, metadata: null },
    traceparent: `00-${trace}-${'cd'.repeat(8)}-01`,
  }
  const items = pooled(async ({ name }) => {
    if (name === 'find_chunks_of_keys') return [{ size: 1_000_000, index: 0, seq: 9, chunk: 0, own: true }]
    for (let i = 0; i < 3; i++)
      items.note(sender, new Map([[`${i}${i}`, identities(OTLP_KNOWN_ITEMS_OF_GROUP_MAX)]]), i)
    if (name === 'read_subjects_of_chunks') return []
    return [{ seq: 9, chunk: 0, firstRecordId: '', count: 1, content: encodeChunk([record]), erasures: null }]
  })
  const identity = spanIdentity('cd'.repeat(8), record.document.payload, null)
  const sent = new Map([[chunkKey.member('traceparent', trace).toString('hex'), [identity]]])
  assert.deepEqual((await items.find(sender, sent)).repeated, sent)
  assert.ok(items.figures.items <= OTLP_KNOWN_ITEMS_OF_LEDGER_MAX)
})

test('a lookup that needs too many reads is refused with overloaded, and the retry continues there', async () => {
  const sender = newSender()
  const since: number[] = []
  const items = pooled(async ({ values }) => {
    const [from] = numbersOf(values[2])
    since.push(from!)
    const place = (i: number) => ({ size: 1_000_000, index: 0, seq: from! + 1 + i, chunk: 0, own: false })
    return since.length > OTLP_READS_MAX
      ? NOTHING
      : Array.from({ length: CHUNKS_OF_KEYS_MAX + 1 }, (_, i) => place(i))
  })
  const sent = new Map([['aa', ['x.']]])
  await assert.rejects(items.find(sender, sent), { code: 'overloaded', retryable: true })
  assert.equal((await items.find(sender, sent)).size, 1_000_000)
  // If BATCH_KEYS_MAX were larger, an entry could have more positions than one lookup reads. Then every lookup would
  // stop at that entry.
  assert.ok(CHUNKS_OF_KEYS_MAX >= BATCH_KEYS_MAX)
  assert.deepEqual(
    since,
    Array.from({ length: OTLP_READS_MAX + 1 }, (_, i) => i * (CHUNKS_OF_KEYS_MAX + 1)),
  )
})
