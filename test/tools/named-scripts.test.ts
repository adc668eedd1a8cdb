import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { SCRIPTS } from '../../bench/k6/scenarios.ts'
import { BENCHMARKS } from '../../tools/bench.ts'
import { checkNames } from '../../tools/check-docs.ts'
import { DRILLS } from '../../tools/drill.ts'
import { type NamedScript, type NamedScripts, optionOf, runNamed } from '../../tools/named-scripts.ts'
import { runScript } from '../helpers/run-script.ts'

const ROOT = resolve(import.meta.dirname, '..', '..')
const TABLES = { drill: DRILLS, bench: BENCHMARKS }
/** Scripts whose options are parsed in another file. */
const PARSED_IN: Readonly<Record<string, string>> = {
  'bench/bench.ts': 'bench/options.ts',
  'bench/k6/run.ts': 'bench/k6/options.ts',
  'test/system/fuzz/run.ts': 'test/system/fuzz/differential/run.ts',
}
const all = Object.values(TABLES).flatMap((table) => Object.entries(table))

test('each name runs existing scripts, and its help lists every option that they parse', () => {
  const checked: string[] = []
  for (const [name, named] of all) {
    const parsed = new Set<string>()
    for (const [script] of named.scripts) {
      assert.ok(existsSync(join(ROOT, script!)), script)
      for (const option of parsedBy(PARSED_IN[script!] ?? script!)) parsed.add(option)
    }
    if (parsed.size === 0) continue
    assert.deepEqual(optionsOf(named), [...parsed].sort(), name)
    checked.push(name)
  }
  assert.ok(checked.length > 17, `${checked}`)
})

test('help names the soaks and k6 scripts of the code', () => {
  const table = /^const SOAKS[^{]*\{\n([\s\S]*?)^\}/m.exec(sourceOf('test/system/soak/soak.ts'))![1]!
  const soaks = [...table.matchAll(/^ {2}'?([a-z-]+)'?: /gm)].map(([, name]) => name!)
  assert.ok(soaks.length > 20)
  assert.deepEqual(namesIn(DRILLS['soak']!), soaks)
  assert.deepEqual(namesIn(BENCHMARKS['k6']!), [...SCRIPTS])
})

test('--help lists each option; without a name, or with an unknown one, all names are listed', async (t) => {
  for (const [script, table] of Object.entries(TABLES)) {
    for (const [args, code, fault] of [
      [[], 2, /name a script/],
      [['constructor'], 2, /there is no constructor/],
      [['--help'], 0, /^usage: npm run /],
    ] as const) {
      const { text, ...ended } = await run(t, table, `npm run ${script}`, args)
      assert.equal(ended.code, code)
      assert.match(text, fault)
      for (const name of Object.keys(table)) assert.match(text, new RegExp(`^  ${name}  +\\S`, 'm'))
    }
  }
  const soak = await runScript('tools/drill.ts', ['soak', '--help'])
  assert.deepEqual([soak.code, soak.stderr], [0, ''])
  for (const [word, meaning] of DRILLS['soak']!.words!)
    assert.ok(soak.stdout.includes(`  ${word.padEnd('--duration SECONDS'.length)}  ${meaning}\n`), word)
  const unknown = await run(t, BENCHMARKS, 'npm run bench', ['volume', '--recordss', '1'])
  assert.equal(unknown.code, 2)
  assert.match(unknown.text, /^npm run bench -- volume: there is no option --recordss\n\nusage: /)
})

/** Runs a named script in this process. Returns the printed text and the exit code. */
async function run(t: TestContext, table: NamedScripts, npmScript: string, args: readonly string[]) {
  const lines: string[] = []
  const mocks = (['log', 'error'] as const).map((name) =>
    t.mock.method(console, name, (line: string) => void lines.push(line)),
  )
  const { exitCode } = process
  process.exitCode = 0
  try {
    await runNamed(table, npmScript, args)
    return { text: lines.join('\n'), code: process.exitCode }
  } finally {
    process.exitCode = exitCode
    for (const { mock } of mocks) mock.restore()
  }
}

test('arguments reach the script, and its exit code is returned', async () => {
  const { code, stderr } = await runScript('tools/bench.ts', ['proofs', '1', '2'])
  assert.equal(code, 2)
  assert.match(stderr, /^npm run bench -- proofs \[SIZE…\], each at least 1000/)
})

test('every npm script, and every name behind one, that a file mentions exists', () => {
  const scripts = JSON.parse(sourceOf('package.json')).scripts
  assert.ok(Object.keys(scripts).length <= 16)
  const patterns = [
    '*.md',
    '.ci/run',
    '.github/**/*.{md,yml}',
    'Dockerfile',
    '{adapters,bench,cli,console,deploy,docs,examples,helm,k6,migrations,python,sdk,src,test,tools,worker}/**/*.{ts,tsx,mjs,js,py,md,sh,sql,yaml,json,service,txt,toml}',
  ]
  const exclude = ['**/node_modules/**', '**/dist/**', 'CHANGELOG.md', 'test/tools/*.test.ts']
  const files = globSync(patterns, { cwd: ROOT, exclude })
  assert.ok(files.length > 2_000)
  const faults = files.flatMap((file) => {
    const source = sourceOf(file)
    // Functions of `.ci/run` add the words `npm run`, so they are added here too.
    const text =
      file === '.ci/run' ? source.replaceAll(/^ *(?:step|deployment|run) (?=[a-z])/gm, 'npm run ') : source
    const unknown = [...text.matchAll(/\bnpm run ([a-z][\w-]*(?::\w+)?)/g)]
      .map(([, name]) => name!)
      .filter((name) => !Object.hasOwn(scripts, name))
    return [...unknown, ...checkNames(text)].map((fault) => `${file}: ${fault}`)
  })
  assert.deepEqual(faults, [])
})

function optionsOf({ words = [] }: NamedScript): string[] {
  return words.flatMap(([word]) => optionOf(word) ?? []).sort()
}

/** Returns the keys of the `options` of parseArgs. A key whose default is true is returned with `no-`. */
function parsedBy(file: string): string[] {
  const options = /options: \{([\s\S]*?)\},?\s*\n?\s*\}\)/.exec(sourceOf(file))?.[1] ?? ''
  return [...options.matchAll(/'?([a-z0-9-]+)'?: \{ type: '\w+'(, default: true)?/g)].map(
    ([, name, isTrue]) => `--${isTrue ? 'no-' : ''}${name}`,
  )
}

function namesIn({ words = [] }: NamedScript): string[] {
  const first = words.findIndex(([word]) => word.startsWith('NAME'))
  const end = words.findIndex(([word], i) => i > first && word !== '')
  const text = words.slice(first, end).map(([, names]) => names)
  return text.join(' ').replace('one or more of ', '').split(', ')
}

function sourceOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}
