import { dirname, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

/*
 * Which test files share a process. To start one, load the application and warm it up takes 0.3 to 1.2 s of a core, more than
 * most files take for their tests; Node's own `--test-isolation=none` would put all of them into one.
 */

/** Their files hold nothing of the process that another would miss. What starts processes, or a Postgres, gains nothing. */
const SHARED = new Set([
  'append',
  'append/threads',
  'cli',
  'db',
  'followers',
  'http',
  'ledgers',
  'outside/connector',
  'outside/events',
  'proof',
  'sdk',
  'signing',
  'verify',
])
/** They measure the process's memory or time, or change its environment. */
const ALONE = new Set([
  'cli/credentials.test.ts',
  'cli/init.test.ts',
  'db/plans.test.ts',
  'db/search-plans.test.ts',
  'http/access.test.ts',
  'http/streaming.test.ts',
  'outbound/answers.test.ts',
  'outbound/memory.test.ts',
  'sdk/small-pieces.test.ts',
])
/** What they keep until the end, about 8 MB an application, makes the garbage collector's work. */
const FILES_PER_PROCESS_MAX = 10
/** Their processes take every core there is: two of them at once make the servers of both too slow to start in time. */
const HEAVY = ['start']
/** One of so many that run side by side (CONCURRENCY, ../run.ts). */
const HEAVY_EVERY = 3
/** Folders whose files take 10 s and more: a long one that begins last is what everybody waits for. */
const LONG = ['rotation', 'postgres', 'docs', 'package', 'webhooks', 'http', 'examples', 'restore']

export type Group = { readonly name: string; readonly files: readonly string[] }

/** All of the files, in the order in which they should begin. */
export function groupFiles(testDir: string, files: readonly string[]): Group[] {
  const alone: Group[] = []
  const shared = new Map<string, string[]>()
  for (const file of files) {
    const path = relative(testDir, file)
    const folder = dirname(path)
    if (!SHARED.has(folder) || ALONE.has(path)) alone.push({ name: path.replaceAll('/', '-'), files: [file] })
    else shared.set(folder, [...(shared.get(folder) ?? []), file])
  }
  const groups = [...shared]
    .sort(([, a], [, b]) => b.length - a.length)
    .flatMap(([folder, members]) => split(folder, members))
  const of = (folders: readonly string[]) =>
    folders.flatMap((folder) => alone.filter(({ name }) => name.startsWith(`${folder}-`)))
  const [heavy, long] = [of(HEAVY), of(LONG)]
  const others = alone.filter((group) => !heavy.includes(group) && !long.includes(group))
  return spread(heavy, [...long, ...groups, ...others])
}

/** The heavy ones in every so-manieth place, from the first on. */
function spread(heavy: readonly Group[], others: readonly Group[]): Group[] {
  const size = HEAVY_EVERY - 1
  const parts = Array.from({ length: Math.max(heavy.length, Math.ceil(others.length / size)) }, (_, i) => [
    ...heavy.slice(i, i + 1),
    ...others.slice(i * size, (i + 1) * size),
  ])
  return parts.flat()
}

/** A file that imports each, one after another. One that cannot be loaded is a test that fails, and the others go on. */
export function renderGroup({ files }: Group): string {
  const imports = files.map((file) => `await load(${JSON.stringify(pathToFileURL(file).href)})`)
  return [
    "import { test } from 'node:test'",
    // The first to run, and the others wait for it: else those of the first file could be all that there are, and be done, while
    // the second is loaded, and what a process does after its tests would come before them.
    'const all = Promise.withResolvers()',
    "test('the files of the group are loaded', () => all.promise)",
    'const load = (file) => import(file).catch((error) => void test(file, () => { throw error }))',
    ...imports,
    'all.resolve()',
    '',
  ].join('\n')
}

/** Every so-manieth, so that the long ones, which have neighbouring names, do not come together. */
function split(folder: string, files: readonly string[]): Group[] {
  const count = Math.ceil(files.length / FILES_PER_PROCESS_MAX)
  return Array.from({ length: count }, (_, i) => ({
    name: `${folder}-${i + 1}`,
    files: files.filter((_, n) => n % count === i),
  }))
}
