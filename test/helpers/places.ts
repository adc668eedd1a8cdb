import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/*
 * Counts the files that list a family of facts by hand, such as the members of a record: those that a further one would have to be
 * added to. A file lists the family if it names most of it; it need not change if it takes the rest from the family's table.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const PRODUCT = /^(src|worker|sdk|cli|console|adapters|python\/src|migrations)\/.*\.(ts|tsx|py|sql)$/
/** Made by `npm run docs`, `npm run python -- generate` and the dump of the schema. */
const GENERATED =
  /\/generated\/|\/_sync\/|\/types\/_(models|params)\.py$|\/_core\/members\.py$|^migrations\/schema\.sql$/

export type Family = {
  /** A pattern for each fact, in all of its spellings. */
  readonly names: readonly RegExp[]
  /** How many of them make a list. */
  readonly atLeast: number
  /** By which a file takes all further ones. */
  readonly table: RegExp
  /** Files that are written by hand for good, and why. */
  readonly promises: Readonly<Record<string, string>>
}

/** Sorted paths of files that list the family by hand, without the promises. */
export function listPlaces({ names, atLeast, table, promises }: Family): string[] {
  return productFiles().filter((file) => {
    if (Object.hasOwn(promises, file)) return false
    const code = withoutComments(file)
    return !table.test(code) && names.filter((name) => name.test(code)).length >= atLeast
  })
}

let files: readonly string[] | undefined

function productFiles(): readonly string[] {
  files ??= execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((file) => PRODUCT.test(file) && !GENERATED.test(file))
    .sort()
  return files
}

function withoutComments(file: string): string {
  const text = readFileSync(join(ROOT, file), 'utf8')
  if (file.endsWith('.py')) return text.replaceAll(/"""[\s\S]*?"""|#.*/g, '')
  if (file.endsWith('.sql')) return text.replaceAll(/--.*/g, '')
  return text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*/gm, '')
}
