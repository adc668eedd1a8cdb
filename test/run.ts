/*
 * npm test [files and folders…]: one Postgres for the suite, then `node --test`. A file that is named has a process of its own;
 * of the whole suite, files that can share one do (helpers/groups.ts). What kills and drowns whole deployments is not in it, but in
 * `npm run faults`.
 *
 * The server is this process's and temporary: its folder is gone afterwards, also after Ctrl-C or a kill.
 */
import { spawn } from 'node:child_process'
import { globSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { groupFiles, renderGroup } from './helpers/groups.ts'
import { CLUSTER_VARIABLE, preparedCluster, startSuitePostgres } from './helpers/postgres.ts'

const ROOT = resolve(import.meta.dirname, '..')
/** Two cores are what a small machine has, and half of its time a file waits: for Postgres, a child, a clock. */
const CONCURRENCY = 3
/** The soaks in their short form. Each takes every core there is, and all of them two minutes: as many as a third of all other tests. */
const FAULTS = ['faults', 'soak'].map((folder) => join(ROOT, 'test', 'system', folder))

/** A file that does not end is a failure, and not a suite that never ends. */
const FILE_MS_MAX = 900_000

const given = process.argv.slice(2)
const flags = given.filter((argument) => argument.startsWith('-'))
const named = given.filter((argument) => !argument.startsWith('-'))

const postgres = await startSuitePostgres()
const files = named.length > 0 ? named.flatMap(testsOf).map(fromRoot) : writeGroups(postgres.dataDir)
const tests = spawn(
  process.execPath,
  [
    '--test',
    '--test-reporter=spec',
    `--test-concurrency=${CONCURRENCY}`,
    `--test-timeout=${FILE_MS_MAX}`,
    ...flags,
    ...files,
  ],
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

/** `node --test` begins with the first by name. */
function writeGroups(dataDir: string): string[] {
  const dir = join(dataDir, 'groups')
  mkdirSync(dir)
  const files = testsOf(join(ROOT, 'test')).filter((file) => !FAULTS.includes(dirname(file)))
  return groupFiles(join(ROOT, 'test'), files).map((group, i) => {
    const file = join(dir, `${String(i).padStart(3, '0')}-${group.name}.mjs`)
    writeFileSync(file, renderGroup(group))
    return file
  })
}

function fromRoot(file: string): string {
  return relative(ROOT, resolve(ROOT, file))
}
