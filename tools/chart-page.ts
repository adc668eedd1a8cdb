import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

const CHART_DIR = join(import.meta.dirname, '..', 'helm', 'tallystick')

/** Renders helm/tallystick/README.md from values.yaml: a row for each comment that begins with `# --`. */
export function chartPage(): string {
  const text = readFileSync(join(CHART_DIR, 'values.yaml'), 'utf8')
  return `# tallystick

Run Tallystick, a self-hosted ledger for AI agents, on Kubernetes. This page lists all values of the chart.
[docs/operate/kubernetes.md](../../docs/operate/kubernetes.md) shows how to install, upgrade and operate it.

The chart needs Kubernetes 1.30 or newer, Helm 3.22 or 4, and a Postgres outside the chart. You make the Secrets
yourself: each value named \`existingSecret\` is the name of a Secret. \`ci/\` has tested values for each optional feature.

\`npm run docs\` generates this page from \`values.yaml\`.

| Key | Default | Description |
|---|---|---|
${listValues(text).join('\n')}
`
}

/**
 * Returns the rows of the table. Lines are read with their indentation, because a comment belongs to the key below
 * it.
 */
function listValues(text: string): string[] {
  const rows: string[] = []
  const path: string[] = []
  let said = ''
  for (const line of text.split('\n')) {
    const comment = /^ *# -- (.*)$/.exec(line)?.[1]
    if (comment !== undefined) said = comment
    const [, indent, name] = /^( *)(\w+):/.exec(line) ?? []
    if (name === undefined) continue
    path.splice(indent!.length / 2, Infinity, name)
    if (said !== '') rows.push(`| ${path.join('.')} | \`${JSON.stringify(valueAt(text, path))}\` | ${said} |`)
    said = ''
  }
  return rows
}

function valueAt(text: string, path: readonly string[]): unknown {
  return path.reduce((value, name) => (value as Readonly<Record<string, unknown>>)[name], parse(text))
}
