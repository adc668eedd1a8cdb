import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsageError } from '../../sdk/errors.ts'
import { formatItem, formatKey, parseSegments } from '../../sdk/node/spool-lines.ts'
import { makeItem } from '../../sdk/notarizer/items.ts'
import { parseLimits } from '../../sdk/notarizer/options.ts'
import { fits, type Open } from '../../sdk/notarizer/pending.ts'

const TRACE = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`
const OTHER = `00-${'3'.repeat(32)}-${'2'.repeat(16)}-01`
const item = (traceparent?: string, tag?: string) => makeItem({ step: 1 }, { traceparent, tag }, 0)

test('a batch has the traceparent of its records, as it is sent once for all of them', () => {
  const { type, bytes } = item()
  const open = { traceparent: TRACE, types: new Set([type]), records: 1, bytes } as Open
  const limits = parseLimits({})
  assert.deepEqual(
    [TRACE, OTHER, undefined].map((traceparent) => fits(open, item(traceparent), limits)),
    [true, false, false],
  )
})

test('a spool keeps the traceparent of a record, with its tag and without', () => {
  const items = [item(), item(TRACE), item(TRACE, 'a "tag"'), item(undefined, 'tag')]
  const [segment] = parseSegments(
    'spool',
    formatKey('0'.repeat(32)) + items.map(formatItem).join(''),
    'is JSON',
  )
  assert.deepEqual(
    segment!.items,
    items.map(({ text, traceparent, tag }) => ({ text, traceparent, tag })),
  )
})

test('refuses what the server would pass over in silence', () => {
  for (const traceparent of [
    '',
    'trace_1',
    TRACE.replace('00-', '01-'),
    TRACE.replaceAll('1', '0'),
    `${TRACE} `,
  ])
    assert.throws(() => item(traceparent), UsageError)
})
