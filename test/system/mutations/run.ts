/*
 * npm run drill -- mutations [--only TEXT] [--from N] [--whole]
 *
 * Breaks one line after another in a copy of the project. Runs the tests that are nearest to the line's file by
 * imports. If these pass, all of `npm test` runs. Prints the test that noticed each mutation. Exits with 1 if a
 * mutation was not noticed.
 *
 * - --only: only mutations whose file or promise contains the text.
 * - --from: starts with mutation N of the list, for a run that was interrupted.
 * - --whole: runs all of `npm test` at once.
 *
 * The tests must pass without a mutation, because every failure counts as noticed.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { nearestTests } from '../../helpers/changed.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { MUTATIONS, type Mutation } from './mutations.ts'

const ROOT = resolve(import.meta.dirname, '..', '..', '..')
const NEAREST_MAX = 24
const RUN_MS_MAX = 20 * 60_000

const { values } = parseArgs({
  options: { only: { type: 'string' }, from: { type: 'string', default: '1' }, whole: { type: 'boolean' } },
})
const chosen = MUTATIONS.slice(Number(values.from) - 1).filter(({ file, breaks }) =>
  `${file} ${breaks}`.includes(values.only ?? ''),
)
const copy = copyProject()
let survived = 0
for (const [i, mutation] of chosen.entries()) {
  const startedAt = performance.now()
  const noticedBy = await tryMutation(mutation)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
  if (noticedBy === null) survived++
  console.log(`${i + 1}/${chosen.length} ${mutation.file}: ${mutation.breaks} · ${seconds} s`)
  console.log(`    ${noticedBy ?? 'SURVIVED'}`)
}
console.log(`${chosen.length - survived} of ${chosen.length} mutations were noticed`)
process.exitCode = survived > 0 ? 1 : 0

function copyProject(): string {
  const dir = join(temporaryDir(), 'project')
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  for (const file of files.trim().split('\n')) {
    mkdirSync(dirname(join(dir, file)), { recursive: true })
    cpSync(join(ROOT, file), join(dir, file))
  }
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  // Some tests search the files that git knows.
  execFileSync('git', ['init', '--quiet'], { cwd: dir })
  execFileSync('git', ['add', '--all'], { cwd: dir })
  return dir
}

async function tryMutation({ file, from, to }: Mutation): Promise<string | null> {
  const path = join(copy, file)
  const text = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    text.replace(from, () => to),
  )
  try {
    const nearest = values.whole ? [] : nearTo(file)
    const noticed = nearest.length > 0 ? await firstFailure(nearest) : null
    return noticed ?? (await firstFailure([]))
  } finally {
    writeFileSync(path, text)
  }
}

/**
 * Returns the tests that are nearest to a file. No file imports SQL, so the tests of the database are nearest to it.
 */
function nearTo(file: string): string[] {
  if (file.endsWith('.sql')) return ['test/db']
  const tests = nearestTests(
    ROOT,
    globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['test/system/**'] }),
    file,
  )
  const isOfRoom = (test: string) => test.startsWith(`test/${file.split('/')[1]}/`)
  return [...tests.filter(isOfRoom), ...tests.filter((test) => !isOfRoom(test))].slice(0, NEAREST_MAX)
}

/**
 * Runs the files, or all of `npm test`, until the first failure. Returns the failed test, or null if all tests passed.
 */
async function firstFailure(files: readonly string[]): Promise<string | null> {
  const run = spawn(process.execPath, ['test/run.ts', ...files], {
    cwd: copy,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, CI: 'true' },
  })
  const timer = setTimeout(() => run.kill('SIGTERM'), RUN_MS_MAX)
  let failure: string | null = null
  const closed = once(run, 'close')
  run.stderr.resume()
  for await (const line of createInterface({ input: run.stdout })) {
    if (!/^\s*✖ /.test(line) || failure !== null) continue
    failure = line.trim()
    end(run)
  }
  const [code] = await closed
  clearTimeout(timer)
  return failure ?? (code === 0 ? null : `the run ended with ${code}`)
}

function end(run: ChildProcess): void {
  run.kill('SIGTERM')
}
