import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { bareEnvironment } from './bare-environment.ts'
import { groupFiles, renderGroup } from './groups.ts'
import { temporaryFiles } from './temporary-files.ts'

const TEST_DIR = resolve(import.meta.dirname, '..')

test('each test file is in one group, and no group is of two folders', () => {
  const files = globSync(join(TEST_DIR, '**/*.test.ts')).sort()
  const groups = groupFiles(TEST_DIR, files)
  assert.deepEqual(groups.flatMap((group) => group.files).sort(), files)
  assert.equal(new Set(groups.map(({ name }) => name)).size, groups.length)
  for (const { files } of groups) assert.equal(new Set(files.map((file) => resolve(file, '..'))).size, 1)
})

test('the costliest group begins first', () => {
  const files = ['/t/http/a.test.ts', '/t/run/b.test.ts', '/t/run/c.test.ts']
  const groups = groupFiles(
    '/t',
    files,
    (path) => ({ 'run/b.test.ts': 1, 'run/c.test.ts': 3, 'http/a.test.ts': 2 })[path]!,
  )
  assert.deepEqual(
    groups.map(({ name }) => name),
    ['run-c.test.ts', 'http-1', 'run-b.test.ts'],
  )
})

test('a file that cannot be loaded is a test that fails, and the others of its group run', async (t) => {
  const { directory } = temporaryFiles(t)
  const write = (name: string, text: string) => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const broken = write('broken.mjs', "throw new Error('not today')")
  const good = write('good.mjs', "import { test } from 'node:test'; test('the good one', () => {})")
  const group = write('group.mjs', renderGroup({ name: 'group', files: [broken, good] }))
  const { code, stdout } = await run(group)
  assert.equal(code, 1)
  assert.match(stdout, /not ok \d+ - .*broken\.mjs/)
  assert.match(stdout, /not today/)
  assert.match(stdout, /^ok \d+ - the good one/m)
})

function run(file: string): Promise<{ code: unknown; stdout: string }> {
  return new Promise((done) => {
    execFile(process.execPath, ['--test-reporter=tap', file], { env: bareEnvironment() }, (error, stdout) =>
      done({ code: error?.code ?? 0, stdout }),
    )
  })
}
