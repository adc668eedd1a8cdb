import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/*
 * Finds the files that list a family of facts by hand, for example the members of a record. Each of these files would
 * have to change for a new fact. A file lists the family if it names most of the family's facts. A file does not have
 * to change if it takes the remaining facts from the family's table.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const PRODUCT = /^(src|worker|sdk|cli|console|adapters|python\/src|migrations)\/.*\.(ts|tsx|py|sql)$/
/** Matches generated files: made by `npm run docs`, by `npm run python -- generate`, or as the dump of the schema. */
const GENERATED =
  /\/generated\/|\/_sync\/|\/types\/_(models|params)\.py$|\/_core\/members\.py$|^migrations\/schema\.sql$/

export type Family = {
  /** One pattern for each fact. The pattern matches all spellings of the fact. */
  readonly names: readonly RegExp[]
  /** A file that names at least this many facts counts as a list. */
  readonly atLeast: number
  /** Matches files that use the table. These files take new facts from the table. */
  readonly table: RegExp
  /** Maps each file that stays handwritten to the reason. */
  readonly promises: Readonly<Record<string, string>>
}

/** Returns sorted paths of files that list the family by hand, except those in `promises`. */
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
