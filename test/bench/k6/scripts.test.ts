import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { readPublished } from '../../../bench/k6/report.ts'
import { SCRIPTS } from '../../../bench/k6/scenarios.ts'

const ROOT = resolve(import.meta.dirname, '..', '..', '..')
const K6 = join(ROOT, 'k6')
const read = (path: string) => readFileSync(path, 'utf8')

test('every script that the runner names exists, and there is no other', () => {
  assert.deepEqual(globSync('*.js', { cwd: K6 }).sort(), SCRIPTS.map((script) => `${script}.js`).sort())
})

for (const script of SCRIPTS) {
  test(`${script} makes its own ledger and exports all that k6 and the runner need`, () => {
    const text = read(join(K6, `${script}.js`))
    for (const name of ['options', 'setup', 'handleSummary'])
      assert.match(text, new RegExp(`^export (async )?(const|function) ${name}\\b`, 'm'), name)
    const named = [...text.matchAll(/\bexec: '(\w+)'/g)].map(([, name]) => name)
    for (const name of named)
      assert.match(text, new RegExp(`^export (async )?function ${name}\\b`, 'm'), name)
    if (named.length === 0) assert.match(text, /^export default /m)
    assert.match(text, new RegExp(`makeSummary\\(\\s*'${script}'`))
  })

  test(`the published figures of ${script} occur in its text`, () => {
    const { elsewhere, figures, what } = readPublished(script)
    assert.ok(what.length > 0)
    for (const { id, published, unit } of figures)
      if (published !== undefined)
        assert.ok(isSaid(published, unit, elsewhere), `${id}: ${published} ${unit} is not in: ${elsewhere}`)
  })

  test(`docs/BENCHMARKS.md has a row on ${script}`, () => {
    assert.match(read(join(ROOT, 'docs/BENCHMARKS.md')), new RegExp(`^\\| \`${script}\` \\|`, 'm'))
  })
}

test('no script imports anything but k6 itself and files of this folder', () => {
  for (const file of globSync('**/*.js', { cwd: K6 })) {
    const from = join(K6, file)
    for (const [, name] of read(from).matchAll(/\b(?:from|import|require)\s*\(?\s*'([^']+)'/g)) {
      if (/^k6(\/|$)/.test(name!)) continue
      assert.match(name!, /^\.\.?\//, `${file} imports ${name}`)
      assert.ok(existsSync(resolve(dirname(from), name!)), `${file} imports ${name}, which is not there`)
    }
  }
})

/** Returns whether the text contains the value: 33091 as 33,091; 1050 ms also as 1.05 s, 12000 ms also as 12.0 s. */
function isSaid(value: number, unit: string, text: string): boolean {
  const forms = [value.toLocaleString('en-US')]
  if (unit === 'ms') forms.push(String(value / 1000))
  return forms.some((form) =>
    new RegExp(`(?<![\\d.,])${form.replace('.', '\\.')}(\\.0)?(?![\\d]|[.,]\\d)`).test(text),
  )
}
