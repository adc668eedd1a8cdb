import assert from 'node:assert/strict'
import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { OpenCalls, settleCalls } from '../../../cli/outbox/calls.ts'
import { CALLS_STALE_MS } from '../../../cli/outbox/limits.ts'
import { makeItem } from '../../../sdk/notarizer/items.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'

const item = (status: string) => makeItem({ status }, {}, 0)
const inboxOf = (directory: string) => readdirSync(join(directory, 'inbox'))

test('a process that sends does not take itself for dead after its machine slept, or its clock was set', (t) => {
  const { directory } = temporaryFiles(t)
  const calls = new OpenCalls(directory)
  t.after(() => calls.close())
  calls.begin('a', item('none'))
  // A machine that sleeps, as Linux has it: Date.now() goes on, process.uptime() does not.
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + CALLS_STALE_MS / 2 })
  settleCalls(directory)
  calls.settle('a', item('ok'))
  assert.equal(inboxOf(directory).length, 1, 'the outcome, and no word of a process that ended')
})

test('a process that others took for dead records its further calls', (t) => {
  const { directory } = temporaryFiles(t)
  const calls = new OpenCalls(directory)
  t.after(() => calls.close())
  calls.begin('a', item('none'))
  const [own] = readdirSync(join(directory, 'calls')) as [string]
  // A process of another container, to whom this one gave no sign of life for long.
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
