import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { expectStatus, type TestApp } from '../helpers/app.ts'
import { addAgent } from '../helpers/more-keys.ts'
import { runs } from '../helpers/runs.ts'
import { sharedApp } from '../helpers/shared-app.ts'

/* Records sent as a batch must be found by each of their properties, with any page size. */

const RUNS = runs(20)
const TYPES = ['generic/1', 'step/1']
const TRACES = ['0af7651916cd43dd8448eb211c80319c', 'bf92f3577b34da6a3ce929d0e0e4736c']
const REFERENCES = ['erp:1', 'erp:2', 'https://erp.example/ü']
const TIMES = ['1969-12-31T23:59:59.999Z', '2026-02-28T12:00:00.000Z', '2026-03-01T00:00:00.000Z']

type Item = {
  readonly type: string
  readonly payload: object
  readonly onBehalfOf?: string
  readonly occurredAt?: string
  readonly traceparent?: string
  readonly parent?: string
  readonly references?: readonly string[]
}
type Listed = Item & { readonly id: string }

test('a list finds each record of a batch by its properties, whole and in order', async () => {
  const app = await sharedApp()
  const step = { name: 'step', version: 1, payloadSchema: { type: 'object' } }
  expectStatus(201, await app.send('POST', '/v1/types', { body: step }))
  const clients = [await addAgent(app, 'first client'), await addAgent(app, 'second client')]
  const parents = [(await app.notarize()).id, (await app.notarize()).id]
  const known = await listAll(app, { order: 'asc' })
  await fc.assert(
    fc.asyncProperty(
      arbitraryBatch(clients, parents),
      fc.constantFrom('1', '7', '200'),
      async (records, limit) => {
        const sent = await app.send('POST', '/v1/records/batch', { body: { records } })
        const { records: answered } = expectStatus(201, sent).json() as { records: { id: string }[] }
        for (const [i, { id }] of answered.entries()) known.push({ ...records[i]!, id })
        for (const [query, isMet] of questionsOf(records[0]!)) {
          const expected = known.filter(isMet)
          // With pages of one record, a test would send as many requests as there are records.
          const pageSize = expected.length > 20 ? '200' : limit
          const found = await listAll(app, { ...query, order: 'asc', limit: pageSize })
          assert.deepEqual(found.map(idOf), expected.map(idOf), JSON.stringify(query))
          for (const [i, record] of expected.entries())
            assert.deepEqual(found[i]!.payload, { ...record.payload })
          const newest = await listAll(app, { ...query, limit: pageSize })
          assert.deepEqual(newest.map(idOf), expected.map(idOf).reverse(), JSON.stringify(query))
        }
      },
    ),
    { numRuns: RUNS, endOnFailure: true },
  )
})

test('a tree shows children that are records of batches', async () => {
  const app = await sharedApp()
  const parent = await app.notarize()
  const records = Array.from({ length: 70 }, (_, n) => ({
    type: 'generic/1',
    payload: { n },
    ...(n % 2 === 0 && { parent: parent.id }),
  }))
  const batch = expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } })).json()
  const ids = batch.records.map(idOf).filter((_: string, n: number) => n % 2 === 0)
  const children: string[] = []
  let cursor = ''
  do {
    const path = `/v1/records/${parent.id}/tree?limit=20${cursor}`
    const tree = expectStatus(200, await app.send('GET', path)).json()
    children.push(...tree.children.data.map(idOf))
    cursor = tree.children.nextCursor && `&cursor=${tree.children.nextCursor}`
  } while (cursor)
  assert.deepEqual(children, ids.reverse())
})

const idOf = ({ id }: { readonly id: string }) => id

function arbitraryBatch(clients: readonly string[], parents: readonly string[]): fc.Arbitrary<Item[]> {
  const item = fc.record(
    {
      type: fc.constantFrom(...TYPES),
      payload: fc.record({ n: fc.integer(), text: fc.string() }),
      onBehalfOf: fc.constantFrom(...clients),
      occurredAt: fc.constantFrom(...TIMES),
      traceparent: fc.constantFrom(...TRACES).map((id) => `00-${id}-b7ad6b7169203331-01`),
      parent: fc.constantFrom(...parents),
      references: fc.subarray(REFERENCES, { minLength: 1 }),
    },
    { requiredKeys: ['type', 'payload'] },
  )
  return fc.array(item, { minLength: 1, maxLength: 150, size: 'max' }) as fc.Arbitrary<Item[]>
}

type Question = readonly [query: Record<string, string>, isMet: (record: Listed) => boolean]

/** Returns a query for each property of the record, and one for two properties together. */
function questionsOf(record: Item): Question[] {
  const { type, onBehalfOf, occurredAt, traceparent, parent, references } = record
  const single: Question[] = [[{ type }, (other) => other.type === type]]
  if (onBehalfOf) single.push([{ onBehalfOf }, (other) => other.onBehalfOf === onBehalfOf])
  if (occurredAt)
    single.push([{ occurredAfter: occurredAt }, (other) => (other.occurredAt ?? '') >= occurredAt])
  if (traceparent)
    single.push([{ traceId: traceparent.slice(3, 35) }, (other) => other.traceparent === traceparent])
  if (parent) single.push([{ parent }, (other) => other.parent === parent])
  if (references)
    single.push([
      { reference: references[0]! },
      (other) => other.references?.includes(references[0]!) ?? false,
    ])
  const [first, last] = [single[0]!, single.at(-1)!]
  return [
    [{}, () => true],
    ...single,
    [{ ...first[0], ...last[0] }, (other) => first[1](other) && last[1](other)],
  ]
}

async function listAll(app: TestApp, query: Record<string, string>): Promise<Listed[]> {
  const found: Listed[] = []
  let cursor: string | null = null
  do {
    const parameters: URLSearchParams = new URLSearchParams({ ...query, ...(cursor !== null && { cursor }) })
    const page = expectStatus(200, await app.send('GET', `/v1/records?${parameters}`)).json()
    found.push(...page.data)
    cursor = page.nextCursor
  } while (cursor !== null)
  return found
}
