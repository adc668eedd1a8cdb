import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { CHART_DIR } from './command.ts'
import { type Helm, type KubernetesObject, parse, template } from './render.ts'

const KEPT_DIR = join(CHART_DIR, 'ci', 'upgrade')
/** File with the fields that an upgrade from a version cannot change. It is stored beside the version's values. */
const KEPT_FILE = 'immutable.json'

type Immutable = Readonly<Record<string, unknown>>

/**
 * Returns the fields that an upgrade must not change: names of objects, selectors of Deployments, cluster IPs of
 * Services, and claims except their size. Kubernetes refuses to change some of these fields. Changing a name makes
 * another object.
 */
export function immutableParts(objects: readonly KubernetesObject[]): Immutable {
  const kept = objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === undefined)
  return Object.fromEntries(
    kept
      .map((object) => [`${object.kind}/${object.metadata.name}`, partsOf(object)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

function partsOf({ kind, spec }: KubernetesObject): unknown {
  if (kind === 'Deployment') return { selector: spec.selector }
  if (kind === 'PersistentVolumeClaim') return { ...spec, resources: undefined }
  if (kind === 'Service') return { clusterIP: spec.clusterIP ?? null }
  return {}
}

/** Renders the chart with the values of each earlier version. Returns the forbidden changes. */
export async function findBreakingChanges(helm: Helm, kubernetesVersion: string): Promise<string[]> {
  const faults: string[] = []
  for (const file of globSync('*/values.yaml', { cwd: KEPT_DIR }).sort()) {
    const version = basename(dirname(file))
    const { code, stdout, stderr } = await template(helm, kubernetesVersion, [
      '--values',
      join(KEPT_DIR, file),
    ])
    if (code !== 0) {
      faults.push(`the values of ${version}: ${stderr.trim()}`)
      continue
    }
    const before = JSON.parse(readFileSync(join(KEPT_DIR, version, KEPT_FILE), 'utf8')) as Immutable
    faults.push(...compare(before, immutableParts(parse(stdout))).map((fault) => `from ${version}: ${fault}`))
  }
  return faults
}

export function compare(before: Immutable, after: Immutable): string[] {
  return Object.entries(before).flatMap(([name, parts]) => {
    if (!(name in after)) return [`${name} would be deleted`]
    const [was, is] = [JSON.stringify(parts), JSON.stringify(after[name])]
    return was === is ? [] : [`${name} can't be changed from ${was} to ${is}`]
  })
}

/** Stores the fields of this version. The files of earlier versions are never written again. */
export async function keepThisVersion(helm: Helm, kubernetesVersion: string, version: string): Promise<void> {
  const file = join(KEPT_DIR, version, KEPT_FILE)
  if (existsSync(file)) return
  mkdirSync(dirname(file), { recursive: true })
  const values = join(KEPT_DIR, version, 'values.yaml')
  const { code, stdout, stderr } = await template(helm, kubernetesVersion, ['--values', values])
  if (code !== 0) throw new Error(stderr)
  writeFileSync(file, `${JSON.stringify(immutableParts(parse(stdout)), null, 2)}\n`)
}
