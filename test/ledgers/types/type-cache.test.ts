import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TYPE_CACHE_BYTES_MAX, TYPE_CACHE_BYTES_PER_LEDGER_MAX } from '../../../src/ledgers/types/limits.ts'
import { TypeCache } from '../../../src/ledgers/types/type-cache.ts'

function makeLoader(cache: TypeCache<string>, bytes: number) {
  const loads: string[] = []
  const get = (ledger: string, name: string) =>
    cache.get(ledger, name, async () => {
      loads.push(`${ledger} ${name}`)
      return { value: name, bytes }
    })
  return { loads, get }
}

test('loads a type once for concurrent and later requests', async () => {
  const { loads, get } = makeLoader(new TypeCache<string>(), 1)
  assert.deepEqual(await Promise.all([get('a', 'x'), get('a', 'x'), get('b', 'x')]), ['x', 'x', 'x'])
  await get('a', 'x')
  assert.deepEqual(loads, ['a x', 'b x'])
})

test('caches neither missing types nor failures', async () => {
  const cache = new TypeCache<string>()
  assert.equal(await cache.get('a', 'x', async () => null), null)
  await assert.rejects(
    cache.get('a', 'x', () => Promise.reject(new Error('away'))),
    /away/,
  )
  assert.equal(await cache.get('a', 'x', async () => ({ value: 'there', bytes: 1 })), 'there')
})

test('a look-up after the registration finds the type, although an earlier look-up is pending', async () => {
  const cache = new TypeCache<string>()
  const early = Promise.withResolvers<null>()
  const there = async () => ({ value: 'there', bytes: 1 })
  const first = cache.get('a', 'x', () => early.promise)
  // From here on the type is registered, so lookups must find it, although an earlier lookup is still in progress.
  await Promise.resolve()
  const later = [cache.get('a', 'x', there), cache.get('a', 'x', there)]
  early.resolve(null)
  assert.deepEqual(await Promise.all([first, ...later]), [null, 'there', 'there'])
  assert.equal(cache.bytes, 1)
})

test('a ledger with too many types evicts its own least recently used types, no others', async () => {
  const cache = new TypeCache<string>()
  const { loads, get } = makeLoader(cache, TYPE_CACHE_BYTES_PER_LEDGER_MAX / 4)
  await get('quiet', 'x')
  for (const name of ['a', 'b', 'c', 'd']) await get('busy', name)
  await get('busy', 'a')
  await get('busy', 'e')
  loads.length = 0
  for (const name of ['a', 'c', 'd', 'e']) await get('busy', name)
  await get('quiet', 'x')
  assert.deepEqual(loads, [])
  await get('busy', 'b')
  assert.deepEqual(loads, ['busy b'])
  assert.equal(cache.bytes, 1.25 * TYPE_CACHE_BYTES_PER_LEDGER_MAX)
})

test('beyond the total limit the least recently used ledger is evicted', async () => {
  const cache = new TypeCache<string>()
  const { loads, get } = makeLoader(cache, TYPE_CACHE_BYTES_PER_LEDGER_MAX)
  const ledgers = TYPE_CACHE_BYTES_MAX / TYPE_CACHE_BYTES_PER_LEDGER_MAX
  for (let i = 0; i < ledgers; i++) await get(`${i}`, 'x')
  await get('0', 'x')
  await get('one more', 'x')
  assert.equal(cache.bytes, TYPE_CACHE_BYTES_MAX)
  loads.length = 0
  await get('0', 'x')
  assert.deepEqual(loads, [])
  await get('1', 'x')
  assert.deepEqual(loads, ['1 x'])
})
