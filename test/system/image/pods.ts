import { randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KubernetesObject } from '../helm/render.ts'

export type Stored = Readonly<Record<string, Readonly<Record<string, string>>>>

export type Pod = { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> }

const IMAGE_ENV = { TALLYSTICK_DATA: '/data' }

/**
 * Returns a process of this machine that does what a node would start for a pod of the workload. Arguments and
 * environment come from the manifest. Mount paths are replaced by the folder of each volume.
 */
export function podOf(
  objects: readonly KubernetesObject[],
  kind: string,
  component: string,
  stored: Stored,
  dir: string,
): Pod {
  const object = objects.find(
    (each) => each.kind === kind && each.metadata.labels?.['app.kubernetes.io/component'] === component,
  )
  const spec = kind === 'Pod' ? object!['spec'] : object!['spec'].template.spec
  const [container] = spec.containers
  const mounts = container.volumeMounts.map(
    ({ name, mountPath }: { name: string; mountPath: string }): [string, string] => {
      const volume = spec.volumes.find((each: { name: string }) => each.name === name)
      return [mountPath, folderOf(volume, stored, dir)]
    },
  ) as [string, string][]
  const locate = (value: string) => {
    const mount = mounts.find(([path]) => value === path || value.startsWith(`${path}/`))
    return mount === undefined ? value : value.replace(...mount)
  }
  const given = container.env.map((variable: Variable) => [variable.name, readVariable(variable, stored)])
  const env: Record<string, string> = { ...IMAGE_ENV, ...Object.fromEntries(given) }
  return {
    args: container.args,
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, locate(value)])),
  }
}

type Variable = {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } }
}

function readVariable({ name, value, valueFrom }: Variable, stored: Stored): string {
  if (value !== undefined) return value
  const { secretKeyRef } = valueFrom!
  const found = stored[secretKeyRef.name]?.[secretKeyRef.key]
  if (found === undefined)
    throw new Error(`${name}: there is no Secret ${secretKeyRef.name} with ${secretKeyRef.key}`)
  return found
}

type Volume = {
  readonly name: string
  readonly secret?: { readonly secretName: string; readonly defaultMode?: number; readonly items?: Items }
  readonly configMap?: { readonly name: string; readonly items?: Items }
}
type Items = readonly { readonly key: string; readonly path: string }[]

/**
 * Returns the folder of a volume. A volume that is neither a Secret nor a ConfigMap is an empty folder that the pod's
 * user can write.
 */
function folderOf({ name, secret, configMap }: Volume, stored: Stored, dir: string): string {
  const folder = join(dir, `${name}-${randomUUID()}`)
  mkdirSync(folder)
  const source = secret?.secretName ?? configMap?.name
  if (source === undefined) {
    chmodSync(folder, 0o777)
    return folder
  }
  const found = stored[source]
  if (!found) throw new Error(`the volume ${name}: there is no ${source}`)
  const items = secret?.items ?? configMap?.items ?? Object.keys(found).map((key) => ({ key, path: key }))
  for (const { key, path } of items) {
    if (found[key] === undefined) throw new Error(`the volume ${name}: ${source} has no ${key}`)
    const file = join(folder, path)
    writeFileSync(file, found[key])
    if (secret?.defaultMode !== undefined) chmodSync(file, secret.defaultMode)
  }
  return folder
}
