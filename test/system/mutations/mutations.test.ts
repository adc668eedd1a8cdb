import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { MUTATIONS } from './mutations.ts'

const ROOT = resolve(import.meta.dirname, '..', '..', '..')

test('each mutation replaces text that is in its file exactly once', () => {
  const gone = MUTATIONS.filter(
    ({ file, from }) => readFileSync(join(ROOT, file), 'utf8').split(from).length !== 2,
  )
  assert.deepEqual(gone, [])
  assert.ok(MUTATIONS.length >= 50)
})
