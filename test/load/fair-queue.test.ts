import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairQueue } from '../../src/load/fair-queue.ts'

function queueOf(...items: [owner: string, item: number][]): FairQueue<number> {
  const queue = new FairQueue<number>()
  for (const [owner, item] of items) queue.add(owner, item)
  return queue
}

function drain(queue: FairQueue<number>): number[] {
  const taken: number[] = []
  for (let next = queue.next(); next !== null; next = queue.next()) taken.push(next)
  return taken
}

test('serves owners round-robin, and the items of one owner in order', () => {
  const queue = queueOf(['a', 1], ['a', 2], ['a', 3], ['b', 4], ['b', 5], ['c', 6])
  assert.deepEqual([queue.size, queue.owners, queue.lengthOf('a'), queue.lengthOf('d')], [6, 3, 3, 0])
  assert.deepEqual(drain(queue), [1, 4, 6, 2, 5, 3])
  assert.deepEqual([queue.size, queue.owners], [0, 0])
})

test('an owner that is skipped stays first in the round-robin', () => {
  const queue = queueOf(['a', 1], ['b', 2], ['c', 3])
  assert.equal(
    queue.next((owner) => owner !== 'a'),
    2,
  )
  assert.deepEqual(drain(queue), [1, 3])
  assert.equal(
    queue.next(() => true),
    null,
  )
})

test('an item can be added first, or removed', () => {
  const queue = queueOf(['a', 1], ['b', 2], ['b', 3])
  queue.add('b', 4, 'first')
  queue.delete('a', 1)
  queue.delete('b', 3)
  queue.delete('b', 3)
  queue.delete('c', 1)
  assert.deepEqual(drain(queue), [4, 2])
})
