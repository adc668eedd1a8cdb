/*
 * npm test [files and folders…]: starts one Postgres for the suite, then `node --test`. A named file has its own
 * process. In a named folder and in the whole suite, files that can share a process do (helpers/groups.ts).
 *
 *   --changed[=BRANCH] only tests affected by files that differ from the branch (main), and tests that read the whole tree
 *
 * npm run test:all: also runs test/system, which starts whole deployments, clusters and tools. Its faults and soak
 * are left out, because they take all CPU cores for minutes: `npm run drill -- faults` runs them alone. CI runs
 * test:all.
 *
 *   --rest             only what `npm test` leaves out
 *   --costs            writes the cost of each file into test/costs.json; a later run reports files that cost much more
 *
 * The server is temporary and belongs to this process: its folder is removed at the end, even after Ctrl-C or a kill.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { changedFiles, concernedTests } from './helpers/changed.ts'
import {
  type CostTable,
  fileOverruns,
  overruns,
  readCosts,
  readFileCosts,
  seconds,
  unknownFiles,
} from './helpers/costs.ts'
import { type Group, groupFiles, renderGroup } from './helpers/groups.ts'
import { namedTests, testsOf } from './helpers/named-tests.ts'
import { CLUSTER_VARIABLE, preparedCluster, startSuitePostgres } from './helpers/postgres.ts'

const ROOT = resolve(import.meta.dirname, '..')
const TEST_DIR = join(ROOT, 'test')
const COSTS_FILE = join(TEST_DIR, 'costs.json')
/**
 * Small machines have two cores. Four files run at once, because a file waits half of its time for Postgres, a child
 * or a clock.
 */
const CONCURRENCY = 4
/** Folder of tests of whole deployments, clusters, tools and pages of documentation. */
const SYSTEM = 'system/'
/** Faults and soaks take all CPU cores for minutes. They run with `npm run drill -- faults`. */
const FAULTS = ['system/faults/', 'system/soak/']
/** Maximum time in ms of a file. A file that takes longer fails, so that the suite does not hang. */
const FILE_MS_MAX = 900_000
const SHOWN_MAX = 12

const given = process.argv.slice(2)
const CHANGED = /^--changed(?:=(.+))?$/
const OWN_FLAGS = ['--all', '--rest', '--costs']
const [isAll, isRest, isMeasured] = OWN_FLAGS.map((flag) => given.includes(flag))
const changedFlag = given.map((argument) => CHANGED.exec(argument)).find((match) => match !== null)
const flags = given.filter(
  (argument) => argument.startsWith('-') && !OWN_FLAGS.includes(argument) && !CHANGED.test(argument),
)
const named = given.filter((argument) => !argument.startsWith('-'))

const groups = listGroups()
const postgres = await startSuitePostgres()
const noteFile = join(postgres.dataDir, 'cpu')
const scripts = new Map(groups.map((group, i) => [writeGroup(group, i), group]))
const startedAt = performance.now()
const code = await runTests([...scripts.keys()])
const costs = readCosts(noteFile, process.pid, (script) => scripts.get(script)?.name ?? scriptOf(script))
const fileCosts = readFileCosts(noteFile)
const postgresMs = cpuMsOf(postgres.pid)
await postgres.stop('fast')
const faultCode = report()
process.exitCode = code || faultCode

/**
 * Returns the groups of files to run. A named file runs alone, because figures about its process must not include other
 * files.
 */
function listGroups(): Group[] {
  const isFile = new Set(named.filter((path) => path.endsWith('.ts')).map(fromTest))
  const files = changedOnly(
    named.length > 0 ? namedOrExit() : testsOf(TEST_DIR).filter((file) => isChosen(fromTest(file))),
  )
  const table = readTable()
  const alone = files.filter((file) => isMeasured || isFile.has(fromTest(file)))
  const shared = files.filter((file) => !alone.includes(file))
  return [
    ...alone.map((file) => ({ name: fromTest(file), files: [file] })),
    ...groupFiles(TEST_DIR, shared, (path) => table[path] ?? 0),
  ]
}

function changedOnly(files: string[]): string[] {
  if (changedFlag == null) return files
  const changed = changedFiles(ROOT, changedFlag[1])
  const chosen = concernedTests(
    ROOT,
    files.map((file) => relative(ROOT, file)),
    changed,
  )
  const table = readTable()
  const cost = chosen.reduce((sum, file) => sum + (table[fromTest(file)] ?? 0), 0)
  console.error(
    `${changed.length} files have changed, which affect ${chosen.length} of ${files.length} test files`,
  )
  for (const file of chosen) console.error(`  ${file}`)
  console.error(`(about ${Math.round(cost)} s of CPU, each file in its own process)\n`)
  return chosen.map((file) => join(ROOT, file))
}

