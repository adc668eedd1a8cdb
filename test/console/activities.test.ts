import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Activity, activitiesOf, sumsOf } from '../../console/activities.ts'
import type { LedgerRecord } from '../../sdk/generated/api.ts'

type Given = {
  readonly parent?: string
  readonly payload?: object | null
  readonly occurredAt?: string
}

const AT = '2026-11-29T10:00:00.000Z'
const ATMS = Date.parse(AT)

const record = (id: string, type: string, { parent, payload = {}, occurredAt }: Given = {}) =>
  ({
    id,
    type,
    payload,
    parent: parent ?? null,
    occurredAt: occurredAt ?? null,
    recordedAt: AT,
    gated: null,
    nextEvents: [],
  }) as unknown as LedgerRecord
const action = (id: string, given: Given = {}) => record(id, 'agent-action/1', given)
const outcome = (id: string, parent: string, payload: object | null, occurredAt?: string) =>
  record(id, 'agent-outcome/1', { parent, payload, ...(occurredAt !== undefined && { occurredAt }) })

const drawn = (activities: readonly Activity[]): unknown[] =>
  activities.map(({ record: { id }, ending, below }) => [`${id} ${ending}`, ...drawn(below)])

test('an action is one activity with its outcome and the decisions about it', () => {
  const records = [
    action('a'),
    action('b', { parent: 'a' }),
    outcome('c', 'b', { status: 'error' }),
    action('d', { parent: 'a' }),
    record('e', 'approval/1', { parent: 'd', payload: { decision: 'deny' } }),
    outcome('f', 'a', { status: 'ok' }),
    record('g', 'generic/1', { parent: 'elsewhere' }),
    record('h', 'generic/1', { parent: 'c' }),
  ]
  const activities = activitiesOf(records)
  assert.deepEqual(drawn(activities), [['a ok', ['b error', ['h null']], ['d denied']], ['g null']])
  const [a] = activities
  assert.deepEqual([a!.inside, a!.troubles], [3, 2])
  assert.deepEqual(
    a!.below[1]!.decisions.map(({ id }) => id),
    ['e'],
  )
})

test('an activity is ok only if an outcome says ok', () => {
  const ending = (...records: LedgerRecord[]) => activitiesOf(records)[0]!.ending
  const span = (payload: object | null) => ending(record('s', 'otel-span/1', { payload }))
  assert.equal(ending(action('a')), 'no outcome')
  assert.equal(activitiesOf([action('a')], () => false)[0]!.ending, 'not read yet')
  assert.equal(ending(action('a'), outcome('o', 'a', null)), 'outcome erased')
  assert.equal(ending(action('a'), outcome('o', 'a', {})), 'unknown')
  assert.equal(ending(action('a'), outcome('o', 'a', { status: 'cancelled' })), 'cancelled')
  const twice = [outcome('o', 'a', { status: 'unknown' }), outcome('p', 'a', { status: 'denied' })]
  assert.equal(ending(action('a'), ...twice), 'denied')
  assert.equal(ending(action('a'), ...twice.toReversed()), 'denied')
  const decision = (id: string, parent: string, word: string) =>
    record(id, 'approval/1', { parent, payload: { decision: word } })
  assert.equal(ending(action('a'), decision('d', 'a', 'escalate'), decision('e', 'd', 'deny')), 'denied')
  assert.equal(ending(action('a'), decision('d', 'a', 'deny'), decision('e', 'd', 'allow')), 'no outcome')
  assert.equal(ending(record('m', 'mcp-call/1', { payload: { status: 'error' } })), 'error')
  assert.equal(span({ status: { code: 'ERROR' } }), 'error')
  assert.equal(span({}), 'no status')
  assert.equal(span(null), 'outcome erased')
})

test('an activity has the times of its records, also if only its start or its end was recorded', () => {
  const times = (...records: LedgerRecord[]) => {
    const [{ beganMs, endedMs }] = activitiesOf(records) as [Activity]
    return [beganMs - ATMS, endedMs === null ? null : endedMs - ATMS]
  }
  const later = '2026-11-29T10:00:03.000Z'
  assert.deepEqual(times(action('a'), outcome('o', 'a', { status: 'ok', durationMs: 500 })), [0, 500])
  assert.deepEqual(times(action('a'), outcome('o', 'a', { status: 'ok' }, later)), [0, 3_000])
  assert.deepEqual(times(action('a')), [0, null])
  const after = action('a', { payload: { told: 'after' } })
  assert.deepEqual(times(after, outcome('o', 'a', { status: 'ok', durationMs: 500 })), [-500, 0])
  const call = record('m', 'mcp-call/1', { payload: { status: 'ok', durationMs: 40 } })
  assert.deepEqual(times(call), [-40, 0])
  const nano = (ms: number) => `${ATMS + ms}000000`
  const span = { startTimeUnixNano: nano(5), endTimeUnixNano: nano(9) }
  assert.deepEqual(times(record('s', 'otel-span/1', { payload: span })), [5, 9])
  assert.deepEqual(times(record('s', 'otel-span/1', { payload: { startTimeUnixNano: 'x' } })), [0, null])
})

test('totals are by kind and name, the longest total time first', () => {
  const named = (id: string, kind: string, name: string) => action(id, { payload: { kind, name } })
  const sums = sumsOf(
    activitiesOf([
      named('a', 'tool', 'search'),
      outcome('b', 'a', { status: 'ok', durationMs: 5 }),
      named('c', 'tool', 'search'),
      outcome('d', 'c', { status: 'error', durationMs: 7 }),
      named('e', 'model', 'search'),
      record('f', 'generic/1'),
    ]),
  )
  assert.deepEqual(
    sums.map(({ name, kind, count, endings, inAllMs, longestMs }) => [
      `${kind} ${name}`,
      count,
      Object.fromEntries(endings),
      inAllMs,
      longestMs,
    ]),
    [
      ['tool search', 2, { ok: 1, error: 1 }, 12, 7],
      ['model search', 1, { 'no outcome': 1 }, 0, 0],
    ],
  )
})
