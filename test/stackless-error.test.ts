import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { ApiError } from '../src/errors.ts'
import { RequestSignatureError } from '../src/outside/federation/http-signature.ts'
import { EntryRefused } from '../src/outside/federation/proposed.ts'
import { OtlpError } from '../src/records/otlp/error.ts'

const ROOT = resolve(import.meta.dirname, '..')

test('errors that refuse a request have no stack, but a message and a cause', () => {
  const cause = new Error('closed')
  const refusals = [
    new ApiError('unavailable', 'no answer', { cause }),
    new RequestSignatureError('signature_malformed', 'has no nonce'),
    new EntryRefused('bad_id', 'is no id'),
    new OtlpError('is no span'),
  ]
  for (const error of refusals) {
    assert.ok(error instanceof Error)
    assert.doesNotMatch(error.stack!, /\n/)
  }
  assert.equal(refusals[0]!.message, 'no answer')
  assert.equal(refusals[0]!.cause, cause)
})

test('a fault of the server and the next error of any other class have their stacks', () => {
  assert.match(
    new ApiError('integrity_fault', 'contradicts').stack!,
    /^ApiError: contradicts\n.*stackless-error\.test/,
  )
  assert.match(new Error('the next one').stack!, /\n.*stackless-error\.test/)
})

// The limit belongs to the whole process. If it stayed 0, faults would be logged without their stack.
test('only src/stackless-error.ts changes the limit of stacks', () => {
  const files = globSync('{src,worker,cli,sdk}/**/*.ts', { cwd: ROOT })
  const found = files.filter((file) => readFileSync(join(ROOT, file), 'utf8').includes('stackTraceLimit'))
  assert.deepEqual(found, ['src/stackless-error.ts'])
})
