import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { SharedReads } from '../../../src/outside/events/shared-reads.ts'

/** Reads that end when the test says so. */
function heldReads(atOnceMax: number) {
  const reads = new SharedReads<string>(atOnceMax)
  const begun: string[] = []
  const settle = new Map<string, { resolve(text: string): void; reject(error: Error): void }>()
  const read = (key: string, ledger = 'one') =>
    reads.read(ledger, key, () => {
      begun.push(key)
      return new Promise((resolve, reject) => settle.set(key, { resolve, reject }))
    })
  return { read, begun, settle }
}

test('what many ask for at once is read once, and anew when it is asked for later', async () => {
  const { read, begun, settle } = heldReads(2)
  const both = [read('a'), read('a')]
  settle.get('a')!.resolve('first')
  assert.deepEqual(await Promise.all(both), ['first', 'first'])
  const later = read('a')
  settle.get('a')!.resolve('second')
  assert.equal(await later, 'second')
  assert.deepEqual(begun, ['a', 'a'])
})

test('few read at a time, in the order in which they asked, also when reads fail', async () => {
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

test('ledgers take turns: a ledger that asks for a great deal waits for it alone', async () => {
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
