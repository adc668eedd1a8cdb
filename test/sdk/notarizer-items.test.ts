import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsageError } from '../../sdk/errors.ts'
import { formatItem, formatKey, parseSegments } from '../../sdk/node/spool-lines.ts'
import { ITEM_BYTES_MAX, makeItem, type RecordOptions } from '../../sdk/notarizer/items.ts'
import { parseLimits } from '../../sdk/notarizer/options.ts'
import { count, fits, makePending, type Open } from '../../sdk/notarizer/pending.ts'
import { fullItem } from '../helpers/every-member.ts'

const TRACE = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`
const PARENT = 'rec_01jegv5gyme05800000000000a'
const item = (options: RecordOptions = {}) => makeItem({ step: 1 }, options, 0)

test('an item is sent with all of its members', () => {
  const { payload, ...members } = fullItem({ agents: ['agt_1', 'agt_2'], records: [PARENT, PARENT] })
  assert.deepEqual(JSON.parse(makeItem(payload, members as RecordOptions, 0).text), { payload, ...members })
  assert.deepEqual(JSON.parse(item().text), {
    type: 'generic/1',
    payload: { step: 1 },
    occurredAt: '1970-01-01T00:00:00.000Z',
  })
})

test('a spool stores an item as sent, with its tag and handles', () => {
  const members = { parent: PARENT, references: ['order:7'], traceparent: TRACE }
  const named = { tag: 'a "tag"', handle: 'call-1' }
  const items = [
    item(),
    item(members),
    item({ ...members, ...named }),
    item({ tag: 'tag', parentHandle: 'a:b' }),
  ]
  const [segment] = parseSegments(
    'spool',
    formatKey('0'.repeat(32)) + items.map(formatItem).join(''),
    'is JSON',
  )
  assert.deepEqual(
    segment!.items,
    items.map(({ text, tag, handle, parentHandle }) => ({ text, tag, handle, parentHandle })),
  )
})

test('a batch has at most 64 different parents, each in any number of items', () => {
  const parentOf = (i: number) => item({ parent: `rec_${i}` })
  const open = {
    ...makePending(null!),
    types: new Set(),
    parents: new Set(),
    records: 0,
    bytes: 0,
  } as never as Open
  for (let i = 0; i < 64; i++) {
    assert.equal(fits(open, parentOf(i), parseLimits({})), true)
    count(open, parentOf(i))
  }
  assert.equal(fits(open, parentOf(64), parseLimits({})), false)
  assert.equal(fits(open, parentOf(63), parseLimits({})), true)
  assert.equal(fits(open, item(), parseLimits({})), true)
})

test('an item with members of the largest size fits ITEM_BYTES_MAX', () => {
  const most = makeItem(
    { text: 'x'.repeat(64 * 1024 - 11) },
    {
      metadata: { text: 'x'.repeat(4 * 1024 - 11) },
      references: Array(16).fill('x'.repeat(252)),
      parent: PARENT,
      traceparent: TRACE,
    },
    0,
  )
  assert.ok(most.bytes <= ITEM_BYTES_MAX)
  assert.throws(() => item({ references: Array(16).fill('ü'.repeat(252)) }), UsageError)
})

test('refuses an invalid traceparent', () => {
  for (const traceparent of [
    '',
    'trace_1',
    TRACE.replace('00-', '01-'),
    TRACE.replaceAll('1', '0'),
    `${TRACE} `,
  ])
    assert.throws(() => item({ traceparent }), UsageError)
})
