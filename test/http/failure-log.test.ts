import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../src/errors.ts'
import { FailureLog } from '../../src/http/failure-log.ts'

const WHERE = { method: 'POST', route: '/v1/records' }

test('repeated unavailability is logged once with a count; an internal error each time with its stack', () => {
  const lines: [details: object, message: string][] = []
  const log = { error: (details: object, message: string) => void lines.push([details, message]) }
  const failures = new FailureLog()
  const cause = { message: 'no answer', stack: 'long', cause: { message: 'a cable', stack: 'long' } }
  const away = { message: 'away', stack: 'long', cause }
  for (let i = 0; i < 1_000; i++) failures.log(log, 'unavailable', { ...WHERE, error: away })
  const brief = { message: 'away', cause: { message: 'no answer', cause: { message: 'a cable' } } }
  assert.deepEqual(lines, [[{ ...WHERE, error: brief, code: 'unavailable', unsaid: 0 }, 'requests fail']])
  const bug = { message: 'a bug', stack: 'long' }
  for (let i = 0; i < 3; i++) failures.log(log, 'internal_error', { ...WHERE, error: bug })
  assert.equal(lines.length, 4)
  assert.deepEqual(lines[3], [{ ...WHERE, error: bug, code: 'internal_error' }, 'request failed'])
})

test('a suspended peer’s request is not logged', () => {
  const said: object[] = []
  const log = { error: (details: object) => void said.push(details) }
  const error = { message: 'suspended', stack: 'long' }
  new FailureLog().log(log, 'peer_suspended', { ...WHERE, error })
  assert.deepEqual(said, [])
})

test('a refusal has no stack; an integrity fault has one', () => {
  assert.doesNotMatch(new ApiError('not_found', 'no such record').stack!, /\n/)
  assert.match(new ApiError('integrity_fault', 'contradicts').stack!, /failure-log\.test/)
  assert.match(new Error('the next one').stack!, /failure-log\.test/)
})
