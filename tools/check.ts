/* npm run check: runs all checks except the tests. A failed step says what to do. */
import { spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import { checkDocs } from './check-docs.ts'

const ROOT = resolve(import.meta.dirname, '..')
const BIN = join(ROOT, 'node_modules', '.bin')

type Step = { readonly name: string; readonly run: () => Promise<string | null> }

const steps: Step[] = [
  {
    name: 'format and lint (npm run format)',
    run: () => command(join(BIN, 'biome'), ['ci', '--colors=off', '--error-on-warnings', '.']),
  },
  {
    name: 'the console is built (npm run build)',
    run: () => command(process.execPath, ['tools/build-console.ts']),
  },
  // This step precedes the check of types, because the examples import the built library.
  {
    name: 'the SDK is built (npm run build)',
    run: () => command(process.execPath, ['tools/build-sdk.ts']),
  },
  { name: 'types (tsc)', run: () => command(join(BIN, 'tsc'), ['-p', '.']) },
  { name: "k6's scripts (tsc)", run: () => command(join(BIN, 'tsc'), ['-p', 'k6']) },
  { name: 'the SDK needs no Node (tsc)', run: () => command(join(BIN, 'tsc'), ['-p', 'sdk']) },
  { name: 'the console (tsc)', run: () => command(join(BIN, 'tsc'), ['-p', 'console']) },
  {
    name: 'the command line needs nothing newer than Node 20 (tsc)',
    run: () => command(join(BIN, 'tsc'), ['-p', 'cli']),
  },
  {
    name: 'the examples, with the published types (tsc)',
    run: () => command(join(BIN, 'tsc'), ['-p', 'examples']),
  },
  {
    name: 'migrations/schema.sql',
    run: () => command(process.execPath, ['tools/dump-schema.ts', '--check']),
  },
  {
    name: 'docs/reference/access.md, docs/reference/errors.md, docs/reference/lifecycle.md, docs/reference/kinds.json, the rules in migrations/0001, sdk/generated, the chart’s README',
    run: () => command(process.execPath, ['tools/generate-docs.ts', '--check']),
  },
  { name: 'README and docs', run: async () => checkDocs(ROOT).join('\n') || null },
]

let failures = 0
for (const step of steps) {
  const startedAt = Date.now()
  const fault = await step.run()
  console.log(
    `${fault === null ? 'ok  ' : 'FAIL'} ${step.name}, ${((Date.now() - startedAt) / 1000).toFixed(1)} s`,
  )
  if (fault !== null) {
    console.log(`${fault.trim().replaceAll(/^/gm, '     ')}\n`)
    failures++
  }
}
if (failures > 0) process.exitCode = 1

/** Runs a command. Returns its output if the command failed, or null if it succeeded. */
function command(file: string, args: string[]): Promise<string | null> {
  return new Promise((done) => {
    const child = spawn(file, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        output += data
      })
    }
    child.on('error', (error) => done(error.message))
    child.on('close', (code) => done(code === 0 ? null : output || `exit code ${code}`))
  })
}
