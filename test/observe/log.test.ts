import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLog } from '../../src/observe/log.ts'

test('logs message, code and cause of an error, and none of its other properties', () => {
  const lines: string[] = []
  const log = openLog('info', { write: (line) => void lines.push(line) })
  const cause = Object.assign(new Error('it broke'), { detail: 'Failing row contains (hunter2)' })
  const error = Object.assign(new Error('lost', { cause }), {
    code: '57P01',
    client: { secretKey: -612112660 },
  })
  log.warn({ err: error }, 'an idle database connection broke')
  const { err } = JSON.parse(lines[0]!)
  assert.equal(err.message, 'lost')
  assert.equal(err.code, '57P01')
  assert.equal(err.cause.message, 'it broke')
  assert.doesNotMatch(lines[0]!, /612112660|hunter2/)
})
