import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')

test('no two prepared statements have one name: of two on one connection the second fails', () => {
  const names = globSync('src/**/*.ts', { cwd: ROOT }).flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/name: '([a-z0-9_]+)',\s+text:/g)].map(
      ([, name]) => name!,
    ),
  )
  assert.ok(names.length > 50, `${names.length} were found`)
  const twice = names.filter((name, i) => names.indexOf(name) !== i)
  assert.deepEqual(twice, [])
})

test('a prepared statement’s text is a literal or a constant', () => {
  const faults = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) =>
    /name: '[a-z0-9_]+',\s+text:\s+(?![`'A-Z])/.test(readFileSync(join(ROOT, file), 'utf8')),
  )
  assert.deepEqual(faults, [])
})
