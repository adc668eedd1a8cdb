import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Transport } from '../../sdk/http/transport.ts'
import { Delivery } from '../../sdk/notarizer/delivery.ts'
import { MemoryHandles } from '../../sdk/notarizer/handles.ts'
import { makeItem } from '../../sdk/notarizer/items.ts'
import { parseLimits } from '../../sdk/notarizer/options.ts'
import type { Refused, Segment, Spool, SpooledBatch } from '../../sdk/notarizer/spool.ts'
import { runs } from '../helpers/runs.ts'
import { PROBLEM } from './spool-set-up.ts'

/*
 * Model of a ledger with idempotency keys, a firewall in front of it, and a disk. The process may end at any step,
 * and another process continues.
 */

type World = {
  readonly records: number
  /** Records that the firewall refuses. It refuses them with `status`. */
  readonly poisoned: readonly number[]
  readonly status: number
  /** Number of the first request from which on the firewall refuses no record. */
  readonly mendedAt?: number
  /** True if the firewall refuses the answer instead of the request. Then the server has written the records. */
  readonly isLate: boolean
  /** Length of the longest body that passes. Longer bodies are answered with `sizeStatus`. */
  readonly bytesMax: number
  readonly sizeStatus: number
  readonly invalid: readonly number[]
  /** Number of the first request of an outage, and the number of requests in the outage. */
  readonly outage: readonly [number, number]
  readonly crashes: readonly number[]
}

const LIMITS = parseLimits({ delayMsMin: 1, delayMsMax: 1, blockedDelayMs: 1 })
const KEY = 'a'.repeat(32)

class Crash extends Error {}

async function run(world: World) {
  const written: number[] = []
  const requests = new Map<string, { body: string; answer: object }>()
  const refused: Refused[] = []
  let segments: readonly Segment[] = [
    {
      idempotencyKey: KEY,
      items: Array.from({ length: world.records }, (_, i) => makeItem({ i }, { handle: `h${i}` }, 0)),
    },
  ]
  let isRemoved = false
  let steps = 0
  let sent = 0
  let stop = new AbortController()
  const step = () => {
    if (!world.crashes.includes(steps++)) return
    stop.abort(new Crash())
    throw new Crash()
  }
  const commit = (key: string, body: string, numbers: readonly number[]): object | null => {
    const before = requests.get(key)
    if (before) return before.body === body ? before.answer : null
    written.push(...numbers)
    const records = numbers.map((i) => ({ id: `rec_${`${i}`.padStart(26, '0')}`, digest: '', salt: '' }))
    const answer = { batch: 'bat_1', entry: { seq: requests.size }, records }
    requests.set(key, { body, answer })
    return answer
  }
  const page = (status: number) =>
    new Response('<html>', { status, headers: { 'content-type': 'text/html' } })
  const problem = (members: object) =>
    new Response(JSON.stringify({ ...PROBLEM, ...members }), {
      status: 422,
      headers: { 'content-type': 'application/problem+json' },
    })
  const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
    step()
    const body = init!.body as string
    const key = new Headers(init!.headers).get('idempotency-key')!
    const numbers = [...body.matchAll(/"i":(\d+)/g)].map(([, i]) => Number(i))
    const [from, count] = world.outage
    const at = sent++
    if (at >= from && at < from + count) return page(world.poisoned.length > 0 ? 403 : world.status)
    if (body.length > world.bytesMax) return page(world.sizeStatus)
    const isPoisoned =
      at < (world.mendedAt ?? Number.POSITIVE_INFINITY) && numbers.some((i) => world.poisoned.includes(i))
    if (isPoisoned && !world.isLate) return page(world.status)
    const index = numbers.findIndex((i) => world.invalid.includes(i))
    if (numbers.length === 0) return problem({ code: 'invalid_request', path: '/records' })
    if (index >= 0) return problem({ code: 'payload_invalid', index })
    const answer = commit(key, body, numbers)
    step()
    if (isPoisoned) return page(world.status)
    return answer ? Response.json(answer, { status: 201 }) : problem({ code: 'idempotency_key_reused' })
  }
  const batch: SpooledBatch = {
    records: world.records,
    append() {},
    seal() {},
    async read() {
      return segments
    },
    async replace(next) {
      step()
      segments = next
      step()
    },
    async remove() {
      step()
      isRemoved = true
    },
  }
  const spool: Spool = {
    handles: new MemoryHandles(),
    isDurable: true,
    hasRoom: true,
    usedBytes: 0,
    bytesMax: 1,
    recover: () => ({ batches: [], errors: [] }),
    begin: () => batch,
    async refuse(some) {
      step()
      refused.push(...some)
    },
    async close() {},
  }
  while (!isRemoved) {
    stop = new AbortController()
    const http = new Transport({ baseUrl: 'http://127.0.0.1:1', apiKey: 'tly_x', fetch: fetch as never })
    const events = { recorded() {}, refused() {}, failed() {}, recovered() {} }
    const delivery = new Delivery(http, spool, LIMITS, 60_000, events)
    await delivery.deliver(batch, Promise.resolve(), stop.signal).catch((error) => {
      if (!(error instanceof Crash)) throw error
    })
  }
  const aside = new Set(
    refused.map(({ item }) => (JSON.parse(item.text) as { payload: { i: number } }).payload.i),
  )
  return { written, aside, sent }
}

