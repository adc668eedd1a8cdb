import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Findings, find, whereIs } from '../../console/find.ts'
import { SCAN_RECORDS_MAX, SCAN_ROWS } from '../../console/limits.ts'
import type { Tallystick } from '../../sdk/client.ts'
import type { LedgerRecord } from '../../sdk/generated/api.ts'

const record = (id: string, given: object = {}) =>
  ({
    id,
    type: 'generic/1',
    recordedAt: '2026-11-29T10:00:00.000Z',
    payload: {},
    gated: null,
    ...given,
  }) as LedgerRecord

test('finds a text in every visible member, with the path to the member', () => {
  const payload = {
    customer: { name: 'Jürgen "Jo" Roe', notes: [{ text: 'line one\nline two' }], since: 1998 },
    'path/to': true,
    none: null,
  }
  const gated = { completion: { evidence: { signedBy: 'J. Doe' } }, verdict: { reason: 'all counted' } }
  const found = record('r', { payload, references: ['order:77'], metadata: { team: 'blue' }, gated })
  const expected: [text: string, where: string | null][] = [
    ['generic', 'type'],
    ['ORDER:7', 'references'],
    // The umlaut consists of two code points, as in names of files on macOS.
    ['ju\u0308rgen', 'payload.customer.name'],
    ['"jo"', 'payload.customer.name'],
    ['one\nline', 'payload.customer.notes.text'],
    ['1998', 'payload.customer.since'],
    ['path/', 'payload.path/to'],
    ['j. doe', 'delivered.signedBy'],
    ['counted', 'reason'],
    ['blue', 'metadata.team'],
    ['null', null],
  ]
  for (const [text, where] of expected) assert.equal(whereIs(found, text), where, text)
  assert.equal(whereIs(record('e', { payload: null }), 'jo'), null)
})

/** Returns a client with a list of `size` records, newest first. Only the record at the index `at` contains "Jane". */
function clientOf(size: number, at: number) {
  const asked: object[] = []
  const all = Array.from({ length: size }, (_, i) =>
    record(`r${i}`, i === at ? { payload: { customer: 'Jane' } } : { payload: i % 2 === 0 ? null : {} }),
  )
  const pageOf = (data: readonly LedgerRecord[], nextCursor: string | null) => ({ data, nextCursor })
  const client = {
    records: {
      list: (query: { reference?: string; limit: number }) => ({
        page: async (cursor = '0') => {
          asked.push(query)
          if (query.reference !== undefined) return pageOf([record('ref'), all[at]!], null)
          const end = Number(cursor) + query.limit
          return pageOf(all.slice(Number(cursor), end), end < size ? `${end}` : null)
        },
      }),
      get: async (id: string) => record(id),
    },
    subjects: { find: () => ({ page: async () => pageOf([{ record: 'person' }] as never, null) }) },
  }
  return { client: client as unknown as Tallystick, asked }
}

async function lastOf(findings: AsyncIterable<Findings>): Promise<Findings> {
  let last: Findings | undefined
  for await (const one of findings) last = one
  return last!
}

test('searches a text as reference and label, then in records, and reports how many were read', async () => {
  const { client, asked } = clientOf(SCAN_RECORDS_MAX + 10, SCAN_RECORDS_MAX + 5)
  const { signal } = new AbortController()
  const request = { text: 'jane', filters: {} }
  const first = await lastOf(find(client, request, null, signal))
  assert.deepEqual(
    first.found.map(({ record: { id }, where }) => [id, where]),
    [
      ['person', 'label of the person'],
      ['ref', 'references'],
      [`r${SCAN_RECORDS_MAX + 5}`, 'references'],
    ],
  )
  assert.deepEqual([first.read, first.withoutPayload], [SCAN_RECORDS_MAX, SCAN_RECORDS_MAX / 2])
  assert.notEqual(first.next, null)
  assert.deepEqual(asked[1], { limit: SCAN_ROWS })
  const more = await lastOf(find(client, request, first, signal))
  assert.deepEqual([more.found.length, more.read, more.next], [3, SCAN_RECORDS_MAX + 10, null])
  const filtered = await lastOf(find(client, { text: 'jane', filters: { type: 'a/1' } }, null, signal))
  assert.deepEqual(
    filtered.found.map(({ record: { id } }) => id),
    ['ref', `r${SCAN_RECORDS_MAX + 5}`],
  )
})

test('without a text, reads one page of records, and one more per call', async () => {
  const { client } = clientOf(60, 0)
  const { signal } = new AbortController()
  const first = await lastOf(find(client, { text: '', filters: {} }, null, signal))
  assert.deepEqual([first.found.length, first.found[0]!.where, first.next], [50, null, '50'])
  const more = await lastOf(find(client, { text: '', filters: {} }, first, signal))
  assert.deepEqual([more.found.length, more.next], [60, null])
})
