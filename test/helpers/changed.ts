import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/*
 * npm test -- --changed: selects the tests that the changed files affect. A file affects all files that import it,
 * start it or name its path in a string. It also affects all files that these files affect. Tests that list the files
 * of a folder read more files than they name. Such tests are called guards and are always selected.
 */

/** Branches to compare with. The first branch that exists is used. */
const BASES = ['main', 'origin/main']

/**
 * Returns the paths, relative to the root, of files that differ from the merge base. The files may be committed or not,
 * new or deleted.
 */
export function changedFiles(root: string, base?: string): string[] {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  const exists = (ref: string) => {
    try {
      git('rev-parse', '--verify', '--quiet', `${ref}^{commit}`)
      return true
    } catch {
      return false
    }
  }
  const other = base ?? BASES.find(exists)
  const from = other === undefined ? 'HEAD' : git('merge-base', 'HEAD', other).trim()
  const listed = [
    git('diff', '--name-only', '--no-renames', '-z', from),
    git('ls-files', '--others', '--exclude-standard', '-z'),
  ].flatMap((text) => text.split('\0').filter((file) => file !== ''))
  return [...new Set(listed)].sort()
}

/** Returns the tests that the changed files affect, and all guards. Paths are relative to the root. */
export function concernedTests(root: string, tests: readonly string[], changed: readonly string[]): string[] {
  const names = namesOf(root)
  const isChanged = (path: string) =>
    changed.some((file) => file === path || (path.endsWith('/') && file.startsWith(path)))
  return tests.filter((test) => isGuard(root, test) || distanceTo(isChanged, test, names) !== null)
}

/** Returns the tests that the file affects, nearest by imports first, without guards. */
export function nearestTests(root: string, tests: readonly string[], file: string): string[] {
  const names = namesOf(root)
  return tests
    .filter((test) => !isGuard(root, test))
    .map((test) => ({ test, distance: distanceTo((path) => path === file, test, names) }))
    .filter(({ distance }) => distance !== null)
    .sort((a, b) => a.distance! - b.distance!)
    .map(({ test }) => test)
}

/** Returns the smallest number of imports from the test to a wanted file. Returns null if there is no path. */
function distanceTo(
  isWanted: (path: string) => boolean,
  test: string,
  names: (file: string) => readonly string[],
): number | null {
  const distances = new Map([[test, 0]])
  // This is a breadth-first search, because the iteration includes entries that are added meanwhile.
  for (const [path, distance] of distances) {
    if (isWanted(path)) return distance
    for (const named of names(path)) if (!distances.has(named)) distances.set(named, distance + 1)
  }
  return null
}

const CODE = /\.(ts|tsx|mjs|cjs)$/
const TYPE_IMPORT = /^(?:import|export)\s+type\s[^'"]*?from\s+'[^']+'/gm
/** Matches a path in a string. A path ends with an extension or, if it is a folder, with a slash. */
const PATH = /['"`](\.{0,2}[\w@./-]*(?:\.[a-z]{2,4}|\/))['"`]/g

/**
 * Returns a function that reads each file once and returns the paths that it names. Folders end with a slash. A path
 * whose file was deleted is included.
 */
function namesOf(root: string): (file: string) => readonly string[] {
  const read = new Map<string, readonly string[]>()
  return (file) => {
    let named = read.get(file)
    if (named === undefined) {
      named = CODE.test(file) && existsSync(join(root, file)) ? namedIn(root, file) : []
      read.set(file, named)
    }
    return named
  }
}

function namedIn(root: string, file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8').replace(TYPE_IMPORT, '')
  return [...text.matchAll(PATH)].flatMap(([, path]) => {
    const places = path!.startsWith('.') ? [dirname(file), ''] : ['', dirname(file)]
    const found = places.map((place) => relative(root, resolve(root, place, path!)))
    const inside = found.filter((place) => place !== '' && !place.startsWith('..'))
    return path!.endsWith('/') ? inside.map((place) => `${place}/`) : inside
  })
}

/** Matches code that lists files. Any new file can affect such code. */
const LISTS = /\bglobSync\(|readdirSync\([^;]{0,100}recursive: true/

function isGuard(root: string, test: string): boolean {
  return LISTS.test(readFileSync(join(root, test), 'utf8'))
}
