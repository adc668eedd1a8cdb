/*
 * npm test [files and folders…]: one Postgres for the suite, then `node --test`.
 *
 * The server is this process's and temporary: its folder is gone afterwards, also after Ctrl-C or a kill.
 */
import { spawn } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { CLUSTER_VARIABLE, preparedCluster, startSuitePostgres } from './helpers/postgres.ts'

const ROOT = resolve(import.meta.dirname, '..')
/** Two cores are what a small machine has; files that load more than one are rare. */
const CONCURRENCY = 2

const given = process.argv.slice(2)
const flags = given.filter((argument) => argument.startsWith('-'))
const named = given.filter((argument) => !argument.startsWith('-'))
const files = named.length > 0 ? named.flatMap(testsOf) : testsOf(join(ROOT, 'test'))

const postgres = await startSuitePostgres()
const tests = spawn(
  process.execPath,
  ['--test', '--test-reporter=spec', `--test-concurrency=${CONCURRENCY}`, ...flags, ...files.map(fromRoot)],
  {
    cwd: ROOT,
    stdio: 'inherit',
    env: {
      ...process.env,
      TALLYSTICK_TEST_DATABASE_URL: postgres.superuserUrl,
      [CLUSTER_VARIABLE]: preparedCluster(),
      // Each file and each child is a process: stripping and compiling the same modules anew took most of a short one.
      NODE_COMPILE_CACHE: join(postgres.dataDir, 'compile-cache'),
    },
  },
)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => tests.kill(signal))
void postgres.exited.then(() => {
  if (tests.exitCode === null && tests.signalCode === null)
    console.error('the Postgres of the tests has stopped')
})
const code = await new Promise<number>((done) => {
  tests.on('error', () => done(1))
  tests.on('exit', (exitCode) => done(exitCode ?? 1))
})
await postgres.stop('fast')
process.exitCode = code

/** A file, or those of a folder. */
function testsOf(path: string): string[] {
  const file = resolve(path)
  return statSync(file).isDirectory() ? globSync(join(file, '**/*.test.ts')).sort() : [file]
}

function fromRoot(file: string): string {
  return relative(ROOT, resolve(ROOT, file))
}
