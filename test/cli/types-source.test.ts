import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { transformSync } from 'esbuild'
import fc from 'fast-check'
import { typesSource } from '../../cli/types-source.ts'
import type { RecordType } from '../../sdk/generated/api.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'

const ROOT = join(import.meta.dirname, '..', '..')

function typeOf(type: string, payloadSchema: unknown, evidenceSchema?: unknown): RecordType {
  const [name, version] = type.split('/') as [string, string]
  const gated = evidenceSchema !== undefined
  const definition = { name, version: Number(version), payloadSchema, ...(gated && { evidenceSchema }) }
  return { type, gated, digest: '9f'.repeat(32), registeredAt: null, definition, entry: null }
}

/** Complaints of the compiler about these files, strictly; empty: none. */
function compile(t: TestContext, files: Record<string, string>): string {
  const { directory, write } = temporaryFiles(t)
  write('package.json', '{"type":"module"}')
  for (const [name, text] of Object.entries(files)) write(name, text)
  const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess']
  const more = ['--module', 'nodenext', '--target', 'es2024', '--allowImportingTsExtensions', '--types', '']
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  const names = Object.keys(files).map((name) => join(directory, name))
  const { stdout, stderr } = spawnSync(process.execPath, [tsc, ...options, ...more, ...names], {
    encoding: 'utf8',
    cwd: directory,
  })
  return stdout + stderr
}

const ORDER = {
  type: 'object',
  title: 'ignored',
  properties: {
    sku: { type: 'string', description: 'article', pattern: '^[A-Z]+$' },
    quantity: { type: 'integer', minimum: 1 },
    unit: { enum: ['piece', 'kg', null] },
    tags: { type: 'array', items: { type: ['string', 'number'] } },
    place: {
      type: 'array',
      prefixItems: [{ type: 'number' }, { type: 'number' }],
      items: false,
      minItems: 2,
    },
    parts: { $ref: '#/$defs/parts' },
    'odd name': true,
  },
  required: ['sku', 'quantity', 'unlisted'],
  additionalProperties: false,
  $defs: {
    parts: { type: 'array', items: { type: 'object', properties: { parts: { $ref: '#/$defs/parts' } } } },
  },
}

test('writes what documents hold, in the order of the names, the same each time', () => {
  const types = [
    typeOf('order/2', true),
    typeOf('order/1', ORDER, { anyOf: [{ required: ['a'] }, { $ref: '#/$defs/b' }], $defs: { b: false } }),
    typeOf('map/1', { additionalProperties: { type: 'number' } }),
  ]
  const text = typesSource(types)
  assert.equal(typesSource(types.toReversed()), text)
  assert.equal(
    text.slice(text.indexOf('export')),
    `export type Types = {
  /** digest ${'9f'.repeat(32)} */
  "map/1": {
    payload: {
      [name: string]: number
    }
  }
  /** digest ${'9f'.repeat(32)} */
  "order/1": {
    payload: {
      /** article */
      sku: string
      quantity: number
      unit?: "piece" | "kg" | null
      tags?: Array<number | string>
      place?: [number, number]
      parts?: References["order/1 payload #/$defs/parts"]
      "odd name"?: unknown
      unlisted: unknown
    }
    evidence: {
      a: unknown
    } | object & References["order/1 evidence #/$defs/b"]
  }
  /** digest ${'9f'.repeat(32)} */
  "order/2": {
    payload: object
  }
}

/** Schemas that others refer to with \`$ref\`. */
export type References = {
  "order/1 evidence #/$defs/b": never
  "order/1 payload #/$defs/parts": Array<{
    parts?: References["order/1 payload #/$defs/parts"]
  }>
}
`,
  )
  assert.match(text, /^\/\/ Made by `tallystick types codegen`/)
  assert.match(typesSource([]), /export type Types = \{\}\n$/)
})

test('is what the client takes as its types: right documents compile, wrong ones do not', (t) => {
  const sdk = relative(temporaryFiles(t).directory, join(ROOT, 'sdk', 'client.ts'))
  const use = `
import { Tallystick } from ${JSON.stringify(sdk)}
import type { Types } from './types.ts'
declare const client: Tallystick<Types>
interface Delivery { delivered: number }
declare const evidence: Delivery
const order = { sku: 'A', quantity: 1, unlisted: null }
export const made = await client.records.create({ type: 'order/1', payload: { ...order, unit: 'kg', place: [1, 2] } })
export const parts: unknown = made.payload?.parts?.[0]?.parts
await client.records.complete<'order/1'>(made.id, { evidence })
// @ts-expect-error no such unit
await client.records.create({ type: 'order/1', payload: { ...order, unit: 'mile' } })
// @ts-expect-error sku is missing
await client.records.create({ type: 'order/1', payload: { quantity: 1, unlisted: 0 } })
// @ts-expect-error mistyped
await client.records.create({ type: 'order/1', payload: { ...order, sku: 'A', colour: 1 } })
// @ts-expect-error nobody delivers that
await client.records.complete<'order/1'>(made.id, { evidence: { delivered: 'much' } })
`
  const delivery = { properties: { delivered: { type: 'integer' } }, required: ['delivered'] }
  const files = { 'types.ts': typesSource([typeOf('order/1', ORDER, delivery)]), 'use.ts': use }
  assert.equal(compile(t, files), '')
})

type Group = { file: string; group: string; schema: unknown; tests: { data: unknown; valid: boolean }[] }

