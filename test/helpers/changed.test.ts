import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { bareEnvironment } from './bare-environment.ts'
import { changedFiles, concernedTests, nearestTests } from './changed.ts'
import { temporaryFiles } from './temporary-files.ts'

const FILES: Readonly<Record<string, string>> = {
  'src/low.ts': 'export const low = 1',
  'src/high.ts': "import { low } from './low.ts'\nexport const lazily = () => import('./lazy.ts')\n",
  'src/lazy.ts': 'export const lazy = 1',
  'src/thread.ts': 'postMessage(1)',
  'src/starts.ts': "new Worker(new URL('./thread.ts', import.meta.url))",
  'migrations/functions/a.sql': 'select 1',
  'test/low.test.ts': "import '../src/low.ts'",
  'test/high.test.ts': "import '../src/high.ts'",
  'test/types.test.ts': "import type { high } from '../src/high.ts'",
  'test/starts.test.ts': "import '../src/starts.ts'",
  'test/child.test.ts': "spawn(process.execPath, [join(ROOT, 'src/lazy.ts')])",
  'test/sql.test.ts': "readdirSync(new URL('../migrations/', import.meta.url))",
  'test/names.test.ts': "for (const file of globSync('src/**/*.ts')) read(file)",
}
const TESTS = Object.keys(FILES).filter((file) => file.startsWith('test/'))

for (const [changed, concerned] of [
  ['src/low.ts', ['low', 'high']],
  ['src/lazy.ts', ['high', 'child']],
  ['src/thread.ts', ['starts']],
  ['migrations/functions/a.sql', ['sql']],
  ['migrations/functions/new.sql', ['sql']],
  ['test/types.test.ts', ['types']],
  ['src/of-nobody.ts', []],
] as const) {
  test(`a change of ${changed} selects the tests ${concerned.join(', ') || 'none'} and the guards`, (t) => {
    const root = makeProject(t)
    rmSync(join(root, changed), { force: true })
    writeFileSync(join(root, changed), FILES[changed] ?? '')
    assert.deepEqual(
      concernedTests(root, TESTS, [changed]).sort(),
      [...concerned, 'names'].map((name) => `test/${name}.test.ts`).sort(),
    )
  })
}

test('nearestTests() orders tests by their distance in imports, without the guards', (t) => {
  assert.deepEqual(nearestTests(makeProject(t), TESTS.toReversed(), 'src/low.ts'), [
    'test/low.test.ts',
    'test/high.test.ts',
  ])
})

test('a deleted file selects the tests of files that still name it', (t) => {
  const root = makeProject(t)
  rmSync(join(root, 'src/thread.ts'))
  assert.ok(concernedTests(root, TESTS, ['src/thread.ts']).includes('test/starts.test.ts'))
})

test('changedFiles() lists files committed since the branch began, staged, unstaged, new, moved and deleted', (t) => {
  const root = makeProject(t)
  const git = gitIn(root)
  const commit = () => {
    git('add', '-A')
    git('commit', '-qm', 'change')
  }
  git('init', '-q', '-b', 'main')
  commit()
  assert.deepEqual(changedFiles(root), [])
  git('branch', 'branch')
  writeFileSync(join(root, 'src/starts.ts'), 'others do this meanwhile')
  commit()
  git('checkout', '-q', 'branch')
  writeFileSync(join(root, 'src/low.ts'), 'export const low = 2')
  commit()
  writeFileSync(join(root, 'src/high.ts'), '')
  git('add', 'src/high.ts')
  rmSync(join(root, 'src/lazy.ts'))
  writeFileSync(join(root, 'src/new file.ts'), '')
  git('mv', 'src/thread.ts', 'src/moved.ts')
  const expected = [
    'src/high.ts',
    'src/lazy.ts',
    'src/low.ts',
    'src/moved.ts',
    'src/new file.ts',
    'src/thread.ts',
  ]
  assert.deepEqual(changedFiles(root), expected)
  assert.deepEqual(changedFiles(root, 'branch'), expected.toSpliced(2, 1))
})

function makeProject(t: Parameters<typeof temporaryFiles>[0]): string {
  const { directory } = temporaryFiles(t)
  for (const [file, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    writeFileSync(join(directory, file), text)
  }
  return directory
}

/** Runs git without the settings and hooks of the user. */
function gitIn(root: string): (...args: string[]) => void {
  const person = { NAME: 'somebody', EMAIL: 'somebody@example.com' }
  const env = {
    ...bareEnvironment(),
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_SYSTEM: '/dev/null',
    ...Object.fromEntries(
      ['AUTHOR', 'COMMITTER'].flatMap((role) =>
        Object.entries(person).map(([name, value]) => [`GIT_${role}_${name}`, value]),
      ),
    ),
  }
  return (...args) => void execFileSync('git', ['-C', root, ...args], { env })
}
