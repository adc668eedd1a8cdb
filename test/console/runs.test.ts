import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RUN_RECORDS_MAX } from '../../console/limits.ts'
import { type Run, readRun } from '../../console/runs.ts'
import type { Tallystick } from '../../sdk/client.ts'
import type { LedgerRecord } from '../../sdk/generated/api.ts'

type Query = { readonly parent?: string; readonly limit: number }

const record = (id: string, parent: string | null, type = 'agent-action/1') =>
  ({ id, parent, type, recordedAt: '2026-11-29T10:00:00.000Z' }) as LedgerRecord

function clientOf(chain: readonly LedgerRecord[]) {
  const asked: Query[] = []
  const client = {
    records: {
      tree: async () => ({ record: chain.find(({ id }) => id === 'root'), ancestors: [] }),
      list: (query: Query) => ({
        async *pages() {
          const all =
            query.parent === undefined ? chain : chain.filter(({ parent }) => parent === query.parent)
          asked.push(query)
          for (let at = 0; at === 0 || at < all.length; at += query.limit) {
            const end = at + query.limit
            yield { data: all.slice(at, end), nextCursor: end < all.length ? `${end}` : null }
          }
        },
      }),
    },
  }
  return { client: client as unknown as Tallystick, asked }
}

async function read(chain: readonly LedgerRecord[]) {
  const { client, asked } = clientOf(chain)
  const shown: Run[] = []
  await readRun(client, 'root', (run) => shown.push(run), new AbortController().signal)
  const last = shown.at(-1)!
  return { ids: last.records.map(({ id }) => id).sort(), last, asked, first: shown[0]! }
}

const others = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => record(`other${from + i}`, i % 2 === 0 ? null : `other${from}`))

test('a run at the end of the chain is read with one request, without records of other runs', async () => {
  const chain = [...others(20), record('root', null), record('a', 'root'), ...others(2, 50), record('b', 'a')]
  const { ids, last, asked } = await read(chain)
  assert.deepEqual([ids, last.state, asked.length], [['a', 'b', 'root'], 'whole', 1])
  assert.ok(last.records.every(({ id }) => last.isRead(id)))
})

test('a run among many others, and a late record, are read by requests per record', async () => {
  const late = record('late', 'b', 'agent-outcome/1')
  const below = record('below-an-outcome', 'late', 'generic/1')
  const chain = [
    record('root', null),
    record('a', 'root'),
    ...others(500),
    record('b', 'root'),
    ...others(500, 500),
    late,
    below,
  ]
  const { ids, last } = await read(chain)
  assert.deepEqual([ids, last.state], [['a', 'b', 'below-an-outcome', 'late', 'root'], 'whole'])
  assert.ok(last.records.every(({ id }) => last.isRead(id)))
})

test('a run is complete even if the first record is not at the position that its time suggests', async () => {
  const chain = [...others(500), record('root', null), record('a', 'root')]
  const { ids, last } = await read(chain)
  assert.deepEqual([ids, last.state], [['a', 'root'], 'whole'])
})

test('a run that is too large is marked as cut, and none of its records as completely read', async () => {
  const chain = [
    record('root', null),
    ...Array.from({ length: RUN_RECORDS_MAX }, (_, i) => record(`r${i}`, 'root')),
  ]
  const { ids, last } = await read(chain)
  assert.deepEqual([ids.length, last.state, last.isRead('root')], [RUN_RECORDS_MAX, 'cut', false])
})
