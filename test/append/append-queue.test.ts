import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppendQueue, type Batch, type Queued } from '../../src/append/append-queue.ts'
import {
  APPEND_BATCH_BYTES_MAX,
  APPEND_BATCH_ENTRIES_MAX,
  APPEND_BATCH_KEYS_MAX,
  APPEND_BATCH_RECORDS_MAX,
  APPEND_CONNECTIONS,
  APPEND_CONNECTIONS_PER_LEDGER,
  APPEND_GATHER_MS_MAX,
  APPEND_OVERLAP_RECORDS_MIN,
  APPEND_QUEUE_BYTES_MAX,
  APPEND_QUEUE_ENTRIES_MAX,
  APPEND_QUEUE_RECORDS_MAX,
  APPEND_WAIT_MS_MAX,
} from '../../src/append/limits.ts'
import type { Uuid } from '../../src/proof/ids.ts'
import { runs } from '../helpers/runs.ts'

type Item = Queued & { readonly name: number }

const ledgerOf = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}` as Uuid

function open() {
  const queue = new AppendQueue<Item>()
  let name = 0
  const add = (ledger = 1, about: Partial<Queued> = {}) => {
    const item = {
      name: name++,
      ledgerId: ledgerOf(ledger),
      records: 1,
      keys: 0,
      bytes: 500,
      ownBatchMax: null,
      ...about,
    }
    queue.add(item, 0)
    return item
  }
  const addMany = (count: number, ledger = 1) => Array.from({ length: count }, () => add(ledger))
  return { queue, add, addMany }
}

const names = (batch: Batch<Item> | null) => batch?.items.map(({ name }) => name) ?? null

test('a batch waits, for a limited time, until it holds half of the requests under way', () => {
  const { queue, addMany } = open()
  addMany(6)
  assert.equal(queue.take(0, 7), null)
  addMany(1)
  assert.equal(queue.take(1, 7)?.items.length, 7)
  addMany(2, 2)
  assert.equal(queue.take(APPEND_GATHER_MS_MAX - 1, 100), null)
  assert.equal(queue.take(APPEND_GATHER_MS_MAX, 100)?.items.length, 2)
})

test('entries of quiet ledgers go at once beside a busy ledger, although more requests are coming', () => {
  const { queue, add, addMany } = open()
  addMany(40)
  queue.take(0, 0)
  addMany(40)
  const quiet = [add(2), add(3)]
  assert.deepEqual(
    names(queue.take(0, 100)),
    quiet.map(({ name }) => name),
  )
  assert.equal(queue.take(0, 100), null, 'the busy ledger still waits')
})

test('equally busy ledgers share batches: none of them is quiet', () => {
  const { queue, add } = open()
  for (let ledger = 1; ledger <= 60; ledger++) add(ledger)
  queue.take(0, 0)
  for (let ledger = 61; ledger <= 70; ledger++) add(ledger)
  assert.equal(queue.take(0, 100), null)
})

test('a ledger’s second batch starts with half of the requests under way; a third waits', () => {
  const { queue, addMany } = open()
  addMany(40)
  assert.equal(queue.take(0, 0)?.items.length, 40)
  addMany(39)
  assert.equal(queue.take(0, 0), null, '39 wait, of 79')
  addMany(1)
  assert.equal(queue.take(0, 1), null, 'one more is coming')
  assert.equal(queue.take(0, 0)?.items.length, 40)
  addMany(400)
  assert.equal(queue.take(0, 0), null, `${APPEND_CONNECTIONS_PER_LEDGER} are in flight`)
})

test('too few entries for an overlapping batch join the next batch', () => {
  const { queue, add, addMany } = open()
  add()
  const first = queue.take(0, 0)!
  addMany(APPEND_OVERLAP_RECORDS_MIN - 1)
  assert.equal(queue.take(0, 0), null)
  queue.end(first, 1)
  assert.equal(queue.take(1, 0)?.items.length, APPEND_OVERLAP_RECORDS_MIN - 1)
})

test('overlap counts the records of a batch entry like single records', () => {
  const { queue, add } = open()
  add(1, { records: 1_000 })
  queue.take(0, 0)
  add(1, { records: 999 })
  assert.equal(queue.take(0, 0), null)
  add(1)
  assert.equal(queue.take(0, 0)?.records, 1_000)
})

test('an idle ledger’s entry goes at once, in a batch without other ledgers', () => {
  const { queue, add, addMany } = open()
  addMany(100)
  queue.take(0, 0)
  addMany(101)
  const quiet = add(2)
  assert.deepEqual(names(queue.take(0, 0)), [quiet.name])
  assert.equal(queue.take(0, 0)?.items.length, 101, 'those of the busy one overlap')
  assert.equal(queue.inFlight.batches, APPEND_CONNECTIONS)
  add(3)
  assert.equal(queue.take(0, 0), null, 'no lane is free')
})

test('an administrative entry waits until its ledger has nothing in flight; later entries stay behind it', () => {
  const { queue, add, addMany } = open()
  addMany(20)
  const first = queue.take(0, 0)!
  const agent = add(1, { ownBatchMax: 8, records: 0 })
  const behind = addMany(40)
  assert.equal(queue.take(0, 0), null)
  queue.end(first, 1)
  const second = queue.take(1, 0)!
  assert.deepEqual(names(second), [agent.name])
  assert.deepEqual(
    names(queue.take(1, 0)),
    behind.map(({ name }) => name),
  )
})

test('limits the entries, records, keys and bytes of a batch; a larger single entry still goes', () => {
  const { queue, add, addMany } = open()
  addMany(APPEND_BATCH_ENTRIES_MAX + 5)
  const first = queue.take(0, 0)!
  assert.equal(first.items.length, APPEND_BATCH_ENTRIES_MAX)
  queue.end(first, 1)
  assert.equal(queue.take(1, 0)?.items.length, 5)
  for (const about of [
    { records: APPEND_BATCH_RECORDS_MAX / 2 },
    { keys: APPEND_BATCH_KEYS_MAX / 2 },
    { bytes: APPEND_BATCH_BYTES_MAX / 2 },
  ]) {
    for (let i = 0; i < 3; i++) add(2, about)
    const two = queue.take(1, 0)!
    assert.equal(two.items.length, 2)
    queue.end(two, 2)
    queue.end(queue.take(2, 0)!, 3)
  }
  add(3, { records: 2 * APPEND_BATCH_RECORDS_MAX, bytes: 2 * APPEND_BATCH_BYTES_MAX })
  assert.equal(queue.take(3, 0)?.items.length, 1)
})

test('refuses entries beyond the limits of a ledger, of all ledgers, of records and of bytes', () => {
  const { queue, add, addMany } = open()
  const refuses = (about: Partial<Queued> = {}) => {
    const item = {
      name: -1,
      ledgerId: ledgerOf(1),
      records: 1,
      keys: 0,
      bytes: 500,
      ownBatchMax: null,
      ...about,
    }
    return queue.refusal(item, 0) !== null
  }
  addMany(APPEND_QUEUE_ENTRIES_MAX / 2 - 1)
  assert.equal(refuses(), false)
  add()
  assert.equal(refuses(), true)
  assert.equal(refuses({ ledgerId: ledgerOf(2) }), false, 'there is room for the others')
  addMany(APPEND_QUEUE_ENTRIES_MAX / 2, 2)
  assert.equal(refuses({ ledgerId: ledgerOf(3) }), true)

  for (const [name, max] of [
    ['records', APPEND_QUEUE_RECORDS_MAX],
    ['bytes', APPEND_QUEUE_BYTES_MAX],
  ] as const) {
    const { queue: other, add: addTo } = open()
    addTo(1, { [name]: max - 1 })
    const item = { name: -1, ledgerId: ledgerOf(1), records: 0, keys: 0, bytes: 0, ownBatchMax: null }
    assert.equal(other.refusal({ ...item, [name]: 1 }, 0), null)
    assert.notEqual(other.refusal({ ...item, [name]: 2 }, 0), null)
  }
})

test('refuses an entry whose wait, estimated from recent batches, would exceed the limit', () => {
  const { queue, add, addMany } = open()
  for (let i = 0; i < 30; i++) {
    add()
    queue.end(queue.take(i * 1_000, 0)!, (i + 1) * 1_000)
  }
  const batchMs = 1_000
  const fitting = (APPEND_WAIT_MS_MAX / batchMs) * APPEND_BATCH_ENTRIES_MAX
  assert.ok(fitting < APPEND_QUEUE_ENTRIES_MAX)
  addMany(fitting / 2, 1)
  const item = add(2)
  assert.equal(queue.refusal(item, 30_000), null)
  addMany(fitting / 2 + 50, 3)
  assert.ok(queue.refusal(item, 30_000)! > APPEND_WAIT_MS_MAX)
})

test('the wait estimate counts two overlapping batches with half of the time each', () => {
  const { queue, addMany } = open()
  for (let i = 0; i < 30; i++) {
    addMany(20)
    const first = queue.take(i * 1_000, 0)!
    addMany(20)
    const second = queue.take(i * 1_000, 0)!
    queue.end(first, i * 1_000 + 500)
    queue.end(second, i * 1_000 + 1_000)
  }
  addMany(APPEND_BATCH_ENTRIES_MAX)
  const [item] = addMany(1, 2)
  addMany(APPEND_BATCH_ENTRIES_MAX * 2.5, 3)
  assert.equal(queue.refusal(item!, 30_000), null, '3.5 batches of 0.5 s')
  addMany(APPEND_BATCH_ENTRIES_MAX, 4)
  assert.ok(queue.refusal(item!, 30_000)! < 2_500)
})

type Step =
  | {
      readonly kind: 'add'
      readonly ledger: number
      readonly records: number
      readonly keys: number
      readonly ownBatchMax: number | null
    }
  | { readonly kind: 'take'; readonly coming: number }
  | { readonly kind: 'end'; readonly which: number }

const steps = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('add' as const),
        ledger: fc.integer({ min: 1, max: 4 }),
        records: fc.constantFrom(0, 1, 1, 1, 30, 2_000),
        keys: fc.constantFrom(0, 0, 0, 50, 700),
        ownBatchMax: fc.integer({ min: 0, max: 9 }).map((n) => [2, 3][n] ?? null),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('take' as const), coming: fc.nat(40) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat(2) }) },
  ),
  { maxLength: 200 },
)

test('property: each entry is taken exactly once, in its ledger’s order and within the limits', () => {
  fc.assert(
    fc.property(steps, (done: readonly Step[]) => {
      const { queue, add } = open()
      const inFlight: Batch<Item>[] = []
      const added = new Map<Uuid, number[]>()
      const taken = new Map<Uuid, number[]>()
      const note = (to: Map<Uuid, number[]>, { ledgerId, name }: Item) =>
        to.set(ledgerId, [...(to.get(ledgerId) ?? []), name])
      const take = (coming: number) => {
        const batch = queue.take(0, coming)
        if (!batch) return false
        inFlight.push(batch)
        assert.ok(batch.items.length > 0)
        assert.ok(inFlight.length <= APPEND_CONNECTIONS)
        const keys = batch.items.reduce((sum, item) => sum + item.keys, 0)
        // A batch of administrative entries has a limit of its own (`ownBatchMax`) for the number of its entries.
        const isOwn = batch.items[0]!.ownBatchMax !== null
        assert.ok(
          (batch.records <= APPEND_BATCH_RECORDS_MAX && keys <= APPEND_BATCH_KEYS_MAX) ||
            isOwn ||
            batch.items.length === 1,
        )
        for (const ledger of batch.ledgers)
          assert.ok(inFlight.filter((one) => one.ledgers.has(ledger)).length <= APPEND_CONNECTIONS_PER_LEDGER)
        if (batch.items.some(({ ownBatchMax }) => ownBatchMax !== null)) {
          assert.equal(batch.ledgers.size, 1)
          assert.ok(batch.items.every(({ ownBatchMax }, i) => ownBatchMax !== null && i < ownBatchMax))
        }
        for (const item of batch.items) note(taken, item)
        return true
      }
      for (const step of done) {
        if (step.kind === 'add') note(added, add(step.ledger, step))
        else if (step.kind === 'take') take(step.coming)
        else if (inFlight.length > 0) queue.end(inFlight.splice(step.which % inFlight.length, 1)[0]!, 0)
      }
      while (queue.size.entries > 0 || inFlight.length > 0) {
        const went = take(0)
        const ended = inFlight.shift()
        if (ended) queue.end(ended, 0)
        assert.ok(went || ended, `${queue.size.entries} entries wait for nothing`)
      }
      assert.deepEqual(taken, added)
      assert.deepEqual(queue.size, { entries: 0, records: 0, bytes: 0 })
      assert.deepEqual(queue.inFlight, { batches: 0, oldestAt: null })
    }),
    { numRuns: runs(1_000) },
  )
})
