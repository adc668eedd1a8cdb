import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { COMMANDS, findCommand } from '../../../cli/commands.ts'
import { EXIT } from '../../../cli/exit-codes.ts'

const page = readFileSync(new URL('../../../docs/reference/cli.md', import.meta.url), 'utf8')
const runbooks = globSync('docs/runbooks/*.md', { cwd: new URL('../../..', import.meta.url) })
const pages = [
  'docs/reference/cli.md',
  'README.md',
  'docs/start/tour.md',
  'docs/guides/gated-records.md',
  'docs/operate/operations.md',
  ...runbooks,
].map((path) => [path, readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')] as const)

function tableUnder(heading: string): string[] {
  const section = page.slice(page.indexOf(heading))
  const table = /^\|.*\n\|---.*\n((?:\|.*\n)+)/m.exec(section)
  assert.ok(table, `no table under ${heading}`)
  return table[1]!.trimEnd().split('\n')
}

test('the page names every command, and no other', () => {
  const cells = tableUnder('# The command line tool').map(
    (row) => row.replaceAll('\\|', '/').split(' | ')[0]!,
  )
  const named = cells.flatMap((cell) =>
    [...cell.matchAll(/`([a-z][a-z -]*[a-z])/g)].map((match) => match[1]!),
  )
  assert.deepEqual(named.toSorted(), Object.keys(COMMANDS).toSorted())
})

test('the page names every exit code, and no other', () => {
  const codes = tableUnder('## Exit codes').map((row) => Number(row.split(' | ')[0]!.slice(2)))
  const all = [...new Set(Object.values(EXIT))].toSorted((one, other) => one - other)
  assert.deepEqual(codes, all)
})

test('every tallystick line in the documentation is an existing command with existing options', async () => {
  let lines = 0
  for (const [path, text] of pages) {
    for (const [, line] of text.matchAll(
      /^ *(?:npx tallystick|npm run tallystick --) (.*?)(?: [|>].*)?$/gm,
    )) {
      const words = line!.split(' ').filter((word) => word !== '\\')
      const found = findCommand(words)
      assert.ok(found, `${path}: ${line}`)
      const { options } = await found.entry.load()
      const shorts = Object.values(options).flatMap(({ short }) => (short === undefined ? [] : [`-${short}`]))
      const own = new Set([...Object.keys(options).map((name) => `--${name}`), ...shorts])
      const given = words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split('=')[0]!)
      assert.deepEqual(
        given.filter((option) => !own.has(option)),
        [],
        `${path}: ${line}`,
      )
      lines++
    }
  }
  assert.ok(lines >= 10, `only ${lines} lines`)
})
