import { dirname, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

/*
 * Test files that share a process. Starting one, loading the application and warming it up takes 0.3 to 1.2 s of a core, more
 * than the tests of most files; Node's own `--test-isolation=none` would put all of them into one.
 */

/** Folders whose files keep nothing of the process that another would miss. A file that starts processes gains nothing. */
const SHARED = [
  'append',
  'bench',
  'cli',
  'db',
  'followers/checkpoints',
  'followers/erasure',
  'followers/expiry',
  'followers/verification',
  'http',
  'ledgers',
  'outside',
  'proof',
  'sdk',
  'signing',
  'verify',
]
/** Files that measure the process's memory or time, or change its environment. */
const ALONE = new Set([
  'cli/credentials.test.ts',
  'cli/init.test.ts',
  'db/plans.test.ts',
  'db/records/search-plans.test.ts',
  'http/access.test.ts',
  'http/streaming.test.ts',
  'outside/connector/answers.test.ts',
  'outside/connector/memory.test.ts',
  'sdk/small-pieces.test.ts',
])
/** Each application that a file keeps until its end is 8 MB of work for the garbage collector. */
const FILES_PER_PROCESS_MAX = 10

export type Group = { readonly name: string; readonly files: readonly string[] }

/** Groups of all files, the costliest first: a long one that begins last is what everybody waits for. */
export function groupFiles(
  testDir: string,
  files: readonly string[],
  costOf: (path: string) => number = () => 0,
): Group[] {
  const alone: Group[] = []
  const shared = new Map<string, string[]>()
  for (const file of files) {
    const path = relative(testDir, file)
    const folder = dirname(path)
    const isShared = SHARED.some((part) => folder === part || folder.startsWith(`${part}/`))
    const name = nameOf(isShared && !ALONE.has(path) ? folder : path)
    if (!isShared || ALONE.has(path)) alone.push({ name, files: [file] })
    else shared.set(name, [...(shared.get(name) ?? []), file])
  }
  const cost = ({ files }: Group) => files.reduce((sum, file) => sum + costOf(relative(testDir, file)), 0)
  return [...alone, ...[...shared].flatMap(([name, members]) => split(name, members))]
    .map((group) => ({ group, cost: cost(group) }))
    .sort((a, b) => b.cost - a.cost)
    .map(({ group }) => group)
}

function nameOf(path: string): string {
  return path.replaceAll('/', '-')
}

/** Text of a file that imports each. One that cannot be loaded is a test that fails, and the others go on. */
export function renderGroup({ files }: Group): string {
  const imports = files.map((file) => `await load(${JSON.stringify(pathToFileURL(file).href)})`)
  return [
    "import { test } from 'node:test'",
    // The first test, which the others wait for: otherwise the tests of the first file could be done while the second is loaded,
    // and the process would begin what it does after its tests.
    'const all = Promise.withResolvers()',
    "test('the files of the group are loaded', () => all.promise)",
    'const load = (file) => import(file).catch((error) => void test(file, () => { throw error }))',
    ...imports,
    'all.resolve()',
    '',
  ].join('\n')
}

/** Parts of a folder, each with every n-th file, because long files have neighbouring names. */
function split(name: string, files: readonly string[]): Group[] {
  const count = Math.ceil(files.length / FILES_PER_PROCESS_MAX)
  return Array.from({ length: count }, (_, i) => ({
    name: `${name}-${i + 1}`,
    files: files.filter((_, n) => n % count === i),
  }))
}
