import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import { parse } from 'yaml'
import { findGo } from '../../../tools/go-tool.ts'
import { execute } from './command.ts'
import type { Rendering } from './render.ts'

/** Go modules whose zips contain the definitions of kinds that Kubernetes itself does not have. */
const SOURCES = [
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
    files: ['servicemonitors', 'prometheusrules'].map(
      (name) => `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`,
    ),
  },
  {
    module: 'github.com/kedacore/keda/v2@v2.21.0',
    sum: 'h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps=',
    files: ['config/crd/bases/keda.sh_scaledobjects.yaml'],
  },
  {
    module: 'sigs.k8s.io/gateway-api@v1.6.3',
    sum: 'h1:lKpJa5bGlraC/QeACvCpsHLdmO6y0iKfzVl6gzaFEYc=',
    files: ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  },
  {
    module: 'github.com/envoyproxy/gateway@v1.9.1',
    sum: 'h1:vAVp6/AlBXJ1aOhp1mxL7fNEzVEfjADUguUhm2wzxQY=',
    files: [
      'charts/gateway-helm/charts/crds/crds/generated/gateway.envoyproxy.io_backendtrafficpolicies.yaml',
    ],
  },
  {
    module: 'github.com/cloudnative-pg/cloudnative-pg@v1.29.1',
    sum: 'h1:ZNEt1TMlnQKXI1kho2UqQuqdfvIvjGln4kN7C1lsmGA=',
    files: ['config/crd/bases/postgresql.cnpg.io_clusters.yaml'],
  },
]

/** Matches `v1`, `apps/v1` and `networking.k8s.io/v1`, but not `gateway.networking.k8s.io/v1`. */
const IS_KUBERNETES = /^(?:[a-z]+(?:\.k8s\.io)?\/)?v\d/

type Crd = {
  readonly spec: {
    readonly group: string
    readonly names: { readonly kind: string }
    readonly versions: readonly {
      readonly name: string
      readonly schema: { readonly openAPIV3Schema: Schema }
    }[]
  }
}
type Schema = { [key: string]: unknown }

export type Validators = ReadonlyMap<string, ValidateFunction>

export async function loadCrds(): Promise<Validators> {
  const validators = new Map<string, ValidateFunction>()
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
  for (const file of await listCrdFiles()) {
    const { spec } = parse(readFileSync(file, 'utf8')) as Crd
    for (const version of spec.versions) {
      const schema = strict(version.schema.openAPIV3Schema)
      validators.set(`${spec.group}/${version.name}/${spec.names.kind}`, ajv.compile(schema))
    }
  }
  return validators
}

async function listCrdFiles(): Promise<string[]> {
  const found: string[] = []
  for (const source of SOURCES) {
    const dir = await fetchModule(source)
    found.push(...source.files.map((file) => join(dir, flat(file))))
  }
  return found
}

/** Validates every object whose kind Kubernetes itself does not have. A kind without a definition is a fault. */
export function findUnknownFieldsOfCrds(validators: Validators, renderings: readonly Rendering[]): string[] {
  return renderings.flatMap((rendering) =>
    rendering.objects
      .filter(({ apiVersion }) => !IS_KUBERNETES.test(apiVersion))
      .flatMap((object) => {
        const validate = validators.get(`${object.apiVersion}/${object.kind}`)
        const where = `${rendering.name}: ${object.kind}/${object.metadata.name}`
        if (validate === undefined) return [`${where}: nobody defines ${object.apiVersion}`]
        if (validate(object)) return []
        return (validate.errors ?? []).map(
          (error) => `${where}${error.instancePath}: ${error.message} ${JSON.stringify(error.params)}`,
        )
      }),
  )
}

/**
 * Returns the folder with the module's definitions. The definitions come from the cache or from the module, whose
 * checksum is pinned here.
 */
async function fetchModule({ module, sum, files }: (typeof SOURCES)[number]): Promise<string> {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const dir = join(cache, 'tallystick', 'crds', flat(module))
  if (files.every((file) => existsSync(join(dir, flat(file))))) return dir
  const { code, stdout, stderr } = await execute(findGo(process.env), ['mod', 'download', '-json', module])
  if (code !== 0) throw new Error(`${module} could not be fetched: ${stderr.trim()}`)
  const fetched = JSON.parse(stdout) as { Dir: string; Sum: string }
  if (fetched.Sum !== sum) throw new Error(`${module} has the checksum ${fetched.Sum}, not ${sum}`)
  mkdirSync(dir, { recursive: true })
  for (const file of files) copyFileSync(join(fetched.Dir, file), join(dir, flat(file)))
  return dir
}

const flat = (path: string) => path.replaceAll('/', '_')

/** Makes a schema refuse unknown fields. The API server would drop such fields, but in a chart they are mistakes. */
function strict(schema: Schema): Schema {
  const made = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, strictValue(value, key)]),
  )
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true
  if (schema['properties'] === undefined || 'additionalProperties' in schema || isOpen) return made
  return { ...made, additionalProperties: false }
}

function strictValue(value: unknown, key: string): unknown {
  // Converts Go's notation of a case-insensitive pattern.
  if (key === 'pattern' && typeof value === 'string') return value.replace(/^\^\(\?i\)(.*)\$$/, '^(?i:$1)$$')
  if (Array.isArray(value)) return value.map((item) => strictValue(item, ''))
  return typeof value === 'object' && value !== null ? strict(value as Schema) : value
}
