import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { BUILT_IN_TYPES } from '../../../src/ledgers/types/built-in.ts'
import { compileType } from '../../../src/ledgers/types/definition.ts'
import { COMPARISONS, RULE_CODES } from '../../../src/ledgers/types/rules/comparisons.ts'
import { parseRules } from '../../../src/ledgers/types/rules/rules.ts'
import { FORMATS } from '../../../src/ledgers/types/schema/formats.ts'
import { KEYWORDS } from '../../../src/ledgers/types/schema/schema-keywords.ts'
import { limits } from '../../helpers/limits.ts'

const page = readFileSync(new URL('../../../docs/guides/types.md', import.meta.url), 'utf8')
const text = page.replaceAll(/\s+/g, ' ')

test('the page lists every supported keyword, and no other', () => {
  const table = page.split('## Schema keywords')[1]!.split('\n- ')[0]!
  const listed = [...table.matchAll(/^\| .* \| (`.*) \|$/gm)].flatMap((row) =>
    [...row[1]!.matchAll(/`([^`]+)`/g)].map((match) => match[1]!),
  )
  assert.deepEqual(listed.sort(), Object.keys(KEYWORDS).sort())
})

test('the page lists every format', () => {
  const [, list] = /^- `format` is asserted: ([^.]*)\.$/m.exec(page)!
  assert.deepEqual(
    list!
      .split(/,\s+/)
      .map((name) => name.slice(1, -1))
      .sort(),
    Object.keys(FORMATS).sort(),
  )
})

test('the page explains every operator, and every code of a failed rule in order of precedence', () => {
  const [, table] = page.split('| Code | Why a rule fails')
  const codes = [...table!.split('\n\n')[0]!.matchAll(/^\| (.*?) \|/gm)].flatMap((row) =>
    [...row[1]!.matchAll(/`([^`]+)`/g)].map((match) => match[1]!),
  )
  assert.deepEqual(codes, [...RULE_CODES])
  const operators = page.split('| `op` | Passes if')[1]!.split('\n\n')[0]!
  for (const operator of Object.keys(COMPARISONS)) assert.ok(operators.includes(`\`${operator}\``), operator)
})

test('the limits on the page are the limits in the code', () => {
  for (const [what, limit] of [
    ['Subschemas of a schema', limits.SCHEMA_SUBSCHEMAS_MAX],
    ['Depth of nested subschemas that check the same value', limits.SCHEMA_IN_PLACE_DEPTH_MAX],
    ['Values of an `enum`', limits.SCHEMA_ENUM_VALUES_MAX],
    ['Patterns of a schema', limits.SCHEMA_PATTERNS_MAX],
    ['Characters of a pattern', limits.PATTERN_CHARS_MAX],
    ['Steps of a pattern, with its repetitions written out', limits.PATTERN_INSTRUCTIONS_MAX],
    ['Rules of a type', limits.TYPE_RULES_MAX],
  ] as const)
    assert.ok(page.includes(`| ${what} | ${limit.toLocaleString('en')} |`), what)
  assert.ok(
    page.includes(`| Definition, in canonical form | ${limits.TYPE_DEFINITION_BYTES_MAX >> 10} KiB |`),
  )
  assert.ok(
    page.includes(`| Tolerances of a record, in canonical form | ${limits.TOLERANCES_BYTES_MAX >> 10} KiB |`),
  )
  assert.ok(text.includes(`more than ${limits.RULE_VALUE_BYTES_MAX.toLocaleString('en')} bytes`))
  assert.ok(text.includes(`of more than ${limits.JSON_DEPTH_MAX - 2} levels`))
  assert.ok(text.includes(`at most ${limits.BATCH_TYPES_MAX} registered types`))
  const base = limits.VALIDATION_STEPS_BASE.toLocaleString('en')
  assert.ok(
    text.includes(`may take ${base} steps, and ${limits.VALIDATION_STEPS_PER_BYTE} more for each byte`),
  )
})

test('the examples on the page are valid', () => {
  const [definition, run, rule] = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map((match) =>
    JSON.parse(match[1]!),
  )
  assert.ok(compileType(definition).payload)
  for (const { type } of run) assert.ok(BUILT_IN_TYPES.has(type), type)
  parseRules([rule])
})
