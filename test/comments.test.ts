import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '..')
const SOURCES =
  '{bench,cli,examples,helm,k6,migrations,sdk,src,test,tools,worker}/**/*.{ts,mjs,cjs,js,sql,yaml,tpl}'
/** Made by tools, from texts of other files. */
const MADE = /^(sdk\/generated\/|migrations\/schema\.sql$|.*\/(node_modules|dist|results)\/)/
/** A comment that begins so has lost its noun, or has a clause for a subject (CONTRIBUTING.md). */
const RIDDLE = /^(Of|What|Who|Whom|Whoever|Whose|That)\b/

test('no comment begins with a word that leaves out its noun', () => {
  const faults = globSync(SOURCES, { cwd: ROOT })
    .filter((file) => !MADE.test(file))
    .flatMap((file) =>
      commentsOf(file, readFileSync(join(ROOT, file), 'utf8'))
        .filter(({ text }) => RIDDLE.test(text))
        .map(({ line, text }) => `${file}:${line}: ${text}`),
    )
  assert.deepEqual(faults, [])
})

test('no text takes a server, an operator or an agent for a man', () => {
  const faults = globSync(`{${SOURCES},*.md,{docs,examples,helm,sdk,src}/**/*.md}`, { cwd: ROOT })
    .filter((file) => !MADE.test(file) && !file.includes('node_modules/') && !ABOUT_WORDS.has(file))
    .flatMap((file) =>
      readFileSync(join(ROOT, file), 'utf8')
        .split('\n')
        .flatMap((line, i) => (/\b([Hh]e|[Hh]is|[Hh]im)\b/.test(line) ? [`${file}:${i + 1}: ${line}`] : [])),
    )
  assert.deepEqual(faults, [])
})

/** They name the words. */
const ABOUT_WORDS = new Set(['CONTRIBUTING.md', 'test/comments.test.ts'])

test('the rule finds comments of every kind, and takes plain ones', () => {
  const found = (file: string, text: string) =>
    commentsOf(file, text)
      .filter((comment) => RIDDLE.test(comment.text))
      .map(({ line }) => line)
  assert.deepEqual(
    found('a.ts', '/** Of x. */\n// What y\n/*\n * Whose z\n */\n/** Offers of x. */'),
    [1, 2, 4],
  )
  assert.deepEqual(found('a.sql', '-- That x\n-- Of a line that goes on\nselect 1; -- of y\n--\n-- Who'), [1])
  assert.deepEqual(found('a.yaml', '# Whoever\nname: x # What\n# Plain'), [1])
})

/** Comments that have lines of their own, by their first line. */
function commentsOf(file: string, text: string): { line: number; text: string }[] {
  const marker = file.endsWith('.sql') ? /^\s*--\s?/ : /\.(yaml|tpl)$/.test(file) ? /^\s*#\s?/ : /^\s*\/\/\s?/
  const lines = text.split('\n')
  return lines.flatMap((line, i) => {
    const isFirst = marker.test(line) && !marker.test(lines[i - 1] ?? '')
    if (isFirst) return [{ line: i + 1, text: line.replace(marker, '') }]
    if (!/\.(ts|mjs|cjs|js)$/.test(file)) return []
    const block = /^\s*\/\*\*?\s?(\S.*)/.exec(line)
    if (block) return [{ line: i + 1, text: block[1]! }]
    const opened = /^\s*\/\*\*?\s*$/.test(lines[i - 1] ?? '') && /^\s*\*\s?(\S.*)/.exec(line)
    return opened ? [{ line: i + 1, text: opened[1]! }] : []
  })
}
