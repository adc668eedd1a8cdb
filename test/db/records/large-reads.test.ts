import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextSlice } from 'node:timers/promises'
import { LargeReads } from '../../../src/db/records/large-reads.ts'
import { randomId } from '../../helpers/test-ledger.ts'

test('one read of each ledger runs at a time, two in all, round-robin by ledger', async () => {
  const reads = new LargeReads({ atOnceMax: 2, waitingMax: 2 })
  const [a, b, c] = [randomId(), randomId(), randomId()]
  const began: string[] = []
  const ends: (() => void)[] = []
  const read = (ledgerId: typeof a, name: string) =>
    reads.run(ledgerId, () => {
      began.push(name)
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.push(resolve)
      return promise
    })
  const all = [read(a, 'a1'), read(a, 'a2'), read(a, 'a3'), read(b, 'b1'), read(b, 'b2'), read(c, 'c1')]
  await nextSlice()
  assert.deepEqual(began, ['a1', 'b1'])
  for (let ended = 0; ended < all.length; ended++) {
    ends[ended]!()
    await nextSlice()
  }
  assert.deepEqual(began, ['a1', 'b1', 'a2', 'b2', 'c1', 'a3'])
  await Promise.all(all)
})

test('a read that fails lets the next one run', async () => {
  const reads = new LargeReads({ atOnceMax: 1, waitingMax: 2 })
  const ledgerId = randomId()
  const failed = reads.run(ledgerId, () => Promise.reject(new Error('the statement failed')))
  const next = reads.run(ledgerId, async () => 'read')
  await assert.rejects(failed, /the statement failed/)
  assert.equal(await next, 'read')
})

test('a ledger may have only some reads waiting: further reads are refused, and reads of other ledgers are not', async () => {
  const reads = new LargeReads({ atOnceMax: 1, waitingMax: 2 })
  const [busy, other] = [randomId(), randomId()]
  const { promise, resolve } = Promise.withResolvers<void>()
  const accepted = [busy, busy, busy, other].map((ledgerId) => reads.run(ledgerId, () => promise))
  await assert.rejects(
    reads.run(busy, () => promise),
    { code: 'overloaded', retryable: true },
  )
  resolve()
  await Promise.all(accepted)
  assert.equal(await reads.run(busy, async () => 'read'), 'read')
})
