import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { archiveUnavailable } from '../../../src/db/connect/archive.ts'
import type { Db } from '../../../src/db/connect/client.ts'
import { SharedReads } from '../../../src/outside/events/shared-reads.ts'

/** Starts reads that last until the test resolves them. */
function heldReads(atOnceMax: number) {
  const reads = new SharedReads<string>(atOnceMax, 2)
  const begun: string[] = []
  const settle = new Map<string, { resolve(text: string): void; reject(error: Error): void }>()
  const read = (key: string, ledger = 'one') =>
    reads.read(ledger, key, () => {
      begun.push(key)
      return new Promise((resolve, reject) => settle.set(key, { resolve, reject }))
    })
  return { read, begun, settle }
}

test('concurrent reads of one key share a query, and a later read queries again', async () => {
  const { read, begun, settle } = heldReads(2)
  const both = [read('a'), read('a')]
  await turn()
  settle.get('a')!.resolve('first')
  assert.deepEqual(await Promise.all(both), ['first', 'first'])
  const later = read('a')
  await turn()
  settle.get('a')!.resolve('second')
  assert.equal(await later, 'second')
  assert.deepEqual(begun, ['a', 'a'])
})

test('limits concurrent reads, first come first served, also after failures', async () => {
  const { read, begun, settle } = heldReads(2)
  const all = ['a', 'b', 'c', 'd', 'e'].map((key) => read(key).catch((error: Error) => error.message))
  await turn()
  assert.deepEqual(begun, ['a', 'b'])
  settle.get('b')!.reject(new Error('away'))
  await turn()
  assert.deepEqual(begun, ['a', 'b', 'c'])
  for (const key of ['a', 'c', 'd', 'e']) {
    settle.get(key)!.resolve(key)
    await turn()
  }
  assert.deepEqual(await Promise.all(all), ['a', 'away', 'c', 'd', 'e'])
  const [x, y, z] = ['x', 'y', 'z'].map((key) => read(key))
  await turn()
  assert.deepEqual(begun.slice(5), ['x', 'y'], 'every place was given back')
  for (const key of ['x', 'y']) settle.get(key)!.resolve(key)
  await turn()
  settle.get('z')!.resolve('z')
  assert.deepEqual(await Promise.all([x, y, z]), ['x', 'y', 'z'])
})

test('serves ledgers round-robin: a busy ledger delays only itself', async () => {
  const { read, begun, settle } = heldReads(1)
  const all = ['a', 'b', 'c', 'd'].map((key) => read(key, 'busy'))
  all.push(read('x', 'other'), read('y', 'other'), read('z', 'third'))
  for (let i = 0; i < all.length; i++) {
    await turn()
    settle.get(begun[i]!)!.resolve('')
  }
  await Promise.all(all)
  assert.deepEqual(begun, ['a', 'b', 'x', 'z', 'c', 'y', 'd'])
})

/** Makes a database with an archive. Each read of the archive ends when the test resolves it. */
function slowArchive() {
  const asked: { resolve(envelopes: Uint8Array[]): void; reject(error: Error): void }[] = []
  const readEnvelopes = () =>
    new Promise<Uint8Array[]>((resolve, reject) => void asked.push({ resolve, reject }))
  const db = { query: async () => {}, archive: { readEnvelopes } } as unknown as Db
  return { db, asked }
}

const BUNDLE = { ledgerId: '' as never, tile: 0, width: 0, entries: [] }

test('a read gives up its slot while it waits for the archive, and takes one again', async () => {
  const reads = new SharedReads<string>(1, 2)
  const { db, asked } = slowArchive()
  const steps: string[] = []
  const fill = (key: string, ledger: string) =>
    reads.read(ledger, key, async (turned) => {
      steps.push(`${key} begins`)
      const envelopes = await turned(db).archive!.readEnvelopes(BUNDLE)
      steps.push(`${key} goes on`)
      return `${key} ${envelopes.length}`
    })
  const filling = fill('a', 'one')
  await turn()
  let end = () => {}
  const other = reads.read('other', 'x', () => new Promise((resolve) => (end = () => resolve('here'))))
  await turn()
  asked[0]!.resolve([])
  await turn()
  assert.deepEqual(steps, ['a begins'], 'the place is taken')
  end()
  assert.deepEqual(await Promise.all([filling, other]), ['a 0', 'here'])
  const failing = fill('b', 'one')
  await turn()
  asked[1]!.reject(archiveUnavailable('away'))
  await assert.rejects(failing, /away/)
  assert.equal(await reads.read('other', 'y', async () => 'place'), 'place')
})

test('limits reads of a ledger that wait for the archive with archive_unavailable; other ledgers continue', async () => {
  const reads = new SharedReads<number>(1, 2)
  const { db, asked } = slowArchive()
  const fill = (key: string, ledger: string) =>
    reads.read(ledger, key, async (turned) => {
      const first = await turned(db).archive!.readEnvelopes(BUNDLE)
      return first.length
    })
  const all = [fill('a', 'one'), fill('b', 'one')]
  await turn()
  await assert.rejects(fill('c', 'one'), { code: 'archive_unavailable' })
  all.push(fill('d', 'two'))
  await turn()
  assert.equal(asked.length, 3)
  for (const { resolve } of asked) resolve([])
  assert.deepEqual(await Promise.all(all), [0, 0, 0])
  const later = fill('e', 'one')
  await turn()
  asked[3]!.resolve([])
  assert.equal(await later, 0, 'their places were given back')
})
