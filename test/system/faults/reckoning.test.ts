import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JournalLine } from './journal.ts'
import { reckon, type StoredRecord } from './reckoning.ts'

const LEDGER = 'led_a'
const line = (intent: string, fields: Partial<JournalLine>): JournalLine => ({
  intent,
  ledger: LEDGER,
  items: 1,
  hasKey: true,
  outcome: 'acked',
  ids: [],
  seq: -1,
  replayed: false,
  atMs: 0,
  ...fields,
})
const record = (intent: string, item: number, id: string, seq: number): StoredRecord => ({
  ledger: LEDGER,
  id,
  seq,
  intent,
  item,
})

test('counts stored records as found, one per item', () => {
  const batch = line('a', { items: 2, ids: ['r0', 'r1'], seq: 7, replayed: true })
  const found = reckon([batch], [record('a', 0, 'r0', 7), record('a', 1, 'r1', 7)])
  assert.deepEqual(
    { ...found },
    {
      acked: 2,
      found: 2,
      lost: 0,
      doubled: 0,
      ghosts: 0,
      torn: 0,
      unknown: 0,
      unknownFound: 0,
      refused: 0,
      replayed: 1,
    },
  )
})

test('counts as lost an acknowledged record that is missing, or has another id, seq or ledger', () => {
  const acked = line('a', { ids: ['r0'], seq: 7 })
  assert.equal(reckon([acked], []).lost, 1)
  assert.equal(reckon([acked], [record('a', 0, 'r9', 7)]).lost, 1)
  assert.equal(reckon([acked], [record('a', 0, 'r0', 8)]).lost, 1)
  assert.equal(reckon([acked], [{ ...record('a', 0, 'r0', 7), ledger: 'led_b' }]).lost, 1)
})

test('counts as doubled two records of one request, acknowledged or not', () => {
  const stored = [record('a', 0, 'r0', 7), record('a', 0, 'r1', 8)]
  assert.equal(reckon([line('a', { ids: ['r0'], seq: 7 })], stored).doubled, 1)
  assert.equal(reckon([line('a', { outcome: 'unknown' })], stored).doubled, 1)
})

test('counts refused or unrequested records as ghosts, and a partial batch as torn', () => {
  assert.equal(reckon([line('a', { outcome: 'refused' })], [record('a', 0, 'r0', 7)]).ghosts, 1)
  assert.equal(reckon([], [record('a', 0, 'r0', 7)]).ghosts, 1)
  assert.equal(reckon([line('a', { items: 2, outcome: 'unknown' })], [record('a', 0, 'r0', 7)]).torn, 1)
})

test('counts an unknown outcome as neither lost nor doubled, stored or not', () => {
  const unknown = line('a', { outcome: 'unknown' })
  assert.equal(reckon([unknown], []).unknownFound, 0)
  const found = reckon([unknown], [record('a', 0, 'r0', 7)])
  assert.deepEqual([found.unknownFound, found.doubled, found.lost], [1, 0, 0])
})
