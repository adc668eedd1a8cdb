import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  PEER_ENTRIES_SENT_MAX,
  PEER_REQUEST_ENTRY_BYTES_MAX,
  PEER_REQUEST_ENTRY_BYTES_MIN,
} from '../../../src/outside/federation/limits.ts'
import { RequestLimits } from '../../../src/outside/federation/request-limits.ts'

const ENTRY_BYTES = 1_000

/**
 * Sends entries 0 to `count` in requests of the size that the limits allow. A request with an entry for which `isBad`
 * returns true is refused for its content. Returns the number of requests and the entries that were isolated.
 */
function search(count: number, isBad: (entry: number) => boolean) {
  const limits = new RequestLimits(null)
  const alone: number[] = []
  let [at, requests] = [0, 0]
  while (at < count) {
    requests++
    const entries = Math.min(limits.max.entries, count - at)
    const isRefused = Array.from({ length: entries }, (_, i) => at + i).some(isBad)
    if (isRefused && limits.refuse('contents', { entries, bytes: entries * ENTRY_BYTES })) continue
    if (isRefused) alone.push(at)
    limits.settle(entries)
    at += entries
  }
  return { alone, requests, learnt: limits.learnt }
}

test('finds one bad entry of 200 within 18 requests, without learning a size limit', () => {
  for (let bad = 0; bad < PEER_ENTRIES_SENT_MAX; bad++) {
    const { alone, requests, learnt } = search(PEER_ENTRIES_SENT_MAX, (entry) => entry === bad)
    assert.deepEqual([alone, learnt], [[bad], null])
    assert.ok(requests <= 18, `${requests} requests for ${bad}`)
  }
})

test('finds each of several bad entries, adjacent ones too', () => {
  for (const bad of [
    [0, 1, 2],
    [198, 199],
    [0, 100, 199],
    [7, 8, 150],
  ])
    assert.deepEqual(search(PEER_ENTRIES_SENT_MAX, (entry) => bad.includes(entry)).alone, bad)
})

test('halves a refused size until it passes; after a failed larger try returns to it', () => {
  const limits = new RequestLimits(null)
  const isTaken = (bytes: number) => bytes <= 700_000
  const passes = (entryBytes: number) => {
    let requests = 0
    for (;;) {
      requests++
      const entries = Math.max(1, Math.floor(limits.max.bytes / entryBytes))
      const bytes = entries * entryBytes
      if (isTaken(bytes)) return requests
      assert.ok(limits.refuse('size', { entries, bytes }))
    }
  }
  assert.equal(passes(40_000), 3)
  const learnt = limits.learnt!
  assert.ok(learnt > 350_000 && learnt <= 700_000, `${learnt}`)
  assert.equal(new RequestLimits(learnt).max.bytes, learnt)
  for (let i = 0; i < 5; i++) {
    limits.grow()
    assert.equal(passes(40_000), 2)
    assert.equal(limits.learnt, learnt)
  }
  for (let i = 0; i < 5; i++) limits.grow()
  assert.deepEqual([limits.learnt, limits.max.bytes], [null, PEER_REQUEST_ENTRY_BYTES_MAX])
})

test('a refused single entry changes no limit, and a limit never falls below its minimum', () => {
  const limits = new RequestLimits(4_000)
  assert.equal(limits.refuse('size', { entries: 1, bytes: 50_000 }), false)
  assert.equal(limits.refuse('contents', { entries: 1, bytes: 10 }), false)
  assert.equal(limits.max.bytes, 4_000)
  limits.shrink(1)
  assert.equal(limits.max.bytes, PEER_REQUEST_ENTRY_BYTES_MIN)
})
