import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type pg from 'pg'
import { isUnavailable } from '../../src/db/connect/failures.ts'
import { hashKey, type KeyMac, makeApiKey } from '../../src/ledgers/api-keys.ts'
import { CallerCache } from '../../src/ledgers/caller.ts'
import {
  KEY_CACHE_AGE_MS_MAX,
  KEY_CACHE_KEYS_MAX,
  KEY_LOOKUPS_PER_QUERY_MAX,
  KEY_LOOKUPS_WAITING_MAX,
  KEY_REFRESH_AGE_MS,
  UNKNOWN_KEYS_MAX,
} from '../../src/ledgers/limits.ts'
import type { Uuid } from '../../src/proof/ids.ts'

const LEDGER = '00000000-0000-7000-8000-000000000001' as Uuid
const OTHER = '00000000-0000-7000-8000-000000000002' as Uuid

test('unknown keys share queries, and evict no known key', async () => {
  const { callers, keys, queries } = openCache()
  const key = keys.make(LEDGER)
  const known = await callers.find(key)
  assert.ok(known)
  const before = queries.length
  for (let i = 0; i < UNKNOWN_KEYS_MAX + 2_000; i += 2_000) {
    const invented = Array.from({ length: 2_000 }, () => callers.find(makeApiKey(LEDGER)))
    assert.ok((await Promise.all(invented)).every((found) => found === null))
  }
  assert.equal(callers.find(key), known, 'at once, without a query')
  assert.equal(callers.size, 1)
  assert.equal(
    queries.length - before,
    ((UNKNOWN_KEYS_MAX + 2_000) / 2_000) * Math.ceil(2_000 / KEY_LOOKUPS_PER_QUERY_MAX),
  )
})

test('refuses new keys beyond the limit of waiting look-ups, and still refreshes known keys', async () => {
  const { callers, keys, clock, gate } = openCache()
  const key = keys.make(LEDGER)
  const fresh = keys.make(OTHER)
  assert.ok(await callers.find(key))
  clock.nowMs = KEY_CACHE_AGE_MS_MAX
  gate.close()
  const found = Array.from({ length: KEY_LOOKUPS_PER_QUERY_MAX }, () => callers.find(makeApiKey(LEDGER)))
  await nextTurn()
  for (let i = 1; i < KEY_LOOKUPS_WAITING_MAX; i++) found.push(callers.find(makeApiKey(LEDGER)))
  const [first, second] = [callers.find(fresh), callers.find(fresh)]
  assert.equal(first, second, 'requests with one key share its look-up')
  await assert.rejects(async () => callers.find(makeApiKey(LEDGER)), { code: 'overloaded' })

  const anew = callers.find(key)
  await nextTurn()
  assert.equal(gate.waiting, 2, 'one query for all new keys, and one for the known one')
  gate.openLast()
  assert.ok(await anew)
  gate.open()
  assert.ok(await first)
  assert.ok((await Promise.all(found)).every((one) => one === null))
})

test('refreshes a known key before its entry is too old, without delaying a request', async () => {
  const { callers, keys, clock, queries, gate } = openCache()
  const key = keys.make(LEDGER)
  const known = await callers.find(key)
  clock.nowMs = KEY_REFRESH_AGE_MS - 1
  assert.equal(callers.find(key), known)
  await nextTurn()
  assert.equal(queries.length, 1)
  clock.nowMs = KEY_REFRESH_AGE_MS
  gate.close()
  for (let i = 0; i < 3; i++) assert.equal(callers.find(key), known)
  await nextTurn()
  assert.equal(queries.length, 2)
  clock.nowMs = KEY_CACHE_AGE_MS_MAX
  assert.ok(callers.find(key) instanceof Promise, 'too old: now it is waited for')
  gate.open()
  assert.equal(await callers.find(key), known)
  clock.nowMs = KEY_REFRESH_AGE_MS + KEY_CACHE_AGE_MS_MAX - 1
  assert.equal(callers.find(key), known, 'its age counts from when it was asked for')
})

test('a revoked key is rejected after the maximum age, and further look-ups need no query', async () => {
  const { callers, keys, clock, queries } = openCache()
  const key = keys.make(LEDGER)
  const known = (await callers.find(key))!
  keys.end(key)
  clock.nowMs = KEY_CACHE_AGE_MS_MAX - 1
  assert.equal(callers.find(key), known, 'for so long it is believed')
  clock.nowMs = KEY_CACHE_AGE_MS_MAX
  assert.equal(await callers.find(key), null)
  assert.equal(await callers.callerOf(known), null, 'also for a request that was let in before')
  assert.equal(callers.size, 0)
  const before = queries.length
  assert.equal(callers.find(key), null)
  assert.equal(queries.length, before)
})

