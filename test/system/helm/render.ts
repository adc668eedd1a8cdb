import { globSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { CHART_DIR, execute } from './command.ts'

export type Helm = { readonly name: string; readonly path: string }

export type KubernetesObject = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  // biome-ignore lint/suspicious/noExplicitAny: of each kind another
  readonly [field: string]: any
}

export type Rendering = {
  readonly helm: string
  readonly kubernetesVersion: string
  readonly name: string
  readonly text: string
  readonly objects: readonly KubernetesObject[]
}

/** Lists the cases, which are in chart-testing's folder. Each optional feature of the chart has a case. */
export function listCases(): string[] {
  return globSync('ci/*-values.yaml', { cwd: CHART_DIR })
    .sort()
    .map((file) => join(CHART_DIR, file))
}

export async function renderAll(
  helm: Helm,
  kubernetesVersion: string,
): Promise<{ rendered: Rendering[]; faults: string[] }> {
  const rendered: Rendering[] = []
  const faults: string[] = []
  for (const file of listCases()) {
    const name = basename(file, '-values.yaml')
    const { code, stdout, stderr } = await template(helm, kubernetesVersion, ['--values', file])
    if (code !== 0) faults.push(`${name}: ${stderr.trim()}`)
    else rendered.push({ helm: helm.name, kubernetesVersion, name, text: stdout, objects: parse(stdout) })
  }
  return { rendered, faults }
}

export function template(
  helm: Helm,
  kubernetesVersion: string,
  args: readonly string[],
  release = 'tallystick',
) {
  const command = ['template', release, CHART_DIR, '--namespace', 'tallystick']
  return execute(helm.path, [...command, '--kube-version', kubernetesVersion, ...args])
}

/** Parses YAML documents. Throws if a document is invalid or has a key twice. */
export function parse(text: string): KubernetesObject[] {
  return parseAllDocuments(text, { version: '1.1' }).flatMap((document) => {
    const [error] = document.errors
    if (error) throw error
    const object = document.toJS()
    return object === null ? [] : [object]
  })
}
