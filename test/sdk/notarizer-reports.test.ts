import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, ConnectionError } from '../../sdk/errors.ts'
import { Reports } from '../../sdk/notarizer/reports.ts'
import { item, KEY, PROBLEM } from './spool-set-up.ts'

const away = new ConnectionError('the server is away', { retryable: true, idempotencyKey: KEY })

test('without onError, the first failure and the recovery are each logged once', (t) => {
  const lines = t.mock.method(console, 'error', () => {})
  const reports = new Reports({})
  reports.recovered()
  for (let i = 0; i < 2; i++) {
    reports.failed(away)
    reports.failed(away)
    reports.recovered()
    reports.recovered()
  }
  const written = lines.mock.calls.map(({ arguments: [line] }) => String(line).slice(0, 30))
  const once = ['tallystick: the server is away', 'tallystick: records are sent a']
  assert.deepEqual(written, [...once, ...once])
})

test('with onError, failures and recoveries are not logged', (t) => {
  const lines = t.mock.method(console, 'error', () => {})
  const reports = new Reports({ onError: () => {} })
  reports.failed(away)
  reports.recovered()
  assert.equal(lines.mock.callCount(), 0)
})

test('without onRefused, refused records are logged at most every 10 s, and all in the end', (t) => {
  const lines = t.mock.method(console, 'error', () => {})
  let nowMs = 1_000
  t.mock.method(performance, 'now', () => nowMs)
  const reports = new Reports({})
  const refuse = () =>
    reports.refused([{ item: item(0), problem: PROBLEM, idempotencyKey: KEY }], new ApiError(PROBLEM))
  for (let i = 0; i < 50; i++) refuse()
  nowMs += 10_000
  refuse()
  refuse()
  reports.end()
  reports.end()
  const counts = lines.mock.calls.map(({ arguments: [line] }) => /: (\d+) record/.exec(String(line))?.[1])
  assert.deepEqual(counts, ['1', '50', '1'])
})
