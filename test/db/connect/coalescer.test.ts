import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { Coalescer } from '../../../src/db/connect/coalescer.ts'
import { runs } from '../../helpers/runs.ts'

/** Returns a loader that resolves each key to its double when the test calls it. */
function makeLoader() {
  const queries: { keys: readonly number[]; answer(): void; fail(error: Error): void }[] = []
  const load = (keys: readonly number[]) =>
    new Promise<number[]>((resolve, reject) => {
      queries.push({ keys, answer: () => resolve(keys.map((key) => 2 * key)), fail: reject })
    })
  return { queries, load }
}

test('look-ups of one turn share a query; look-ups during a query share the next', async () => {
  const { queries, load } = makeLoader()
  const coalescer = new Coalescer(load, { keysMax: 3, queriesMax: 2 })
  const first = [1, 2, 3, 4].map((key) => coalescer.find(key))
  await turn()
  await turn()
  assert.deepEqual(
    queries.map(({ keys }) => keys),
    [[1, 2, 3], [4]],
  )
  const later = [5, 6].map((key) => coalescer.find(key))
  await turn()
  await turn()
  assert.equal(queries.length, 2, 'no more queries at once than agreed')
  queries[1]!.answer()
  assert.equal(await first[3], 8)
  await turn()
  assert.deepEqual(queries[2]!.keys, [5, 6])
  queries[0]!.answer()
  queries[2]!.answer()
  assert.deepEqual(await Promise.all([...first, ...later]), [2, 4, 6, 8, 10, 12])
})

test('a query takes keys up to the maximum weight, and always at least one', async () => {
  const { queries, load } = makeLoader()
  const weight = { of: (key: number) => key, max: 5 }
  const coalescer = new Coalescer(load, { keysMax: 3, queriesMax: 9, weight })
  for (const key of [2, 3, 1, 9, 1, 1, 1, 1]) void coalescer.find(key)
  await turn()
  await turn()
  assert.deepEqual(
    queries.map(({ keys }) => keys),
    [[2, 3], [1], [9], [1, 1, 1], [1]],
  )
})

test('a failed query rejects only its own look-ups', async () => {
  const { queries, load } = makeLoader()
  const coalescer = new Coalescer(load, { keysMax: 1, queriesMax: 1 })
  const bad = coalescer.find(1)
  const good = coalescer.find(2)
  await turn()
  queries[0]!.fail(new Error('away'))
  await assert.rejects(bad, /away/)
  await turn()
  queries[1]!.answer()
  assert.equal(await good, 4)
})

test('refuses look-ups beyond waitingMax as overloaded until a query has taken some', async () => {
  const { queries, load } = makeLoader()
  const coalescer = new Coalescer(load, { keysMax: 2, queriesMax: 1, waitingMax: 2 })
  const first = coalescer.find(1)
  await turn()
  const waiting = [coalescer.find(2), coalescer.find(3)]
  await assert.rejects(coalescer.find(4), { code: 'overloaded' })
  queries[0]!.answer()
  await first
  await turn()
  const next = coalescer.find(4)
  for (const query of [1, 2]) {
    queries[query]!.answer()
    await turn()
  }
  assert.deepEqual(await Promise.all([...waiting, next]), [4, 6, 8])
})

test('an answer with a missing value rejects all look-ups of its query', async () => {
  const coalescer = new Coalescer(async () => [1], { keysMax: 8, queriesMax: 1 })
  const results = await Promise.allSettled([coalescer.find(1), coalescer.find(2)])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
})

test('property: every look-up gets its own value, in any order and with any failures', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.nat({ max: 20 }), { maxLength: 40 }),
      fc.integer({ min: 1, max: 5 }),
      async (scheduler, keys, keysMax) => {
        let queries = 0
        const load = async (asked: readonly number[]) => {
          assert.ok(asked.length <= keysMax && ++queries <= 2)
          await scheduler.schedule(Promise.resolve())
          queries--
          if (asked.includes(13)) throw new Error('13')
          return asked.map((key) => 2 * key)
        }
        const coalescer = new Coalescer(load, { keysMax, queriesMax: 2 })
        const found = Promise.allSettled(
          keys.map(async (key) => {
            await scheduler.schedule(Promise.resolve())
            return coalescer.find(key)
          }),
        )
        await scheduler.waitFor(found)
        for (const [i, result] of (await found).entries()) {
          if (result.status === 'fulfilled') assert.equal(result.value, 2 * keys[i]!)
          else assert.match(String(result.reason), /13/)
        }
      },
    ),
    { numRuns: runs(200) },
  )
})
