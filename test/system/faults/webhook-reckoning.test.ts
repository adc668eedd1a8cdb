import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatWebhooks, type Heard, type Reckoned, reckonWebhooks } from './webhook-listeners.ts'

const heard = (name: string, changes: Partial<Heard> = {}): Heard => ({
  id: `evt of ${name}`,
  name,
  record: null,
  checkpointSize: null,
  atMs: 0,
  ...changes,
})
const eventsOf = (...names: string[]) => new Map(names.map((name) => [name, null]))
const NOTARIZED = ['7 record.notarized aa', '8 record.notarized bb'] as const
const CHECKPOINT = '8 checkpoint.published cc'

const CLEAN: Reckoned = {
  ledger: 'led_a',
  startSeq: 7,
  expected: eventsOf(...NOTARIZED),
  received: NOTARIZED.map((name) => heard(name)),
  failed: new Set(),
  stored: {
    events: eventsOf(...NOTARIZED, CHECKPOINT),
    kinds: new Map([
      [7, 'record-notarized'],
      [8, 'record-notarized'],
    ]),
    checkpoints: [9],
  },
}
const ghostsOf = (...more: Heard[]) => reckonWebhooks([{ ...CLEAN, received: [...CLEAN.received, ...more] }])

test('a checkpoint that is stored after the events were expected is neither lost nor a ghost', () => {
  const { events, lost, ghosts } = reckonWebhooks([CLEAN])
  assert.deepEqual({ events, lost, ghosts }, { events: 2, lost: 0, ghosts: 0 })
  assert.equal(ghostsOf(heard(CHECKPOINT, { checkpointSize: 9 })).ghosts, 0)
  const old = heard('6 checkpoint.published dd', { checkpointSize: 7 })
  assert.equal(ghostsOf(old).ghosts, 0, 'it was published while the endpoint was created')
})

test('an event of an entry that another entry has replaced is a ghost, and is described', () => {
  const replaced = heard('8 record.notarized ee', { record: 'rec_e' })
  const reckoning = ghostsOf(replaced, replaced)
  assert.equal(reckoning.ghosts, 2)
  const line =
    'ghost: led_a 8 record.notarized ee of rec_e, id evt of 8 record.notarized ee, received 2 times, here at ' +
    '1970-01-01T00:00:00.000Z; the ledger has record-notarized at 8, 9 entries'
  assert.deepEqual(reckoning.ghostLines, [line, line])
  assert.ok(formatWebhooks(reckoning).endsWith(`ghosts=2\n    ${line}\n    ${line}`))
})

test('a checkpoint that is not in the ledger is a ghost, and is described', () => {
  const { ghostLines } = ghostsOf(heard('9 checkpoint.published ff', { checkpointSize: 10 }))
  assert.equal(ghostLines.length, 1)
  assert.match(ghostLines[0]!, /the ledger has nothing at 9, 9 entries, checkpoints of 9 and none beside it$/)
})
