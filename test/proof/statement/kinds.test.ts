import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ENTRY_KINDS,
  type EntryKind,
  findKind,
  LIFECYCLE,
  predicateTypeOf,
} from '../../../src/proof/statement/kinds.ts'
import { stateAfter } from '../../../src/proof/statement/machines.ts'
import { serverDifferencesOf } from '../../helpers/server-columns.ts'

const KINDS = Object.keys(ENTRY_KINDS) as EntryKind[]

test('predicate types and kinds map to each other', () => {
  for (const kind of KINDS) {
    assert.equal(predicateTypeOf(kind), `https://tallystick.dev/predicates/${kind}/v1`)
    assert.equal(findKind(predicateTypeOf(kind)), kind)
  }
})

test('findKind returns null for any other text, such as constructor and __proto__', () => {
  for (const text of ['', 'record-notarised', 'constructor', '__proto__', 'toString']) {
    assert.equal(findKind(`https://tallystick.dev/predicates/${text}/v1`), null)
  }
  assert.equal(findKind('https://tallystick.dev/predicates/record-notarized/v2'), null)
  assert.equal(findKind('record-notarized'), null)
})

test('a state changes only as the lifecycle allows', () => {
  const states = [null, ...new Set(LIFECYCLE.map((way) => way.to))]
  const outcomes = [undefined, 'pass', 'fail', 'accept', 'reject']
  let ways = 0
  for (const from of states) {
    for (const kind of KINDS) {
      for (const outcome of outcomes) {
        const way = LIFECYCLE.filter((w) => w.from === from && w.kind === kind && w.outcome === outcome)
        assert.ok(way.length <= 1, 'no two ways for one event')
        assert.equal(stateAfter('record', from, kind, outcome), way[0]?.to ?? null)
        ways += way.length
      }
    }
  }
  assert.equal(ways, LIFECYCLE.length)
})

test('a terminal state has no next event, except an overturned rejection', () => {
  for (const state of ['RECORDED', 'ACCEPTED', 'CANCELLED', 'EXPIRED']) {
    assert.ok(!LIFECYCLE.some((way) => way.from === state))
  }
  assert.deepEqual(
    LIFECYCLE.filter((way) => way.from === 'REJECTED').map((way) => way.kind),
    ['verdict-overturned'],
  )
})

test('exactly the kinds of the lifecycle have movesRecord', () => {
  for (const kind of KINDS) {
    const moves = LIFECYCLE.some((way) => way.kind === kind)
    assert.equal(ENTRY_KINDS[kind].movesRecord, moves, kind)
  }
})

test('the server’s columns differ from the statement’s members only as listed', () => {
  for (const kind of KINDS) assert.deepEqual(serverDifferencesOf(kind, ENTRY_KINDS[kind]), [], kind)
})
