/*
 * npm run coverage: src/proof decides what is believed, so its tests must take every branch of it.
 */
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { resolve } from 'node:path'

const cwd = resolve(import.meta.dirname, '..')
const { status } = spawnSync(
  process.execPath,
  [
    '--test',
    '--test-reporter=dot',
    '--experimental-test-coverage',
    '--test-coverage-include=src/proof/**',
    '--test-coverage-lines=100',
    '--test-coverage-branches=100',
    '--test-coverage-functions=100',
    ...globSync('test/proof/**/*.test.ts', { cwd }),
  ],
  { cwd, stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, CI: 'true' } },
)
console.log(
  status === 0
    ? 'ok   src/proof: every branch is tested'
    : 'FAIL src/proof: a test fails, or a branch has none; node --test --experimental-test-coverage says which',
)
process.exitCode = status ?? 1
