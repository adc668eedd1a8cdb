import assert from 'node:assert/strict'
import { test } from 'node:test'
import { activitiesOfDay, type DayActivity } from '../../console/day.ts'
import type { LedgerRecord } from '../../sdk/generated/api.ts'

let seq = 0
const record = (id: string, type: string, parent: string | null, payload: object | null) =>
  ({
    id,
    type,
    parent,
    payload,
    recordedAt: '2026-11-29T10:00:00Z',
    occurredAt: null,
    gated: null,
    entry: { seq: seq++ },
  }) as unknown as LedgerRecord
const action = (id: string, parent: string | null = null, kind = 'tool') =>
  record(id, 'agent-action/1', parent, { kind })
const outcome = (id: string, parent: string | null, status: string, kind = 'tool') =>
  record(id, 'agent-outcome/1', parent, { status, kind })
const decision = (id: string, parent: string | null, word: string) =>
  record(id, 'approval/1', parent, { decision: word })
const drawn = (activities: readonly DayActivity[]) =>
  activities.map(({ record: { id }, ending, isRun, outcomes, decisions }) =>
    [
      isRun ? `run ${id}` : id,
      ending,
      ...outcomes.map((one) => one.id),
      ...decisions.map((one) => one.id),
    ].join(' '),
  )

test('an activity counts once, with its outcome and approvals, however many records it has', () => {
  const records = [
    action('run', null, 'agent'),
    action('refund', 'run'),
    decision('d1', 'refund', 'deny'),
    outcome('o1', 'refund', 'denied'),
    action('pay', 'run'),
    decision('d2', 'pay', 'escalate'),
    decision('d3', 'd2', 'allow'),
    outcome('o2', 'pay', 'error'),
    action('mail', 'run'),
    action('drop', 'run'),
    decision('d4', 'drop', 'deny'),
    outcome('end', 'run', 'error', 'agent'),
    record('note', 'generic/1', null, {}),
  ]
  const expected = [
    'drop denied d4',
    'mail open',
    'pay error o2 d2 d3',
    'refund denied o1 d1',
    'run run error end',
  ]
  assert.deepEqual(drawn(activitiesOfDay(records)), expected)
  assert.deepEqual(drawn(activitiesOfDay(records.toReversed())), expected)
})

test('an earlier day’s action with its outcome today is one activity; an approval alone is none', () => {
  const records = [
    decision('d1', 'yesterday', 'deny'),
    outcome('o1', 'yesterday', 'denied'),
    decision('d2', 'before', 'allow'),
    decision('d3', null, 'deny'),
    outcome('o2', 'long', 'unknown'),
    outcome('o3', 'long', 'ok'),
  ]
  assert.deepEqual(drawn(activitiesOfDay(records)), [
    'o2 ok o2 o3',
    'd3 denied d3',
    'd2  d2',
    'd1 denied o1 d1',
  ])
})

test('the end of an action is unclear if its outcome was erased, or its span has no status', () => {
  const records = [
    action('a'),
    record('o', 'agent-outcome/1', 'a', null),
    record('call', 'mcp-call/1', null, { status: 'unknown' }),
    record('span', 'otel-span/1', null, { name: 'x' }),
    record('agent', 'otel-span/1', null, {
      status: { code: 'ERROR' },
      attributes: { 'gen_ai.operation.name': 'invoke_agent' },
    }),
  ]
  assert.deepEqual(drawn(activitiesOfDay(records)), [
    'run agent error',
    'span unclear',
    'call unclear',
    'a unclear o',
  ])
})

test('counts ten thousand records, each the child of the one before', () => {
  const records = Array.from({ length: 10_000 }, (_, i) =>
    decision(`d${i}`, i === 0 ? 'a' : `d${i - 1}`, 'allow'),
  )
  assert.equal(activitiesOfDay(records).length, 1)
})