const world: fc.Arbitrary<World> = fc.integer({ min: 1, max: 24 }).chain((records) =>
  fc.record({
    records: fc.constant(records),
    poisoned: fc.uniqueArray(fc.nat(records - 1), { maxLength: 4 }),
    status: fc.constantFrom(400, 403, 404, 405, 406, 409, 410, 413, 415, 418, 422, 431, 451, 494, 501),
    isLate: fc.boolean(),
    bytesMax: fc.constantFrom(110, 300, 700, 1_000_000),
    sizeStatus: fc.constantFrom(403, 413, 414, 431),
    invalid: fc.uniqueArray(fc.nat(records - 1), { maxLength: 2 }),
    outage: fc.tuple(fc.nat(10), fc.nat(5)),
    crashes: fc.uniqueArray(fc.nat(60), { maxLength: 5 }),
  }),
)

test('for any records refused by a proxy, any status and any crash, no record is lost or duplicated', async () => {
  await fc.assert(
    fc.asyncProperty(world, async (world) => {
      const { written, aside } = await run(world)
      assert.equal(new Set(written).size, written.length, 'a record is written twice')
      for (let i = 0; i < world.records; i++) {
        const isWritten = written.includes(i)
        assert.ok(isWritten || aside.has(i), `${i} is lost`)
        // In these worlds the notarizer may set good records aside, because an outage lasts for three attempts, or
        // because the firewall refuses answers. So the following checks do not apply.
        if (world.isLate || world.bytesMax === 110) continue
        const isBad = world.poisoned.includes(i) || world.invalid.includes(i)
        assert.equal(isWritten, !isBad, `${i} is ${isWritten ? '' : 'not '}written`)
        assert.equal(aside.has(i), isBad, `${i} is ${aside.has(i) ? '' : 'not '}set aside`)
      }
    }),
    { numRuns: runs(300) },
  )
})

const CLEAR: World = {
  records: 5,
  poisoned: [],
  status: 403,
  isLate: false,
  bytesMax: 1_000_000,
  sizeStatus: 413,
  invalid: [],
  outage: [0, 0],
  crashes: [],
}

test('one refused record of 1,000 is found with fewer than 50 requests', async () => {
  const { aside, written, sent } = await run({ ...CLEAR, records: 1_000, poisoned: [617] })
  assert.deepEqual([...aside], [617])
  assert.equal(written.length, 999)
  assert.ok(sent < 50, `${sent} requests`)
})

test('after 100 consecutive records set aside, further records wait', async () => {
  const poisoned = Array.from({ length: 120 }, (_, i) => i)
  const { aside, written } = await run({ ...CLEAR, records: 120, poisoned, mendedAt: 1_500 })
  assert.equal(aside.size, 100)
  assert.deepEqual(written, poisoned.slice(100))
})

test('no record is set aside while all are refused', async () => {
  for (const status of [400, 403, 404, 413]) {
    const { aside, written } = await run({ ...CLEAR, status, outage: [0, 30] })
    assert.deepEqual([...aside], [])
    assert.deepEqual(written, [0, 1, 2, 3, 4])
  }
})
