import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Follower, runFollower } from '../../src/follow/loop.ts'

const silent = { error() {} }

function follower(everyMs: number, step: Follower['step']): Follower {
  return { name: 'test', everyMs, step }
}

test('begins a round at once while there is more to do, and pauses when there is not', async () => {
  const stop = new AbortController()
  let rounds = 0
  const running = runFollower(
    follower(10_000, async () => ++rounds < 5),
    silent,
    stop.signal,
  )
  await sleep(50)
  assert.equal(rounds, 5)
  stop.abort()
  await running
})

test('a round that has begun is finished before it stops', async () => {
  const stop = new AbortController()
  let finished = false
  const running = runFollower(
    follower(1, async () => {
      stop.abort()
      await sleep(30)
      finished = true
      return true
    }),
    silent,
    stop.signal,
  )
  await running
  assert.equal(finished, true)
})

test('goes on after a failed round, says so, and pauses longer the more fail', async () => {
  const stop = new AbortController()
  const logged: object[] = []
  const at: number[] = []
  const running = runFollower(
    follower(8, async () => {
      at.push(performance.now())
      if (at.length === 5) stop.abort()
      throw new Error('the database is away')
    }),
    { error: (details) => logged.push(details) },
    stop.signal,
  )
  await running
  assert.equal(logged.length, 5)
  const pauses = at.slice(1).map((time, i) => time - at[i]!)
  assert.ok(pauses[3]! > 8 * 2 ** 4 * 0.5 - 2, `the fourth pause was ${pauses[3]} ms`)
})