test('after `forget`, results of queries that started before are not trusted', async () => {
  const { callers, keys, clock, gate } = openCache()
  const [key, fresh] = [keys.make(LEDGER), keys.make(LEDGER)]
  const known = (await callers.find(key))!
  clock.nowMs = KEY_REFRESH_AGE_MS
  gate.close()
  callers.find(key)
  const first = callers.find(fresh)
  await nextTurn()
  keys.end(key)
  keys.end(fresh)
  callers.forget(LEDGER)
  gate.open()
  const found = await first
  assert.ok(found, 'it was read before')
  assert.equal(await callers.callerOf(found), null)
  assert.equal(await callers.callerOf(known), null)
  assert.deepEqual([await callers.find(key), await callers.find(fresh)], [null, null])
})

test('a look-up whose answer is too old on arrival fails as unavailable', async () => {
  const { callers, keys, clock, gate } = openCache()
  const [key, fresh] = [keys.make(LEDGER), keys.make(OTHER)]
  const known = (await callers.find(key))!
  clock.nowMs = KEY_CACHE_AGE_MS_MAX
  gate.close()
  const waiting = [callers.find(key), callers.find(fresh), callers.callerOf(known)]
  await nextTurn()
  // The database has found the keys and its answers are on the way. Meanwhile the keys are revoked or expire.
  keys.end(key)
  keys.end(fresh)
  clock.nowMs += KEY_CACHE_AGE_MS_MAX
  gate.open()
  for (const one of waiting) await assert.rejects(async () => one, isUnavailable)
  assert.deepEqual([await callers.find(key), await callers.find(fresh)], [null, null])
})

test('a ledger with too many keys evicts only its own keys', async () => {
  const { callers, keys, clock } = openCache()
  const key = keys.make(LEDGER)
  const known = await callers.find(key)
  clock.nowMs = 1
  for (let i = 0; i < KEY_CACHE_KEYS_MAX + 2_000; i += 2_000)
    await Promise.all(Array.from({ length: 2_000 }, () => callers.find(keys.make(OTHER))))
  assert.equal(callers.size, KEY_CACHE_KEYS_MAX)
  assert.equal(callers.find(key), known, 'at once, without a query')
})

test('a failed query fails the waiting look-ups, and the next look-up queries again', async () => {
  const { callers, keys, clock, gate } = openCache()
  const key = keys.make(LEDGER)
  const known = await callers.find(key)
  clock.nowMs = KEY_CACHE_AGE_MS_MAX
  gate.fail = true
  await assert.rejects(async () => callers.find(key), /away/)
  await assert.rejects(async () => callers.find(keys.make(OTHER)), /away/)
  gate.fail = false
  assert.equal(await callers.find(key), known)
})

/**
 * Opens a cache with a database that answers in the same slice of the event loop. While the test has closed `gate`, the
 * database does not answer.
 */
function openCache() {
  const clock = { nowMs: 0 }
  const made = new Map<string, Uuid>()
  const queries: unknown[] = []
  const waiting: (() => void)[] = []
  let isClosed = false
  const gate = {
    fail: false,
    close() {
      isClosed = true
    },
    open() {
      isClosed = false
      for (const go of waiting.splice(0)) go()
    },
    openLast: () => waiting.pop()!(),
    get waiting() {
      return waiting.length
    },
  }
  const query = async ({ values: [ledgers, hashes] }: { values: [Uuid[], Buffer[]] }) => {
    queries.push(ledgers)
    if (gate.fail) throw new Error('away')
    const rows = hashes.flatMap((secret, i) =>
      made.get(secret.toString('hex')) === ledgers[i] ? [rowOf(`${i + 1}`)] : [],
    )
    if (isClosed) await new Promise<void>((resolve) => waiting.push(resolve))
    return { rows }
  }
  const callers = new CallerCache({
    readPool: { query } as unknown as pg.Pool,
    now: () => clock.nowMs,
    keyMac: { isOf: () => true } as unknown as KeyMac,
    log: { error: () => assert.fail('no row was changed') },
  })
  const keys = {
    make(ledgerId: Uuid): string {
      const key = makeApiKey(ledgerId)
      made.set(hashKey(key).toString('hex'), ledgerId)
      return key
    },
    end: (key: string) => void made.delete(hashKey(key).toString('hex')),
  }
  return { callers, keys, clock, queries, gate }
}

function rowOf(ix: string) {
  return {
    ix,
    keyId: '00000000-0000-7000-8000-000000000003',
    agentId: '00000000-0000-7000-8000-000000000004',
    scopes: ['records:write'],
    mac: Buffer.alloc(32),
    expiresAt: null,
    issuer: 'https://ledger.example',
    envelopeKid: Buffer.alloc(32),
    keyPerSecond: null,
    keyBurst: null,
    ledgerPerSecond: null,
    ledgerBurst: null,
    otlp: null,
    subjectSalt: Buffer.alloc(32),
  }
}
