/* npm run coverage: requires full coverage of src/proof, because that code decides what is trusted. */
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { resolve } from 'node:path'

const REPORT_BYTES_MAX = 16 * 1024 * 1024

const cwd = resolve(import.meta.dirname, '..')
const { status, stdout } = spawnSync(
  process.execPath,
  [
    '--test',
    '--test-reporter=spec',
    '--experimental-test-coverage',
    '--test-coverage-include=src/proof/**',
    '--test-coverage-lines=100',
    '--test-coverage-branches=100',
    '--test-coverage-functions=100',
    ...globSync('test/proof/**/*.test.ts', { cwd }),
  ],
  {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: REPORT_BYTES_MAX,
    env: { ...process.env, CI: 'true' },
  },
)
if (status === 0) {
  console.log('ok   src/proof: every branch is tested')
} else {
  console.log('FAIL src/proof: a test fails, or a branch has no test:')
  for (const line of stdout.split('\n')) if (isFault(line)) console.log(`     ${line}`)
}
process.exitCode = status ?? 1

/** Returns true for the line of a failed test, or of a file without full coverage. */
function isFault(line: string): boolean {
  const row = /^ℹ +\S+\.ts +\|/.test(line)
  return row ? line.match(/100\.00/g)?.length !== 3 : line.includes('✖')
}
