import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { listMigrations } from '../../../src/db/schema/migrate.ts'
import { PROJECT_DIR } from '../deployment/product-process.ts'

/**
 * Returns true if the code in this folder can start on a newer schema. Such code reads from the schema which older
 * versions the schema serves.
 */
export function mayRestartOnNewer(root: string): boolean {
  return readFileSync(join(root, 'src', 'db', 'schema', 'migrate.ts'), 'utf8').includes('schema_serves')
}

/**
 * Returns the newest release in the history. If there is no release yet, it returns the current commit, so that at
 * least a rolling restart is tried. `isServed` is true if every later migration serves that release. If there is no
 * history, `commit` is null and `why` says the reason.
 */
export function findReleaseBefore():
  | { commit: string; isRelease: boolean; isServed: boolean }
  | { commit: null; why: string } {
  try {
    // Tags are sorted by version, with v1.0.0-rc.1 before v1.0.0.
    const byVersion = ['-c', 'versionsort.suffix=-', 'tag', '--sort=-version:refname']
    const release = git(...byVersion, '--list', 'v*', '--merged', 'HEAD').split('\n')[0]
    const commit = git('rev-parse', '--verify', `${release || 'HEAD'}^{commit}`).trim()
    const known = git('ls-tree', '--name-only', commit, 'migrations/').match(/\b\d{4}(?=-)/g) ?? []
    const newest = Math.max(...known.map(Number))
    const since = listMigrations().filter(({ version }) => version > newest)
    return {
      commit,
      isRelease: Boolean(release),
      isServed: since.every(({ servesFrom }) => servesFrom !== null && servesFrom <= newest),
    }
  } catch {
    return { commit: null, why: 'this folder has no history' }
  }
}

/** Unpacks a release's sources into a folder, with this version's dependencies. */
export function unpackRelease(commit: string, dir: string): string {
  mkdirSync(dir)
  const tar = execFileSync('git', ['archive', commit, 'src', 'worker', 'sdk', 'migrations', 'package.json'], {
    cwd: PROJECT_DIR,
    maxBuffer: 256 * 1024 * 1024,
  })
  execFileSync('tar', ['-x', '-C', dir], { input: tar })
  symlinkSync(join(PROJECT_DIR, 'node_modules'), join(dir, 'node_modules'))
  return dir
}

function git(...args: string[]): string {
  return execFileSync('git', args, {
    cwd: PROJECT_DIR,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}
