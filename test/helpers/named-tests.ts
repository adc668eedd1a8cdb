import { globSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'

/**
 * Returns the test files of the given files and folders, which are relative to the current folder. Throws an Error
 * that names each path without tests.
 */
export function namedTests(paths: readonly string[], testDir: string): string[] {
  const missing = paths.filter((path) => testsOf(path).length === 0)
  if (missing.length === 0) return paths.flatMap(testsOf)
  throw new Error(
    missing.map((path) => `there are no tests at ${path}${elsewhere(path, testDir)}`).join('\n'),
  )
}

/** Returns the file itself, or the tests of the folder. Returns an empty list if the path does not exist. */
export function testsOf(path: string): string[] {
  const file = resolve(path)
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) return []
  return found.isDirectory() ? globSync(join(file, '**/*.test.ts')).sort() : [file]
}

function elsewhere(path: string, testDir: string): string {
  const name = basename(path).replace(/(\.test)?\.ts$/, '')
  const found = name === '' ? [] : globSync(`**/*${name}*.test.ts`, { cwd: testDir }).sort()
  return found.length === 0 ? '' : `, but there are: ${found.map((file) => join('test', file)).join(', ')}`
}
