import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { parse as parseYaml } from 'yaml'
import { CHART_DIR } from './command.ts'
import { findRefusedConfigurations } from './configuration.ts'
import { type Helm, parse, type Rendering, template } from './render.ts'
import { findFaults } from './rules.ts'

type Values = { [name: string]: unknown }
type Schema = {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
}

/**
 * Wrong contents for a value of values.yaml. Each content is tried alone: all other values come from the file that
 * `baseOf` names.
 */
const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  null: [null],
  empty: ['', [], {}],
  'of another type': [true, 7, 'text', ['text'], { key: 'text' }, [{ key: 'text' }]],
  'too long or too much': ['x'.repeat(300), 1e10, -1, { ['x'.repeat(300)]: 'y' }],
  odd: ['with space', 'a:b', '{{ .Values }}', 'https://user:pass@host:99999/'],
}

/** Definitions whose contents Kubernetes defines. Kubernetes' schemas find errors in them. */
const FOREIGN = new Set(['affinity', 'behavior', 'authenticationRef'])

const TRIED_AT_ONCE = 2

/**
 * Tries wrong contents for every value of values.yaml. Either Helm refuses the content and names the value, or the
 * rendering obeys the rules and the processes accept their configuration. Returns the renderings, which are checked
 * with Kubernetes' schemas.
 */
export async function sweep(
  helm: Helm,
  kubernetesVersion: string,
): Promise<{ faults: string[]; rendered: Rendering[]; tried: number }> {
  const schema = JSON.parse(readFileSync(join(CHART_DIR, 'values.schema.json'), 'utf8')) as Schema
  const validate = new Ajv({ strict: false }).compile(schema)
  const values = parseYaml(readFileSync(join(CHART_DIR, 'values.yaml'), 'utf8')) as Values
  const dir = mkdtempSync(join(tmpdir(), 'tallystick-values-'))
  const faults: string[] = []
  const rendered: Rendering[] = []
  const cases = pathsOf(schema, schema).flatMap((path) =>
    Object.entries(WRONG).flatMap(([kind, all]) => all.map((value) => ({ path, kind, value }))),
  )
  // Helm checks the schema first, and names the value. So contents that the schema refuses are not rendered here.
  // refusals.ts tests that Helm applies the schema.
  const toRender = cases.filter(({ path, value }) => validate(lay(values, path, value)))
  const tryOne = async ({ path, kind, value }: (typeof cases)[number], index: number) => {
    const name = `${path.join('.')} ${kind} ${JSON.stringify(value)?.slice(0, 60)}`
    const file = join(dir, `${index}.json`)
    writeFileSync(file, JSON.stringify(lay({}, path, value)))
    const { code, stdout, stderr } = await template(helm, kubernetesVersion, [
      '--values',
      baseOf(path),
      '--values',
      file,
    ])
    if (code !== 0) {
      if (!isNamed(stderr, path))
        faults.push(`${name}: is refused without its name: ${stderr.trim().slice(0, 400)}`)
      return
    }
    try {
      const objects = parse(stdout)
      // A pod without requests and limits is allowed, because then the cluster decides.
      const found = path.includes('resources') ? [] : findFaults(objects)
      faults.push(...[...found, ...findRefusedConfigurations(objects)].map((fault) => `${name}: ${fault}`))
      rendered.push({
        helm: helm.name,
        kubernetesVersion,
        name: `${path.join('.')} ${index}`,
        text: stdout,
        objects,
      })
    } catch (error) {
      faults.push(`${name}: ${(error as Error).message}`)
    }
  }
  try {
    const queue = [...toRender.entries()]
    await Promise.all(
      Array.from({ length: TRIED_AT_ONCE }, async () => {
        for (let next = queue.pop(); next; next = queue.pop()) await tryOne(next[1], next[0])
      }),
    )
  } finally {
    rmSync(dir, { recursive: true })
  }
  return { faults: faults.sort(), rendered, tried: cases.length }
}

/** Returns the file of values with as many features as can be combined. KEDA and HPA cannot be combined. */
function baseOf(path: readonly string[]): string {
  return join(CHART_DIR, 'ci', `${path.includes('keda') ? 'autoscaling-keda' : 'everything'}-values.yaml`)
}

/**
 * Returns true if the message names the value, by the whole path or by the last name. The last name is enough, because
 * the message may be about the value's parent.
 */
function isNamed(message: string, path: readonly string[]): boolean {
  return (
    [path.join('.'), `/${path.join('/')}`, path.at(-1)!].some((name) => message.includes(name)) &&
    !message.includes('.tpl:')
  )
}

function pathsOf(of: Schema, root: Schema, path: readonly string[] = []): string[][] {
  const definition = of.$ref === undefined ? of : root.$defs![of.$ref.split('/').at(-1)!]!
  return Object.entries(definition.properties ?? {})
    .filter(([name]) => name !== 'global')
    .flatMap(([name, inner]) => {
      const isForeign = FOREIGN.has(inner.$ref?.split('/').at(-1) ?? '')
      return [[...path, name], ...(isForeign ? [] : pathsOf(inner, root, [...path, name]))]
    })
}

/** Sets a value as Helm does. null removes the value. */
function lay(values: Values, [name, ...rest]: readonly string[], value: unknown): Values {
  if (rest.length === 0) {
    if (value !== null || Object.keys(values).length === 0) return { ...values, [name!]: value }
    const { [name!]: _, ...others } = values
    return others
  }
  return { ...values, [name!]: lay((values[name!] ?? {}) as Values, rest, value) }
}
