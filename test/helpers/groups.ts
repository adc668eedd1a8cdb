import { relative } from 'node:path'
import { pathToFileURL } from 'node:url'

/*
 * Groups test files into shared processes. Four things cost more than the tests of most files: starting a process,
 * loading the server (0.6 s of CPU), building the first application (0.8 s), and warming up. Node's own
 * `--test-isolation=none` would put all files into one process.
 */

/**
 * Files that run in a process of their own. They measure the process's memory or time, change its environment, have
 * hooks for all its tests, or start Postgres servers.
 */
export const ALONE: ReadonlySet<string> = new Set([
  'cli/credentials.test.ts',
  'cli/init.test.ts',
  'http/access.test.ts',
  'outside/connector/answers.test.ts',
  'run/postgres/start.test.ts',
  'run/smoke.test.ts',
  'sdk/small-pieces.test.ts',
  'tools/go-tool.test.ts',
])
/**
 * Folder whose files each run alone. They have their own clusters and child processes, which take much longer than the
 * start of a process.
 */
const SYSTEM = 'system'
/**
 * Maximum cost of a group: the sum of its files in test/costs.json, in seconds of CPU. Together in one process, the
 * files take about half of this. A larger group would delay the end of the run.
 */
const PART_SECONDS_MAX = 60

export type Group = { readonly name: string; readonly files: readonly string[] }
type Costly = { readonly file: string; readonly cost: number }

/**
 * Returns the groups of all files, the costliest group first. A long group that starts last would delay the end of the
 * run.
 */
export function groupFiles(
  testDir: string,
  files: readonly string[],
  costOf: (path: string) => number = () => 0,
): Group[] {
  const pathOf = (file: string) => relative(testDir, file)
  const alone: Group[] = []
  const shared = new Map<string, Costly[]>()
  for (const file of files) {
    const path = pathOf(file)
    const [room] = path.split('/')
    if (room === SYSTEM || ALONE.has(path)) alone.push({ name: nameOf(path), files: [file] })
    else {
      const name = path === room ? 'root' : room!
      shared.set(name, [...(shared.get(name) ?? []), { file, cost: costOf(path) }])
    }
  }
  const cost = ({ files }: Group) => files.reduce((sum, file) => sum + costOf(pathOf(file)), 0)
  return [...alone, ...[...shared].flatMap(([name, members]) => split(name, members))]
    .map((group) => ({ group, cost: cost(group) }))
    .sort((a, b) => b.cost - a.cost)
    .map(({ group }) => group)
}

function nameOf(path: string): string {
  return path.replaceAll('/', '-')
}

const LOAD_FILE = new URL('./load-file.ts', import.meta.url)

/** Returns the source of a file that imports each file of the group (load-file.ts). */
export function renderGroup({ files }: Group): string {
  const imports = files.map((file) => `await loadFile(${JSON.stringify(pathToFileURL(file).href)})`)
  return [
    "import { test } from 'node:test'",
    `import { beginTests, loadFile } from ${JSON.stringify(LOAD_FILE.href)}`,
    // The other tests wait for this test, which ends when all files are loaded. Otherwise the tests of the first file
    // could end while the second file is loading, and the process would run its final hooks.
    'const all = Promise.withResolvers()',
    "test('the files of the group are loaded', () => all.promise.then(beginTests))",
    ...imports,
    'all.resolve()',
    '',
  ].join('\n')
}

/**
 * Splits a folder into groups of about equal cost. Each file, costliest first, is added to the group with the lowest
 * cost so far.
 */
function split(name: string, members: readonly Costly[]): Group[] {
  const total = members.reduce((sum, { cost }) => sum + cost, 0)
  const parts = Array.from({ length: Math.max(1, Math.ceil(total / PART_SECONDS_MAX)) }, () => ({
    cost: 0,
    files: [] as string[],
  }))
  for (const { file, cost } of members.toSorted((a, b) => b.cost - a.cost)) {
    const least = parts.reduce((a, b) => (b.cost < a.cost ? b : a))
    least.files.push(file)
    least.cost += cost
  }
  return parts.map(({ files }, i) => ({ name: `${name}-${i + 1}`, files: files.sort() }))
}
