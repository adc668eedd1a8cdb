/*
 * npm run python [options of pytest]
 *
 * npm run python -- generate
 *
 * Checks the Python package (python/):
 *
 * - its linter and its types;
 * - the notarizers, the agents' signatures and the adapters, against a server and the SDK's output;
 * - the client, against /openapi.json, its own server and a hostile one;
 * - its page (README.md, from `npm start` on), and its installation in an empty environment of every Python on this
 *   machine;
 * - the verifier, against the vectors, and against the TypeScript verifier over files of a real deployment.
 *
 * `npm run drill -- fuzz --differential` compares the two verifiers over hostile inputs. `generate` only writes the
 * generated files.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { installPythonTool } from '../../../tools/python-tool.ts'
import { useFirst } from './first-use.ts'
import { makeFiles } from './make-files.ts'
import { writeSchemas } from './schemas.ts'
import { serve } from './serve.ts'
import { tryWheels } from './wheels.ts'

const PACKAGE = resolve(import.meta.dirname, '../../../python')
const bin = dirname(installPythonTool('pytest', join(PACKAGE, 'requirements.txt')))
const dir = mkdtempSync(join(tmpdir(), 'tallystick-python-'))
try {
  const schemas = join(dir, 'schemas.json')
  await writeSchemas(schemas)
  if (process.argv[2] === 'generate') await run('python', ['tools/generate.py', schemas])
  else await test(schemas, process.argv.slice(2))
} finally {
  rmSync(dir, { recursive: true, force: true })
}

async function test(schemas: string, pytestOptions: readonly string[]): Promise<void> {
  await run('python', ['tools/generate.py', schemas, '--check'])
  await run('ruff', ['check', '.'])
  await run('ruff', ['format', '--check', '.'])
  await run('mypy', [])
  await run('pyright', ['--pythonpath', join(bin, 'python')])
  const files = join(dir, 'files')
  await makeFiles(files)
  const { env, close } = await serve()
  try {
    await run('pytest', pytestOptions, { TALLYSTICK_REAL_FILES: files, ...env })
    await tryWheels(PACKAGE, bin, dir, env)
  } finally {
    await close()
  }
  await useFirst(dir)
}

async function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<void> {
  const child = spawn(join(bin, command), args, {
    cwd: PACKAGE,
    env: { ...process.env, ...env },
    stdio: 'inherit',
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) process.exitCode = 1
}