function isChosen(path: string): boolean {
  if (FAULTS.some((folder) => path.startsWith(folder))) return false
  const isUsual = !path.startsWith(SYSTEM)
  return isRest ? !isUsual : isAll || isMeasured || isUsual
}

function namedOrExit(): string[] {
  try {
    return namedTests(named, TEST_DIR)
  } catch (error) {
    console.error((error as Error).message)
    process.exit(1)
  }
}

function fromTest(file: string): string {
  return relative(TEST_DIR, resolve(ROOT, file))
}

/** Returns the path of the group's script. `node --test` starts scripts in order of their names. */
function writeGroup(group: Group, i: number): string {
  if (group.files.length === 1) {
    const only = relative(ROOT, group.files[0]!)
    if (named.includes(only)) return only
  }
  const dir = join(postgres.dataDir, 'groups')
  mkdirSync(dir, { recursive: true })
  const file = join(dir, `${String(i).padStart(3, '0')}-${group.name.replaceAll('/', '-')}.mjs`)
  writeFileSync(file, renderGroup(group))
  return file
}

async function runTests(files: readonly string[]): Promise<number> {
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
        // Each file and each child is a process. Without the cache, stripping and compiling the same modules again
        // took most of the time of a short process.
        NODE_COMPILE_CACHE: join(ROOT, 'node_modules', '.cache', 'compile'),
        NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --require=${join(TEST_DIR, 'helpers', 'note-cpu.cjs')}`,
        TALLYSTICK_TEST_CPU: noteFile,
      },
    },
  )
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => tests.kill(signal))
  void postgres.exited.then(() => {
    if (tests.exitCode === null && tests.signalCode === null)
      console.error('the Postgres of the tests has stopped')
  })
  return new Promise<number>((done) => {
    tests.on('error', () => done(1))
    tests.on('exit', (exitCode) => done(exitCode ?? 1))
  })
}

/**
 * Reports the cost of the run. The run fails if a file has no line in test/costs.json. A file that costs more than its
 * line is only reported, because the same test takes three times the CPU on a core with a busy neighbour. In CI nothing
 * is printed, because CI reads the last lines of the tests.
 */
function report(): number {
  const total = costs.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
  const inCi = process.env['CI'] !== undefined
  if (!inCi) {
    const wallMs = performance.now() - startedAt
    console.error(
      `\nCPU ${seconds(total)} s, and Postgres' ${seconds(postgresMs)} s, in ${seconds(wallMs)} s. The largest shares:`,
    )
    for (const { name, cpuMs, wallMs } of costs.slice(0, SHOWN_MAX))
      console.error(`${seconds(cpuMs).padStart(8)} s of CPU in ${seconds(wallMs).padStart(6)} s  ${name}`)
  }
  if (isMeasured)
    writeTable(Object.fromEntries(costs.map(({ name, cpuMs }) => [name, Number(seconds(cpuMs))])))
  if (isMeasured || named.length > 0) return 0
  const filesOf = new Map(groups.map(({ name, files }) => [name, files.map(fromTest)]))
  const table = readTable()
  const missing = unknownFiles(costs, (group) => filesOf.get(group)!, table)
  for (const fault of missing) console.error(`✖ ${fault}`)
  if (!inCi) {
    for (const told of overruns(costs, (group) => filesOf.get(group)!, table)) console.error(`⚠ ${told}`)
    for (const told of fileOverruns(fileCosts, table)) console.error(`⚠ ${told}`)
  }
  return missing.length > 0 ? 1 : 0
}

/**
 * Returns the name of the group that is only this test file, or null. `script` is an absolute path, because Node gives
 * the process of a test file such a path.
 */
function scriptOf(script: string): string | null {
  return script.endsWith('.test.ts') ? (scripts.get(relative(ROOT, script))?.name ?? null) : null
}

function readTable(): CostTable {
  return JSON.parse(readFileSync(COSTS_FILE, 'utf8'))
}

function writeTable(costs: CostTable): void {
  const known = named.length > 0 ? readTable() : {}
  const sorted = Object.entries({ ...known, ...costs }).sort(([a], [b]) => (a < b ? -1 : 1))
  writeFileSync(COSTS_FILE, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
}

/** Returns the CPU time of a process and of its finished children, from Linux; 0 on other systems. */
function cpuMsOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    const TICK_MS = 10
    return [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]) * TICK_MS, 0)
  } catch {
    return 0
  }
}
