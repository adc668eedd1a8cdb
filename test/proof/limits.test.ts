import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import * as proofLimits from '../../src/proof/limits.ts'
import * as archiveLimits from '../../src/verify/archive/limits.ts'

/* Compares docs/formats/rules.md with the constants of both verifiers. */

const ROOT = resolve(import.meta.dirname, '..', '..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const PAGE = read('docs/formats/rules.md')

type Limits = ReadonlyMap<string, bigint>

const pageRows = [
  ...tableOf('Name', 'Limits').map(([name, value, , , , heldBy]) => ({ name, value, heldBy })),
  ...tableOf('Name', 'Memory and speed').map(([name, value, , , heldBy]) => ({ name, value, heldBy })),
].map(({ name, value, heldBy }) => ({
  name: name!.replaceAll('`', ''),
  value: BigInt(value!.replaceAll(',', '')),
  heldBy: heldBy!,
}))
const pageOf = (verifier: string): Limits =>
  new Map(
    pageRows
      .filter(({ heldBy }) => heldBy === verifier || heldBy === 'both')
      .map(({ name, value }) => [name, value]),
  )

describe('the limits of docs/formats/rules.md', () => {
  test('have unique names, and each is enforced by a verifier', () => {
    const names = pageRows.map(({ name }) => name)
    assert.equal(new Set(names).size, names.length)
    assert.deepEqual(
      pageRows.filter(({ heldBy }) => !['both', 'TypeScript', 'Python'].includes(heldBy)),
      [],
    )
  })

  test('equal the limits of the TypeScript verifier', () => {
    const page = pageOf('TypeScript')
    const archives = Object.entries(archiveLimits).filter(([name]) => page.has(name))
    assert.deepEqual(sorted(limitsOf([...Object.entries(proofLimits), ...archives])), sorted(page))
  })

  test('equal the limits of the Python verifier', () => {
    const text = read('python/src/tallystick/verify/limits.py')
    const found = [...text.matchAll(/^([A-Z][A-Z0-9_]*) = (.*)$/gm)].map(
      ([, name, value]) => [name!, evaluate(value!)] as const,
    )
    assert.deepEqual(sorted(limitsOf(found)), sorted(pageOf('Python')))
  })

  test('are complete: no other file of a verifier defines a limit', () => {
    const limit = /^(?:export )?(?:const )?(_?[A-Z][A-Z0-9_]*_MAX(?:_DEFAULT)?)\b[^=\n]*= *[\d(]/gm
    const faults = globSync(['src/proof/**/*.ts', 'python/src/tallystick/verify/*.py'], { cwd: ROOT })
      .filter(
        (file) =>
          !file.endsWith('/limits.ts') && !file.endsWith('/limits.py') && !NO_VERIFIERS.includes(file),
      )
      .flatMap((file) =>
        [...read(file).matchAll(limit)]
          .filter(([, name]) => !/SHOWN/.test(name!))
          .map(([, name]) => `${file}: ${name}`),
      )
    assert.deepEqual(faults, [])
  })

  test('have codes that exist in error.ts', () => {
    const known = new Set(
      [...read('src/proof/error.ts').matchAll(/^ {2}\| '(\w+)'$/gm)].map(([, code]) => code),
    )
    const said = [
      ...tableOf('Name', 'Limits').map((row) => row[4]!),
      ...tableOf('Input', 'Order of refusals').map((row) => row[1]!),
    ]
    const codes = said.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, code]) => code))
    assert.ok(codes.length > 50)
    assert.deepEqual(
      codes.filter((code) => !known.has(code)),
      [],
    )
  })
})

/** Files with constants of clients and servers, which no verifier uses. */
const NO_VERIFIERS = ['http-fields.ts', 'request-limits.ts'].map((file) => join('src', 'proof', file))

/** Returns the rows of a table. The table stands below `heading`, and the title of its first column is `title`. */
function tableOf(title: string, heading: string): string[][] {
  const section = PAGE.split(/^## /m).find((part) => part.startsWith(`${heading}\n`))
  assert.ok(section, heading)
  const lines = section.split('\n')
  const from = lines.findIndex((line) => line.startsWith(`| ${title} |`))
  assert.ok(from >= 0, title)
  const rows = lines.slice(from + 2)
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith('|')),
    )
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
}

function limitsOf(entries: readonly (readonly [string, unknown])[]): Limits {
  return new Map(entries.map(([name, value]) => [name, BigInt(value as number | bigint)]))
}

function sorted(limits: Limits): [string, bigint][] {
  return [...limits].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** Evaluates a product of integers, as limits.py writes values. */
function evaluate(value: string): bigint {
  assert.match(value, /^[\d_]+(?: \* [\d_]+)*$/)
  return value.split(' * ').reduce((product, factor) => product * BigInt(factor.replaceAll('_', '')), 1n)
}
