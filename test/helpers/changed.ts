import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/*
 * npm test -- --changed: the tests that the changed files concern. A file concerns whoever imports it, starts it, or names its path
 * in a string, and whoever concerns those. Tests that list the files of a folder read more than they name: they are guards, and
 * always chosen.
 */

/** Branches that a change is compared with, the first that exists. */
const BASES = ['main', 'origin/main']

/** Files that differ from where this branch left the other, from the root: committed or not, new or gone. */
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

/** Tests, from the root, that the changed files concern, and the guards among them. */
export function concernedTests(root: string, tests: readonly string[], changed: readonly string[]): string[] {
  const names = namesOf(root)
  const isChanged = (path: string) =>
    changed.some((file) => file === path || (path.endsWith('/') && file.startsWith(path)))
  return tests.filter((test) => isGuard(root, test) || distanceTo(isChanged, test, names) !== null)
}

/** Tests that the file concerns, without the guards: the nearest by imports first. */
export function nearestTests(root: string, tests: readonly string[], file: string): string[] {
  const names = namesOf(root)
  return tests
    .filter((test) => !isGuard(root, test))
    .map((test) => ({ test, distance: distanceTo((path) => path === file, test, names) }))
    .filter(({ distance }) => distance !== null)
    .sort((a, b) => a.distance! - b.distance!)
    .map(({ test }) => test)
}

/** Imports from the test to a wanted file, the fewest; null: it imports none. */
function distanceTo(
  isWanted: (path: string) => boolean,
  test: string,
  names: (file: string) => readonly string[],
): number | null {
  const distances = new Map([[test, 0]])
  // A map that grows is walked to its end.
  for (const [path, distance] of distances) {
    if (isWanted(path)) return distance
    for (const named of names(path)) if (!distances.has(named)) distances.set(named, distance + 1)
  }
  return null
}

const CODE = /\.(ts|tsx|mjs|cjs)$/
/** A type is gone before anything runs. */
const TYPE_IMPORT = /^(?:import|export)\s+type\s[^'"]*?from\s+'[^']+'/gm
/** A path has an extension, or ends as a folder does. */
const PATH = /['"`](\.{0,2}[\w@./-]*(?:\.[a-z]{2,4}|\/))['"`]/g

/** Reads each file once: the files that it names, and its folders, which end in a slash. One that is gone is named nevertheless. */
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
    // All of the project, or a place outside of it, is no file that somebody names.
    const inside = found.filter((place) => place !== '' && !place.startsWith('..'))
    return path!.endsWith('/') ? inside.map((place) => `${place}/`) : inside
  })
}

/** Lists files, so that a new one could be a fault in it. */
const LISTS = /\bglobSync\(|readdirSync\([^;]{0,100}recursive: true/

function isGuard(root: string, test: string): boolean {
  return LISTS.test(readFileSync(join(root, test), 'utf8'))
}
