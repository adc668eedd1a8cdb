import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileOverruns, overruns, readCosts, readFileCosts, unknownFiles } from './costs.ts'
import { temporaryFiles } from './temporary-files.ts'

test('a group’s cost includes the processes that it started, at any depth', (t) => {
  const file = join(temporaryFiles(t).directory, 'cpu')
  const lines = [
    [3, 2, 'server.ts', 500, 10],
    [2, 1, '/t/a.mjs', 1_000, 20],
    [4, 3, 'child.ts', 250, 5],
    [5, 1, '/t/b.mjs', 100, 2],
    [1, 7, '/t/a.mjs', 9_000, 30],
    { name: 'a/one.test.ts', cpuMs: 300 },
  ]
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'))
  assert.deepEqual(
    readCosts(file, 7, (script) => /^\/t\/(.)/.exec(script)?.[1] ?? null),
    [
      { name: 'a', cpuMs: 1_750, wallMs: 20 },
      { name: 'b', cpuMs: 100, wallMs: 2 },
    ],
  )
  assert.deepEqual(readFileCosts(file), [{ name: 'a/one.test.ts', cpuMs: 300 }])
})

test('reports a group that costs much more than its files may, and a file without a line', () => {
  const costs = [
    { name: 'a', cpuMs: 21_000, wallMs: 1 },
    { name: 'b', cpuMs: 19_000, wallMs: 1 },
    { name: 'small', cpuMs: 3_900, wallMs: 1 },
    { name: 'new', cpuMs: 1, wallMs: 1 },
  ]
  const files: Record<string, string[]> = { a: ['a1', 'a2'], b: ['b'], small: ['small'], new: ['new'] }
  const table = { a1: 4, a2: 6, b: 10, small: 0.1 }
  const filesOf = (group: string) => files[group]!
  assert.deepEqual(overruns(costs, filesOf, table), ['a took 21.0 s of CPU, at most 20.0 by test/costs.json'])
  assert.deepEqual(unknownFiles(costs, filesOf, table), [
    'new has no line in test/costs.json: npm run test:all -- --costs FILE',
  ])
})

test('reports a file that costs much more than its line, whatever the other files save', () => {
  const costs = [
    { name: 'grown', cpuMs: 2_500 },
    { name: 'heavy', cpuMs: 9_900 },
    { name: 'small', cpuMs: 1_900 },
  ]
  assert.deepEqual(fileOverruns(costs, { grown: 0.5, heavy: 5, small: 0.1 }), [
    "grown took 2.5 s of its group's CPU, at most 2.0 by test/costs.json",
  ])
})
