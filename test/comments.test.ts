import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '..')
const SOURCES =
  '{bench,cli,console,examples,helm,k6,migrations,sdk,src,test,tools,worker}/**/*.{ts,tsx,mjs,cjs,js,sql,yaml,tpl}'
const PYTHON = 'python/{src,tests,tools,examples}/**/*.py'
/** Made by tools, from texts of other files. */
const MADE =
  /^(sdk\/generated\/|python\/src\/tallystick\/(types|_sync)\/|migrations\/schema\.sql$|.*\/(node_modules|dist|results)\/)/
/** A sentence that begins so has lost its noun, or has a clause for a subject (CONTRIBUTING.md). */
const RIDDLE = /(?:^|[.!?]["')\]`*]*\s+)((?:Of|What(?:ever)?|Who(?:m|ever|se)?|That)\b.{0,60})/gi

test('no sentence of a comment begins with a word that leaves out its noun', () => {
  const faults = globSync([SOURCES, PYTHON], { cwd: ROOT })
    .filter((file) => !MADE.test(file) && !ABOUT_WORDS.has(file))
    .flatMap((file) =>
      riddlesOf(file, readFileSync(join(ROOT, file), 'utf8')).map((fault) => `${file}:${fault}`),
    )
  assert.deepEqual(faults, [])
})

test('no text takes a server, an operator or an agent for a man', () => {
  const faults = globSync([SOURCES, PYTHON, '{*.md,{docs,examples,helm,python,sdk,src}/**/*.md}'], {
    cwd: ROOT,
  })
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

test('the rule finds sentences in comments of every kind, and takes plain ones', () => {
  const found = (file: string, text: string) =>
    riddlesOf(file, text).map((fault) => Number.parseInt(fault, 10))
  assert.deepEqual(
    found('a.ts', '/** Of x. */\n// What y\n/*\n * Whose z\n */\n/** Offers of x, and what is not. */'),
    [1, 2, 4],
  )
  assert.deepEqual(found('a.ts', "f() // of x\nf() /* Plain. What y */\nf('http://that/who')"), [1, 2])
  assert.deepEqual(
    found('a.ts', '/**\n * Plain. Then\n * more (all). Whatever\n * x\n *\n * who y\n */\nf()\n// That'),
    [2, 6, 9],
  )
  assert.deepEqual(found('a.ts', '// Plain, and goes on\n// that way.\n// What follows'), [1])
  assert.deepEqual(
    found('a.sql', '-- That x\n-- Of a line that goes on\nselect 1; -- of y\n--\n-- Who'),
    [1, 3, 5],
  )
  assert.deepEqual(found('a.sql', '  a int, -- plain\n  b int  -- of y'), [2])
  assert.deepEqual(found('a.yaml', "# Whoever\nname: x # What\n# Plain? Whose\nname: 'x#what'"), [1, 2, 3])
  assert.deepEqual(
    found('a.py', '"""Of x."""\n"""Plain.\n\nWho y\n"""\nf()  # what\n# Plain\nf("""\nof z""")'),
    [1, 4, 6],
  )
})

function riddlesOf(file: string, text: string): string[] {
  return commentsOf(file, text).flatMap(({ line, text }) =>
    [...text.matchAll(RIDDLE)].map(([, sentence]) => `${line}: ${sentence}`),
  )
}

const BLOCKS = { begin: /(?:^|\s)\/\*\*?(?=\s|$)(.*)/, margin: /^\s*\*(?!\/)/, end: /\*\/.*/ }
const DOCSTRINGS = { begin: /^\s*"""(.*)/, margin: /^\s*/, end: /""".*/ }

/** Paragraphs of comments, and comments behind code, by their first lines. */
function commentsOf(file: string, text: string): { line: number; text: string }[] {
  const marker = file.endsWith('.sql')
    ? /(^|\s)--\s?(.*)/
    : /\.(yaml|tpl|py)$/.test(file)
      ? /(^|\s)#\s(.*)/
      : /(^|\s)\/\/\s?(.*)/
  const blocks = file.endsWith('.py') ? DOCSTRINGS : /\.(tsx?|mjs|cjs|js)$/.test(file) ? BLOCKS : null
  const comments: { line: number; text: string }[] = []
  let isOpen = false // the paragraph goes on in the next line
  let inBlock = false
  const add = (line: number, found: string, goesOn: boolean) => {
    if (isOpen && found !== '') comments.at(-1)!.text += ` ${found}`
    else if (found !== '') comments.push({ line, text: found })
    isOpen = goesOn && found !== ''
  }
  for (const [i, line] of text.split('\n').entries()) {
    const begun: RegExpExecArray | null | false = blocks !== null && !inBlock && blocks.begin.exec(line)
    if (blocks && (begun || inBlock)) {
      const body: string = begun ? begun[1]! : line.replace(blocks.margin, '')
      inBlock = !blocks.end.test(body)
      if (begun) isOpen = false
      add(i + 1, body.replace(blocks.end, '').trim(), inBlock)
      continue
    }
    const found = marker.exec(line)
    const isOwnLine = found !== null && line.slice(0, found.index).trim() === ''
    if (!isOwnLine) isOpen = false
    if (found) add(i + 1, found[2]!.trim(), isOwnLine)
  }
  return comments
}
