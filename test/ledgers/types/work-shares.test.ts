import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../src/errors.ts'
import {
  SCHEMA_WORK_AHEAD_MS_MAX,
  SCHEMA_WORK_SHARE,
  SCHEMA_WORK_WAITING_PER_LEDGER_MAX,
} from '../../../src/ledgers/types/limits.ts'
import { WorkShares } from '../../../src/ledgers/types/work-shares.ts'

function busy(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

test('work is done at once as long as the ledger is within its share', () => {
  const shares = new WorkShares()
  assert.equal(
    shares.run('a', () => 'done'),
    'done',
  )
  assert.throws(
    () =>
      shares.run('a', () => {
        throw new Error('of the work')
      }),
    /of the work/,
  )
})

test('a ledger that has used its share waits, and others do not', async () => {
  const shares = new WorkShares()
  const heavyMs = 2 * SCHEMA_WORK_AHEAD_MS_MAX * SCHEMA_WORK_SHARE
  const begun = performance.now()
  shares.run('heavy', () => busy(heavyMs))
  const late = shares.run('heavy', () => 'late')
  assert.ok(late instanceof Promise)
  assert.equal(
    shares.run('other', () => 'at once'),
    'at once',
  )
  assert.equal(await late, 'late')
  // Work of this ledger alone fills half of SCHEMA_WORK_AHEAD_MS_MAX. The rest is time that it waited.
  assert.ok(performance.now() - begun > 0.9 * SCHEMA_WORK_AHEAD_MS_MAX, 'it did not wait')
})

test('what waits is done in order, one heavy piece a turn, and at the ledger’s share of the time', async () => {
  const shares = new WorkShares()
  const order: number[] = []
  let longestTurnMs = 0
  let last = performance.now()
  const turns = setInterval(() => {
    longestTurnMs = Math.max(longestTurnMs, performance.now() - last)
    last = performance.now()
  }, 1)
  const begun = performance.now()
  const pieces = Array.from({ length: 20 }, (_, i) =>
    shares.run('heavy', () => {
      busy(10)
      order.push(i)
    }),
  )
  await Promise.all(pieces)
  clearInterval(turns)
  assert.deepEqual(
    order,
    Array.from({ length: 20 }, (_, i) => i),
  )
  // After the first piece, each piece takes 10 ms of work and waits for three times as long. So the event loop stays
  // free most of the time.
  assert.ok(performance.now() - begun > 10 * 18 * (1 / SCHEMA_WORK_SHARE) * 0.9)
  assert.ok(longestTurnMs < 150, `${longestTurnMs} ms without a turn for others`)
})

test('many small pieces that wait are done in one turn, once there is time for them', async () => {
  const shares = new WorkShares()
  shares.run('heavy', () => busy(2 * SCHEMA_WORK_AHEAD_MS_MAX * SCHEMA_WORK_SHARE))
  let turn = 0
  const turns = setInterval(() => turn++, 1)
  const doneIn = await Promise.all(Array.from({ length: 100 }, () => shares.run('heavy', () => turn)))
  clearInterval(turns)
  assert.ok(new Set(doneIn).size <= 3, `${new Set(doneIn).size} turns`)
})

test('no more than a bounded number waits; the next is refused and may come back', async () => {
  const shares = new WorkShares()
  shares.run('heavy', () => busy(30))
  const waiting = Array.from({ length: SCHEMA_WORK_WAITING_PER_LEDGER_MAX }, () =>
    shares.run('heavy', () => 1),
  )
  assert.throws(
    () => shares.run('heavy', () => 1),
    (error) => error instanceof ApiError && error.code === 'overloaded' && error.retryable,
  )
  assert.equal((await Promise.all(waiting)).length, SCHEMA_WORK_WAITING_PER_LEDGER_MAX)
})

test('a failure of work that waited is its caller’s alone', async () => {
  const shares = new WorkShares()
  shares.run('heavy', () => busy(20))
  const failing = shares.run('heavy', () => {
    throw new Error('of the work')
  })
  const next = shares.run('heavy', () => 'next')
  await assert.rejects(async () => failing, /of the work/)
  assert.equal(await next, 'next')
})
