import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LedgerEnds } from '../../../src/db/events/read-events.ts'
import { LedgerWatch } from '../../../src/outside/events/ledger-watch.ts'
import { EVENTS_POLL_MS } from '../../../src/outside/events/limits.ts'
import { bytesOfUuid, type Uuid, uuidOfBytes } from '../../../src/proof/ids.ts'
import { until } from '../../helpers/wait.ts'

const [ONE, OTHER] = [1, 2].map((n) => uuidOfBytes(new Uint8Array(16).fill(n))) as [Uuid, Uuid]
const START = { size: 3, checkpoint: 0, verifiedSize: 0 }

const numberOf = (id: Uuid) => bytesOfUuid(id)[0]!

/** Sets up a watch of two ledgers. The test changes `ends`, the sizes of the ledgers that the watch reads. */
function setUp() {
  const ends = new Map<number, LedgerEnds>([
    [1, START],
    [2, START],
  ])
  const looks: number[][] = []
  const warnings: string[] = []
  const state = { ends, looks, warnings, isAway: false }
  const read = async (ids: readonly Uuid[]) => {
    looks.push(ids.map(numberOf))
    if (state.isAway) throw new Error('away')
    return ids.map((id) => ends.get(numberOf(id))!)
  }
  const watch = new LedgerWatch(read, { warn: (_details, message) => void warnings.push(message) })
  const stop = new AbortController()
  const wait = (
    ledgerId: Uuid,
    { than = START, msMax = 10_000, isGated = false, signal = stop.signal } = {},
  ) => watch.grown(ledgerId, than, { msMax, isGated, signal })
  return { ...state, state, wait, stop }
}

test('a waiter is called when its ledger has new entries or a checkpoint, and no others', async () => {
  const { ends, looks, wait, stop } = setUp()
  const waiting = [wait(ONE), wait(ONE), wait(OTHER, { msMax: 3 * EVENTS_POLL_MS })]
  ends.set(1, { size: 4, checkpoint: 0, verifiedSize: 0 })
  assert.deepEqual(await Promise.all(waiting), [ends.get(1), ends.get(1), null])
  assert.deepEqual(looks[0], [1, 2], 'one query asks for all of them')
  const published = wait(ONE, { than: { size: 4, checkpoint: 0, verifiedSize: 0 } })
  ends.set(1, { size: 4, checkpoint: 4, verifiedSize: 0 })
  assert.deepEqual(await published, ends.get(1))
  stop.abort()
})

test('entries from before the wait are found by the next poll', async () => {
  const { ends, wait } = setUp()
  ends.set(1, { size: 9, checkpoint: 0, verifiedSize: 0 })
  assert.deepEqual(await wait(ONE), { size: 9, checkpoint: 0, verifiedSize: 0 })
})

test('a waiter at a settlement is called only for a larger verified size, and other waiters are not', async () => {
  const { ends, wait, stop } = setUp()
  const held = wait(ONE, { isGated: true })
  const idle = wait(ONE, { than: { ...START, size: 9 }, msMax: 4 * EVENTS_POLL_MS })
  ends.set(1, { size: 9, checkpoint: 0, verifiedSize: 0 })
  await sleep(2 * EVENTS_POLL_MS)
  ends.set(1, { size: 9, checkpoint: 0, verifiedSize: 4 })
  assert.deepEqual(await held, { size: 9, checkpoint: 0, verifiedSize: 4 })
  assert.equal(await idle, null)
  stop.abort()
})

test('stops polling when the last waiter is aborted, and starts again with the next', async () => {
  const { looks, wait, stop } = setUp()
  const waiting = wait(ONE)
  await until(() => looks.length > 1)
  const stoppedAt = performance.now()
  stop.abort()
  assert.equal(await waiting, null)
  assert.ok(performance.now() - stoppedAt < 1_000, 'who is stopped waits no longer')
  await sleep(2 * EVENTS_POLL_MS)
  const before = looks.length
  await sleep(3 * EVENTS_POLL_MS)
  assert.equal(looks.length, before)
  assert.equal(await wait(ONE), null, 'who was stopped does not begin')
  assert.equal(looks.length, before)
  const { signal } = new AbortController()
  void wait(ONE, { signal, msMax: 2 * EVENTS_POLL_MS })
  await until(() => looks.length > before)
})

test('waiters stay during an outage of the database, which is logged once', async () => {
  const { state, ends, wait, warnings, looks } = setUp()
  state.isAway = true
  const waiting = wait(ONE)
  await until(() => looks.length > 3)
  assert.equal(warnings.length, 1)
  state.isAway = false
  ends.set(1, { size: 4, checkpoint: 0, verifiedSize: 0 })
  assert.deepEqual(await waiting, { size: 4, checkpoint: 0, verifiedSize: 0 })
})