test('every document that the JSON Schema Test Suite calls valid has the type', (t) => {
  const { groups } = JSON.parse(
    readFileSync(join(ROOT, 'test', 'vectors', 'json-schema-2020-12.json'), 'utf8'),
  ) as { groups: Group[] }
  const types = groups.map(({ schema }, i) =>
    typeOf(`suite-${i}/1`, { properties: { v: moved(schema) }, required: ['v'] }),
  )
  const documents = groups.flatMap(({ group, tests }, i) =>
    // Objects have a `toString` in TypeScript, and none in JSON.
    (group.includes('Javascript object property names') ? [] : tests)
      .filter(({ data, valid }) => valid && !JSON.stringify(data).includes('__proto__'))
      .map(({ data }) => `take<'suite-${i}/1'>()({ v: ${JSON.stringify(data)} })`),
  )
  assert.ok(documents.length > 600, `only ${documents.length} documents`)
  // Inferred, so that a member that no schema names is none too many.
  const use = `import type { Types } from './types.ts'
declare function take<Name extends keyof Types>(): <Document extends Types[Name]['payload']>(document: Document) => void
${documents.join('\n')}
`
  const said = compile(t, { 'types.ts': typesSource(types), 'use.ts': use })
  // TS2353: a literal that shares no member with a type whose members are all optional. Valid, but surely mistyped.
  assert.deepEqual(
    said.split('\n').filter((line) => !/^$|TS2353/.test(line)),
    [],
  )
})

/** The schema as it reads one level further in. */
function moved(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(moved)
  if (schema === null || typeof schema !== 'object') return schema
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (keyword === 'enum' || keyword === 'const') return [keyword, value]
      const isPointer = keyword === '$ref' && typeof value === 'string' && /^#(\/|$)/.test(value)
      return [keyword, isPointer ? `#/properties/v${value.slice(1)}` : moved(value)]
    }),
  )
}

const NASTY = [
  '*/ globalThis.pwned = 1 /*',
  '"; globalThis.pwned = 1; "',
  "'}; globalThis.pwned = 1; //",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a tenant's text
  '`${globalThis.pwned = 1}`',
  '\n}\nglobalThis.pwned = 1\n//',
  '\u2028globalThis.pwned = 1',
  '\\',
  '\\"',
  '\u202e\u2066',
  '\ud800',
  '@ts-nocheck',
  '__proto__',
  'constructor',
  '',
]
const nasty = fc.constantFrom(...NASTY)

const hostileSchema = fc.letrec((tie) => {
  const inner = tie('schema')
  const keywords = {
    type: fc.oneof(fc.constantFrom('object', 'array', 'string'), nasty, fc.array(nasty, { maxLength: 2 })),
    title: nasty,
    description: nasty,
    tsType: nasty,
    $id: nasty,
    $anchor: nasty,
    $ref: fc.oneof(
      nasty.map((name) => `#${name}`),
      nasty.map((name) => `#/$defs/${name}`),
      fc.constantFrom('file:///etc/passwd', 'http://127.0.0.1:1/x', '#', '#/%E0%A4%A'),
    ),
    enum: fc.array(fc.oneof(nasty, fc.dictionary(nasty, nasty, { maxKeys: 2 }), fc.double()), {
      maxLength: 3,
    }),
    const: nasty,
    required: fc.array(nasty, { maxLength: 3 }),
    properties: fc.oneof(fc.dictionary(nasty, inner, { maxKeys: 3 }), nasty),
    patternProperties: fc.dictionary(nasty, inner, { maxKeys: 2 }),
    additionalProperties: fc.oneof(fc.boolean(), inner),
    prefixItems: fc.array(inner, { maxLength: 3 }),
    items: inner,
    minItems: fc.oneof(fc.nat(3), nasty),
    allOf: fc.array(inner, { maxLength: 2 }),
    anyOf: fc.array(inner, { maxLength: 2 }),
    $defs: fc.dictionary(nasty, inner, { maxKeys: 2 }),
  }
  return {
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom<unknown>(true, false, {}, null, 1, 'x'),
      fc.record(keywords, { requiredKeys: [] }),
    ),
  }
}).schema

test('nothing in a schema gets out of its string or comment: no code, and no other declaration', () => {
  fc.assert(
    fc.property(hostileSchema, hostileSchema, nasty, (payload, evidence, name) => {
      const text = typesSource([
        typeOf('a/1', payload, evidence),
        { ...typeOf('b/1', { properties: { [name]: { description: name, enum: [name] } } }), type: name },
      ])
      assert.equal(transformSync(text, { loader: 'ts', legalComments: 'none' }).code, '', text)
      const declared = text.match(/^\S.*/gm)!.filter((line) => !/^(\/\/|\/\*\*|\}$)/.test(line))
      assert.ok(
        declared.every((line) => /^export type (Types|References) = \{(\})?$/.test(line)),
        text,
      )
      assert.doesNotMatch(text, /[\u2028\u2029\u202a-\u202e\u2066-\u2069]|^\s*\/\*.*@ts-/m)
    }),
    { numRuns: 300 },
  )
})

test('refuses a schema that nests without end, and follows no reference out of it', () => {
  let deep: unknown = true
  for (let i = 0; i < 10_000; i++) deep = { items: deep }
  assert.throws(() => typesSource([typeOf('a/1', deep)]), /nests deeper/)
  assert.match(
    typesSource([typeOf('a/1', { properties: { x: { $ref: 'file:///etc/passwd' } } })]),
    /"a\/1 payload file:\/\/\/etc\/passwd": unknown/,
  )
})
