import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LedgerTail } from '../../../src/proof/ledger/tail.ts'
import { TAIL_AGE_MS_MAX } from '../../../src/proof/limits.ts'
import { makeChain } from '../../helpers/test-chain.ts'
import { assertRefused, verifyChain } from '../../helpers/verify-chain.ts'

const NO_CHECKPOINT = { ownSize: 0, outsideSize: 0 }

test('finds the oldest entry that no checkpoint covers, for times in any order', () => {
  const times = fc.array(fc.integer({ min: 0, max: 4 * TAIL_AGE_MS_MAX }), { minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(times, fc.nat(30), fc.nat(30), (atMs, ownSize, outsideSize) => {
      const tail = new LedgerTail()
      // Returns the size of a checkpoint, or 0 as long as the ledger is shorter. A checkpoint counts only after the
      // verifier has compared it with the ledger.
      const known = (size: number, seq: number) => (size <= seq + 1 ? size : 0)
      for (const [seq, at] of atMs.entries())
        tail.append({ seq, atMs: at }, { ownSize: known(ownSize, seq), outsideSize: known(outsideSize, seq) })
      const newest = Math.max(...atMs)
      const oldestFrom = (size: number) => Math.min(...atMs.slice(size <= atMs.length ? size : 0))
      const isLate = (size: number) => newest - oldestFrom(size) > TAIL_AGE_MS_MAX
      const all = Math.max(...[ownSize, outsideSize].filter((size) => size <= atMs.length), 0)
      assert.equal(tail.lateBehindOwn !== null, isLate(ownSize))
      assert.equal(tail.lateBehindAll !== null, isLate(all))
      if (tail.lateBehindAll) assert.equal(tail.lateBehindAll.atMs, oldestFrom(all))
    }),
  )
})

test('an entry more than 60 s younger than the last covered entry is a gap', () => {
  const hasGapAfter = (ms: number, ownSize: number) => {
    const tail = new LedgerTail()
    tail.append({ seq: 0, atMs: 0 }, { ownSize: Math.min(ownSize, 1), outsideSize: 0 })
    tail.append({ seq: 1, atMs: ms }, { ownSize, outsideSize: 0 })
    return tail.hasGapBehindOwn
  }
  const sizes = [0, 1, 2]
  assert.deepEqual(
    sizes.map((ownSize) => hasGapAfter(TAIL_AGE_MS_MAX, ownSize)),
    [false, false, false],
  )
  assert.deepEqual(
    sizes.map((ownSize) => hasGapAfter(TAIL_AGE_MS_MAX + 1, ownSize)),
    [false, true, false],
  )
})

test('an uncovered tail is late after more than 60 s, and not at 60 s', () => {
  const lateAfter = (ms: number) => {
    const tail = new LedgerTail()
    tail.append({ seq: 0, atMs: 0 }, NO_CHECKPOINT)
    tail.append({ seq: 1, atMs: ms }, NO_CHECKPOINT)
    return tail.lateBehindAll
  }
  assert.equal(new LedgerTail().lateBehindAll, null)
  assert.equal(lateAfter(TAIL_AGE_MS_MAX), null)
  assert.deepEqual(lateAfter(TAIL_AGE_MS_MAX + 1), { seq: 0, atMs: 0, newestAtMs: TAIL_AGE_MS_MAX + 1 })
})

test('refuses an old tail with checkpoint_missing_tail, or reports the tail with lateTail: noticed', () => {
  const chain = makeChain()
  chain.pass(TAIL_AGE_MS_MAX)
  chain.notarize()
  assertRefused('checkpoint_missing_tail', () => verifyChain(chain), /the newest checkpoint covers 0 entries/)
  assert.equal(verifyChain(chain, { lateTail: 'noticed' }).ownReachesEnd, false)
  assert.equal(verifyChain(chain, { own: [chain.checkpoint()] }).ownReachesEnd, true)
  // The checkpoint covers three entries. The next entry is more than a minute later.
  assert.equal(verifyChain(chain, { own: [chain.checkpoint(3)] }).ownReachesEnd, false)
  assert.equal(verifyChain(chain, { storedCheckpoints: [chain.checkpoint(3)] }).ownReachesEnd, false)
})

test('entries signed since the compromise of a key are refused, even under a stored checkpoint', () => {
  const chain = makeChain()
  const { recordedAt } = chain.notarize()
  const compromised = (sinceMs: number) => ({
    compromised: new Map([[chain.firstSigner.kidHex, sinceMs]]),
    storedCheckpoints: [chain.checkpoint()],
  })
  verifyChain(chain, compromised(Date.parse(recordedAt) + 1))
  assertRefused('key_compromised', () => verifyChain(chain, compromised(Date.parse(recordedAt))))
})
