import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FailureLog } from '../../src/http/failure-log.ts'

test('what fails for every request is said once, with a count; a bug is said each time, with its stack', () => {
  const lines: [details: object, message: string][] = []
  const log = { error: (details: object, message: string) => void lines.push([details, message]) }
  const failures = new FailureLog()
  for (let i = 0; i < 1_000; i++) failures.log(log, 'unavailable', { message: 'away', stack: 'long' })
  assert.deepEqual(lines, [[{ error: { message: 'away' }, code: 'unavailable', since: 0 }, 'requests fail']])
  for (let i = 0; i < 3; i++) failures.log(log, 'internal_error', { message: 'a bug', stack: 'long' })
  assert.equal(lines.length, 4)
  assert.deepEqual(lines[3], [
    { error: { message: 'a bug', stack: 'long' }, code: 'internal_error' },
    'request failed',
  ])
})

test('a peer that comes while its peering is suspended is no failure', () => {
  const said: object[] = []
  const log = { error: (details: object) => void said.push(details) }
  new FailureLog().log(log, 'peer_suspended', { message: 'suspended', stack: 'long' })
  assert.deepEqual(said, [])
})
