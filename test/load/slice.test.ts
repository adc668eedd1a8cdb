import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Slices } from '../../src/load/slice.ts'

test('one waiting task continues per turn of the event loop, first come first served', async () => {
  const slices = new Slices()
  const done: string[] = []
  const work = async (name: string) => {
    for (let piece = 1; piece <= 2; piece++) {
      await slices.next()
      done.push(`${name}${piece}`)
    }
  }
  const all = Promise.all(['a', 'b', 'c'].map(work))
  for (let turn = 1; turn <= 6; turn++) {
    await nextTurn()
    assert.equal(done.length, turn)
  }
  await all
  assert.deepEqual(done, ['a1', 'b1', 'c1', 'a2', 'b2', 'c2'])
})
