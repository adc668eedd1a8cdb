import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, globSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { bareEnvironment } from './bare-environment.ts'
import { ALONE, groupFiles, renderGroup } from './groups.ts'
import { temporaryFiles } from './temporary-files.ts'

const TEST_DIR = resolve(import.meta.dirname, '..')

test('each test file is in one group, and each group is of one top-level folder', () => {
  const files = globSync(join(TEST_DIR, '**/*.test.ts')).sort()
  const groups = groupFiles(TEST_DIR, files)
  assert.deepEqual(groups.flatMap((group) => group.files).sort(), files)
  assert.equal(new Set(groups.map(({ name }) => name)).size, groups.length)
  const roomOf = (file: string) => relative(TEST_DIR, file).split('/').slice(0, -1)[0]
  for (const { files } of groups) assert.equal(new Set(files.map(roomOf)).size, 1)
})

test('every file of ALONE exists', () => {
  for (const path of ALONE) assert.ok(existsSync(join(TEST_DIR, path)), path)
})

test('the costliest group starts first', () => {
  const files = ['/t/http/a.test.ts', '/t/run/b.test.ts', '/t/run/postgres/start.test.ts']
  const groups = groupFiles(
    '/t',
    files,
    (path) => ({ 'run/b.test.ts': 1, 'run/postgres/start.test.ts': 3, 'http/a.test.ts': 2 })[path]!,
  )
  assert.deepEqual(
    groups.map(({ name }) => name),
    ['run-postgres-start.test.ts', 'http-1', 'run-1'],
  )
})

test('a folder too costly for one process is split into groups of about the same cost', () => {
  const costs: Record<string, number> = { 'http/a': 50, 'http/b': 25, 'http/tails/c': 24, 'http/d': 1 }
  const files = Object.keys(costs).map((path) => `/t/${path}.test.ts`)
  const groups = groupFiles('/t', files, (path) => costs[path.replace('.test.ts', '')]!)
  assert.deepEqual(
    groups.map(({ name, files }) => [
      name,
      ...files.map((file) => file.slice('/t/'.length, -'.test.ts'.length)),
    ]),
    [
      ['http-1', 'http/a'],
      ['http-2', 'http/b', 'http/d', 'http/tails/c'],
    ],
  )
})

test('a file that cannot be loaded is a failed test; the other files of its group run', async (t) => {
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
