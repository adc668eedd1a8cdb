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

test('delays a ledger beyond its share, and no other ledger', async () => {
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
  // The first work has used twice SCHEMA_WORK_AHEAD_MS_MAX of the ledger's share. So the next work had to wait until
  // SCHEMA_WORK_AHEAD_MS_MAX had passed.
  assert.ok(performance.now() - begun > 0.9 * SCHEMA_WORK_AHEAD_MS_MAX, 'it did not wait')
})

test('runs waiting work in order, one heavy piece per slice, at the ledger’s share of time', async () => {
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
  // Each piece takes 10 ms of work, which is SCHEMA_WORK_SHARE of the time until the next piece begins. So the event
  // loop stays free most of the time.
  assert.ok(performance.now() - begun > 10 * 18 * (1 / SCHEMA_WORK_SHARE) * 0.9)
  assert.ok(longestTurnMs < 150, `${longestTurnMs} ms without a turn for others`)
})

test('runs many small waiting pieces in one slice', async () => {
  const shares = new WorkShares()
  shares.run('heavy', () => busy(2 * SCHEMA_WORK_AHEAD_MS_MAX * SCHEMA_WORK_SHARE))
  let turn = 0
  const turns = setInterval(() => turn++, 1)
  const doneIn = await Promise.all(Array.from({ length: 100 }, () => shares.run('heavy', () => turn)))
  clearInterval(turns)
  assert.ok(new Set(doneIn).size <= 3, `${new Set(doneIn).size} turns`)
})

test('refuses work beyond the limit of waiting pieces as overloaded, retryable', async () => {
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

test('a failure of waiting work rejects only its own caller', async () => {
  const shares = new WorkShares()
  shares.run('heavy', () => busy(20))
  const failing = shares.run('heavy', () => {
    throw new Error('of the work')
  })
  const next = shares.run('heavy', () => 'next')
  await assert.rejects(async () => failing, /of the work/)
  assert.equal(await next, 'next')
})
