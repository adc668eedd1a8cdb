import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, rmdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { OpenCalls, settleCalls } from '../../../cli/outbox/calls.ts'
import { CALLS_STALE_MS } from '../../../cli/outbox/limits.ts'
import { newestRecorded, waitUntilRecorded } from '../../../cli/outbox/recorded.ts'
import { makeItem } from '../../../sdk/notarizer/items.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'

const item = (status: string) => makeItem({ status }, {}, 0)
const inboxOf = (directory: string) => readdirSync(join(directory, 'inbox'))

test('a sending process does not count itself as ended after suspend or a clock change', (t) => {
  const { directory } = temporaryFiles(t)
  const calls = new OpenCalls(directory)
  t.after(() => calls.close())
  calls.begin('a', item('none'))
  // Simulates a suspended Linux machine: Date.now() advances, process.uptime() does not.
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + CALLS_STALE_MS / 2 })
  settleCalls(directory)
  calls.settle('a', item('ok'))
  assert.equal(inboxOf(directory).length, 1, 'the outcome, and no word of a process that ended')
})

test('a process that others counted as ended records its further calls', (t) => {
  const { directory } = temporaryFiles(t)
  const calls = new OpenCalls(directory)
  t.after(() => calls.close())
  calls.begin('a', item('none'))
  const [own] = readdirSync(join(directory, 'calls')) as [string]
  // Simulates a call of a process in another container. That process has not updated its file for a long time.
  const holder = join(directory, 'calls', own, 'holder')
  writeFileSync(holder, JSON.stringify({ ...JSON.parse(readFileSync(holder, 'utf8')), place: 'elsewhere' }))
  utimesSync(holder, 0, 0)
  settleCalls(directory)
  assert.equal(inboxOf(directory).length, 1, 'no outcome came of the first')
  calls.begin('b', item('none'))
  settleCalls(directory)
  calls.settle('b', item('ok'))
  assert.equal(inboxOf(directory).length, 2)
})

test('a call whose outcome could not be written is recorded as without outcome after its process ended', (t) => {
  const { directory } = temporaryFiles(t)
  const calls = new OpenCalls(directory)
  calls.begin('a', item('none'))
  const [own] = readdirSync(join(directory, 'calls')) as [string]
  const folder = join(directory, 'calls', own)
  // A directory of this name prevents the outcome from being written.
  mkdirSync(join(folder, 'a.ndjson.tmp'))
  assert.throws(() => calls.settle('a', item('ok')), { code: 'EEXIST' })
  rmdirSync(join(folder, 'a.ndjson.tmp'))
  calls.close()
  utimesSync(folder, 0, 0)
  settleCalls(directory)
  assert.equal(inboxOf(directory).length, 1)
  assert.deepEqual(readdirSync(join(directory, 'calls')), [])
})

test('a reused handle counts as recorded only when the ledger has a new record for it', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const line = (handle: string, id: string) => `["${handle}","rec_${id.repeat(26)}"]\n`
  const recorded = (before: string | null) => waitUntilRecorded(directory, 'h', 50, { before })
  assert.equal(newestRecorded(directory, 'h'), null)
  write('handles.ndjson', line('h', 'a') + line('i', 'b'))
  const before = newestRecorded(directory, 'h')
  assert.equal(before, `rec_${'a'.repeat(26)}`)
  // Simulates that after a crash the record with the handle `h` was sent again, and that the server returned the same
  // id.
  write('handles.ndjson', line('h', 'a') + line('i', 'b') + line('h', 'a'))
  assert.equal(await recorded(before), false)
  // Simulates that the file was rewritten with the newest id of each handle, and that a crash cut the last line.
  write('handles.ndjson', `${line('i', 'b')}${line('h', 'c')}["h","rec_`)
  assert.equal(await recorded(before), true)
  write('handles.ndjson', line('i', 'b'))
  assert.equal(await recorded(before), false)
})
