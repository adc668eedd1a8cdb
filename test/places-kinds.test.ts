import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { ENTRY_KINDS } from '../src/proof/statement/kinds.ts'

/*
 * Limits the number of handwritten files that list kinds of entries, because a new kind must be added to each of these
 * files. Files that must stay handwritten do not count.
 */

const ROOT = resolve(import.meta.dirname, '..')
const KINDS = Object.keys(ENTRY_KINDS)
/**
 * A file that names at least this number of kinds counts as a list of all kinds. A file that names fewer, but at least
 * FAMILY, lists a part: the kinds that have rows, or the kinds of one family.
 */
const LIST = KINDS.length / 2
const FAMILY = 10
const MOST = 3

const MADE =
  /^(sdk\/generated|python\/src\/tallystick\/(_sync|types|raw)|migrations\/(schema|0001-rules-and-keys)\.sql|.*\.json$)/
const PROMISE = 'python/src/tallystick/verify/'

test(`each kind of entry is listed in at most ${MOST} tables`, (t) => {
  const folders = ['src', 'worker', 'migrations', 'cli', 'sdk', 'console', 'python/src']
  const files = execFileSync('git', ['ls-files', '--', ...folders], { cwd: ROOT, encoding: 'utf8' }).split(
    '\n',
  )
  const tables = files.filter((file) => file !== '' && !MADE.test(file) && !file.startsWith(PROMISE))
  const outside = tables.filter((file) => !file.startsWith('src/proof/statement/kinds/'))
  // The files in `kinds/` count as one place, because each kind has its row in one of them.
  const places = ['src/proof/statement/kinds/*.ts', ...outside.filter((file) => kindsIn(file) >= LIST)]
  const families = outside.filter((file) => kindsIn(file) >= FAMILY && !places.includes(file))
  t.diagnostic(`a kind of entry: ${places.length} places\n${places.join('\n')}`)
  t.diagnostic(`with rows or steps of its own, some of ${families.length} more\n${families.join('\n')}`)
  assert.ok(places.length <= MOST, places.join('\n'))
})

function kindsIn(file: string): number {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return KINDS.filter((kind) => text.includes(`'${kind}'`)).length
}
