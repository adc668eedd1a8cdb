import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { parse } from 'yaml'
import { EVENTS_HEARTBEAT_MS, IDLE_CONNECTION_MS_MAX } from '../../../src/http/limits.ts'
import { COMMANDS } from '../../../src/run/command.ts'
import { CHART_DIR, ROOT } from './command.ts'
import { listCases } from './render.ts'

// Tests of the chart that need neither Helm nor a similar tool. `npm run drill -- chart` runs the other tests.

type Values = { [name: string]: unknown }
type Schema = { properties?: Record<string, Schema>; $ref?: string; $defs?: Record<string, Schema> }

const read = (file: string) => readFileSync(join(CHART_DIR, file), 'utf8')
const values = parse(read('values.yaml')) as Values
const schema = JSON.parse(read('values.schema.json')) as Schema

test('appVersion is the version of the project', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  assert.equal((parse(read('Chart.yaml')) as Values)['appVersion'], version)
})

test('the schema describes every value, and no other', () => {
  // `global` is for parent charts, so values.yaml does not have it.
  assert.deepEqual(
    namesOf(values),
    namesOfSchema(schema).filter((name) => name !== 'global'),
  )
})

test('the schema accepts the values of every case, and refuses a misspelt one', () => {
  const validate = new Ajv({ allErrors: true, strict: false }).compile(schema)
  for (const file of listCases()) {
    const given = merge(values, parse(readFileSync(file, 'utf8')) as Values)
    assert.ok(validate(given), `${basename(file)}: ${JSON.stringify(validate.errors)}`)
    const misspelt = { ...given, worker: { ...(given['worker'] as Values), replica: 1 } }
    assert.equal(validate(misspelt), false)
  }
})

test('containers run commands that exist in the image', () => {
  const templates = ['api-deployment', 'worker-deployment', '_migrate', 'operate-cronjob', 'tests/smoke']
  const run = templates.map((name) => {
    const file = `templates/${name}.${name.startsWith('_') ? 'tpl' : 'yaml'}`
    return /args: \[(\w+)/.exec(read(file))![1]!
  })
  assert.deepEqual(run, ['server', 'worker', 'migrate', 'operate', 'smoke'])
  assert.deepEqual(
    run.filter((name) => !(name in COMMANDS)),
    [],
  )
})

test('the README explains every value', () => {
  const rows = [...read('README.md').matchAll(/^\| ([a-z][\w.]*) \| .* \| ([^|]*) \|$/gm)]
  const said = rows.filter(([, , meaning]) => meaning!.trim() !== '').map(([, name]) => name!)
  const unsaid = namesOf(values).filter(
    (name) => !said.some((row) => name === row || name.startsWith(`${row}.`)),
  )
  assert.deepEqual(unsaid, [])
  assert.equal(said.length, rows.length)
})

const GUIDE = readFileSync(join(ROOT, 'docs', 'operate', 'kubernetes.md'), 'utf8')

test('the guide names only existing values', () => {
  const known = namesOf(values)
  const named = [...GUIDE.matchAll(/`([a-zA-Z]+(?:\.[a-zA-Z]+)*)`/g)].map((match) => match[1]!)
  const unknown = named
    .filter((name) => name.split('.')[0]! in values)
    .filter((name) => !known.some((path) => path === name || path.startsWith(`${name}.`)))
    // Leaves out names below a value whose content the user chooses, such as `api.serviceAccount.annotations`.
    .filter((name) => !known.some((path) => name.startsWith(`${path}.`)))
  assert.deepEqual(unknown, [])
})

test('the first values in the guide equal the default case', () => {
  const block = /```yaml\n([\s\S]*?)```/.exec(GUIDE)![1]!
  assert.deepEqual(parse(block), parse(read('ci/default-values.yaml')))
})

test('load balancers close idle connections before servers do, but later than the heartbeat', () => {
  const found = listCases().flatMap((file) => [
    ...readFileSync(file, 'utf8').matchAll(/idle_timeout\.timeout_seconds=(\d+)/g),
  ])
  assert.ok(found.length >= 2)
  for (const [, seconds] of found) {
    assert.ok(Number(seconds) * 1_000 < IDLE_CONNECTION_MS_MAX)
    assert.ok(Number(seconds) * 1_000 > EVENTS_HEARTBEAT_MS)
  }
})

/** Lists names such as `api.autoscaling.enabled`. Names below a value whose content the user chooses are left out. */
function namesOf(value: Values, path = ''): string[] {
  return Object.entries(value)
    .flatMap(([name, inner]) => {
      const isClosed = propertiesOf(find(`${path}${name}`)) !== undefined
      return isClosed ? namesOf(inner as Values, `${path}${name}.`) : [`${path}${name}`]
    })
    .sort()
}

function namesOfSchema(of: Schema, path = ''): string[] {
  return Object.entries(propertiesOf(of) ?? {})
    .flatMap(([name, inner]) =>
      propertiesOf(inner) === undefined ? [`${path}${name}`] : namesOfSchema(inner, `${path}${name}.`),
    )
    .sort()
}

function find(path: string): Schema {
  return path.split('.').reduce<Schema>((inner, name) => propertiesOf(inner)?.[name] ?? {}, schema)
}

/** Definitions whose contents are defined by Kubernetes, so they are not values of the chart. */
const FOREIGN = ['resources', 'affinity', 'behavior', 'authenticationRef']

function propertiesOf({ properties, $ref }: Schema): Record<string, Schema> | undefined {
  const name = $ref?.split('/').at(-1)
  if (FOREIGN.includes(name ?? '')) return undefined
  return name === undefined ? properties : schema.$defs![name]!.properties
}

/** Merges two sets of values as Helm does. */
function merge(under: Values, over: Values): Values {
  const merged = { ...under }
  for (const [name, value] of Object.entries(over)) {
    const before = under[name]
    merged[name] = isMap(value) && isMap(before) ? merge(before, value) : value
  }
  return merged
}

function isMap(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
