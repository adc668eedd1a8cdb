/*
 * npm run python [options of pytest]
 *
 * Holds the verifier in Python (python/) to its linter, its types, the vectors, and to the verifier in TypeScript: over files of a real
 * deployment, over ledgers that are signed well and are wrong, and over damaged ones, the two must never disagree.
 * TALLYSTICK_FILES=20 compares twenty times as many, TALLYSTICK_SEED=… others.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { installPythonTool } from '../../../tools/python-tool.ts'
import { makeFiles } from './make-files.ts'

const PACKAGE = resolve(import.meta.dirname, '../../../python')
const bin = dirname(installPythonTool('pytest', join(PACKAGE, 'requirements.txt')))
const dir = mkdtempSync(join(tmpdir(), 'tallystick-python-'))
try {
  run('ruff', ['check', '.'])
  run('ruff', ['format', '--check', '.'])
  run('mypy', [])
  await makeFiles(dir)
  run('pytest', process.argv.slice(2))
} finally {
  rmSync(dir, { recursive: true, force: true })
}

function run(command: string, args: string[]): void {
  const env = { ...process.env, TALLYSTICK_REAL_FILES: dir }
  const { status, error } = spawnSync(join(bin, command), args, { cwd: PACKAGE, env, stdio: 'inherit' })
  if (error) throw error
  if (status !== 0) process.exitCode = 1
}
