import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './command.ts'
import { type KubernetesObject, parse, type Rendering } from './render.ts'

export function readExample(file: string, kubernetesVersion: string): Rendering {
  const text = readFileSync(join(ROOT, 'examples', file), 'utf8')
  return { helm: 'none', kubernetesVersion, name: file, text, objects: parse(text) }
}

type Values = {
  readonly database: {
    readonly host: string
    readonly replica: { readonly host: string }
    readonly ca: { readonly existingSecret: string; readonly key: string }
    readonly owner: { readonly existingSecret: string; readonly user?: string }
    readonly name?: string
  }
}

/**
 * Returns the names in the values that do not match the Cluster object. The Postgres operator names Services and
 * Secrets after the cluster.
 */
export function findMissingNames(objects: readonly KubernetesObject[], { database }: Values): string[] {
  const [{ metadata, spec }] = objects as [KubernetesObject]
  const { initdb } = spec.bootstrap
  const pairs: readonly (readonly [said: unknown, there: unknown])[] = [
    [database.host, `${metadata.name}-rw`],
    [database.replica.host, `${metadata.name}-ro`],
    [`${database.ca.existingSecret}/${database.ca.key}`, `${metadata.name}-ca/ca.crt`],
    [database.owner.existingSecret, initdb.secret.name],
    [database.owner.user ?? 'tallystick_owner', initdb.owner],
    [database.name ?? 'tallystick', initdb.database],
    [spec.topologySpreadConstraints[0].labelSelector.matchLabels['cnpg.io/cluster'], metadata.name],
  ]
  return pairs.flatMap(([said, there]) => (said === there ? [] : [`${said} is said, and ${there} is there`]))
}
