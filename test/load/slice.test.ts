import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { SlicedJobs, Slices } from '../../src/load/slice.ts'

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

test('jobs end a slice when its time is over, with all that they have started; other work runs before the next slice', async () => {
  const done: string[] = []
  const observed: number[] = []
  let left = 5
  const job = () => {
    if (left === 0) return false
    const name = `job ${left--}`
    const untilMs = performance.now() + 3
    void Promise.resolve()
      .then(() => {})
      .then(() => {
        while (performance.now() < untilMs);
        done.push(name)
      })
    return true
  }
  const jobs = new SlicedJobs(job, 5, (ms) => observed.push(ms))
  jobs.start()
  jobs.start()
  await nextTurn()
  done.push('other work')
  while (left > 0 || done.length < 6) await nextTurn()
  await nextTurn()
  assert.equal(done[0], 'job 5')
  assert.ok(done.indexOf('other work') < 4, done.join())
  assert.equal(done.length, 6)
  assert.ok(observed.length >= 3, `${observed.length} slices`)
  assert.ok(observed.slice(0, -1).every((ms) => ms >= 5))
  left = 1
  jobs.start()
  await nextTurn()
  assert.equal(done.at(-1), 'job 1', 'starts again after it has run out of jobs')
})
