import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { namedTests } from './named-tests.ts'

const TEST_DIR = resolve(import.meta.dirname, '..')

test('tests are named by file or folder; the error for a missing path names similar paths', () => {
  const here = join(TEST_DIR, 'helpers/named-tests.test.ts')
  assert.deepEqual(namedTests([here], TEST_DIR), [here])
  assert.ok(namedTests([join(TEST_DIR, 'helpers')], TEST_DIR).includes(here))
  const gone = ['test/http/named-tests.test.ts', 'test/nowhere', 'helm']
  assert.throws(() => namedTests([here, ...gone], TEST_DIR), {
    message: `there are no tests at ${gone[0]}, but there are: test/helpers/named-tests.test.ts
there are no tests at ${gone[1]}
there are no tests at ${gone[2]}`,
  })
})

test('npm test refuses a missing path before it starts Postgres', async () => {
  const run = promisify(execFile)(process.execPath, [join(TEST_DIR, 'run.ts'), 'test/nowhere.test.ts'])
  const { code, stdout, stderr } = (await run.catch((error) => error)) as {
    code: number
    stdout: string
    stderr: string
  }
  assert.deepEqual([code, stdout, stderr], [1, '', 'there are no tests at test/nowhere.test.ts\n'])
})
