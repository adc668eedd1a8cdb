import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { readOpenApi } from '../../tools/generate-docs.ts'
import type { OpenApi, Schema } from '../../tools/open-api.ts'

/*
 * Compares the methods of the Python client with the API, because the methods, their arguments and their docstrings
 * are handwritten.
 */

const PYTHON = join(resolve(import.meta.dirname, '../..'), 'python/src/tallystick')

type Method = {
  readonly name: string
  /** Text of each argument's annotation. */
  readonly args: ReadonlyMap<string, string>
  readonly doc: string
  readonly operations: readonly string[]
}

const OPERATIONS = new Map(
  Array.from(
    readFileSync(join(PYTHON, '_core/operations.py'), 'utf8').matchAll(
      /^(\w+) = Operation\(\s*'(\w+)',\s*'([^']+)'/gm,
    ),
    ([, name, method, path]) => [name!, `${method} ${path}`],
  ),
)

function methodsOf(file: string): Method[] {
  const text = readFileSync(join(PYTHON, file), 'utf8')
  return text
    .split(/^ {4}(?=(?:async )?def )/m)
    .slice(1)
    .map((part) => {
      const [, name, signature] = /def (\w+)\((.*?)\) -> /s.exec(part)!
      const args = Array.from(
        signature!.matchAll(/(\w+): ((?:\[[^\]]*(?:\[[^\]]*\][^\]]*)*\]|[^,[])+)/g),
        ([, arg, type]) => [arg!, type!.split(' = ')[0]!] as const,
      )
      const doc = /"""(.*?)"""/s.exec(part)?.[1] ?? ''
      const operations = Array.from(
        part.matchAll(/\bops\.([A-Z_0-9]+)/g),
        ([, operation]) => OPERATIONS.get(operation!)!,
      )
      return { name: `${file} ${name}`, args: new Map(args), doc: doc.replaceAll(/\s+/g, ' '), operations }
    })
}

const openApi = await readOpenApi()
const METHODS = globSync('_async/resources/*.py', { cwd: PYTHON }).flatMap(methodsOf)

/** Returns the members of an operation's body and query by their Python names. */
function membersOf(openApi: OpenApi, operation: string): Map<string, Schema> {
  const [method, path] = operation.split(' ')
  const { requestBody, parameters = [] } = openApi.paths[path!]![method!.toLowerCase()]!
  const body = Object.values(requestBody?.content ?? {})[0]?.schema
  const named = [
    ...parameters.filter((each) => each.in === 'query').map(({ name, schema }) => [name, schema] as const),
    ...Object.entries(
      (body === undefined ? {} : (resolved(openApi, body).properties ?? {})) as Record<string, Schema>,
    ),
  ]
  return new Map(named.map(([name, schema]) => [pythonName(name), schema]))
}

function resolved(openApi: OpenApi, schema: Schema): Schema {
  return schema.$ref === undefined ? schema : openApi.components.schemas[schema.$ref.split('/').at(-1)!]!
}

function pythonName(name: string): string {
  const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return snake === 'from' ? 'from_' : snake
}

/** Returns the strings that a member, or an element of the member's list, may be. */
function choicesOf(openApi: OpenApi, schema: Schema): string[] {
  const { enum: values = [], const: value, items, anyOf = [], oneOf = [] } = resolved(openApi, schema)
  return [
    ...values.map(String),
    ...(value === undefined ? [] : [String(value)]),
    ...[...anyOf, ...oneOf, ...(items ? [items] : [])].flatMap((each) => choicesOf(openApi, each as Schema)),
  ]
}

test('the choices of a Python argument equal those of the API', async () => {
  let compared = 0
  for (const { name, args, operations } of METHODS)
    for (const [arg, type] of args) {
      const literals = Array.from(type.matchAll(/Literal\[([^\]]*)\]/g), ([, list]) => list!).join()
      const schemas = operations.flatMap((each) => membersOf(openApi, each).get(arg) ?? [])
      if (literals === '' || schemas.length === 0) continue
      const values = Array.from(literals.matchAll(/'([^']*)'/g), ([, value]) => value!)
      for (const schema of schemas)
        assert.deepEqual(values.toSorted(), choicesOf(openApi, schema).sort(), `${name}: ${arg}`)
      compared++
    }
  assert.ok(compared > 8, `${compared}`)
})

/** Members that the client itself sets: it follows pages, and a signer signs. */
const BY_CLIENT = ['cursor', 'envelope']
/** Members that the client passes under another name, within another argument, or by its own decision. */
const OTHERWISE = {
  'GET /v1/checkpoints/consistency': ['from_', 'to'],
  'GET /v1/checkpoints/consistency/receipt': ['from_', 'to'],
  'POST /v1/exports': ['from_'],
  'GET /v1/entries': ['after', 'limit'],
  'POST /v1/retention/preview': ['from_'],
  'POST /entries': ['wait'],
  'POST /v1/types/preview': ['name', 'version', 'payload_schema', 'evidence_schema', 'rules', 'agent_signed'],
} as Readonly<Record<string, readonly string[]>>

test('every member that the API accepts is an argument in Python', async () => {
  for (const operation of new Set(METHODS.flatMap(({ operations }) => operations))) {
    const methods = METHODS.filter((each) => each.operations.includes(operation))
    const args = new Set(methods.flatMap((each) => [...each.args.keys()]))
    const missing = [...membersOf(openApi, operation).keys()].filter(
      (arg) => !args.has(arg) && !BY_CLIENT.includes(arg),
    )
    assert.deepEqual(missing, OTHERWISE[operation] ?? [], operation)
  }
})

test('numbers in a Python docstring about an argument are in the API’s description of it', async () => {
  let compared = 0
  for (const { name, args, doc, operations } of METHODS)
    for (const arg of args.keys()) {
      const [, text] = new RegExp(`\`${arg}\`: ([^\`]*)`).exec(doc) ?? []
      const schemas = operations.flatMap((each) => membersOf(openApi, each).get(arg) ?? [])
      for (const [number] of text?.matchAll(/\b\d+\b/g) ?? [])
        for (const schema of schemas) {
          assert.match(JSON.stringify(schema), new RegExp(`\\b${number}\\b`), `${name}: ${arg}: ${text}`)
          compared++
        }
    }
  assert.ok(compared > 0)
})
