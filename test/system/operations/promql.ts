import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ERROR_CODES } from '../../../src/errors.ts'
import { type Documented, readReferencePage } from '../../observe/metrics/reference-page.ts'
import { PROJECT_DIR } from '../deployment/installation.ts'

/** Labels that Prometheus adds when it scrapes a process. */
const TARGET_LABELS = ['cluster', 'namespace', 'pod', 'container', 'job', 'instance']
const KUBERNETES = new Map([
  ['kube_pod_container_status_waiting_reason', ['reason']],
  ['kube_pod_container_status_running', []],
])

const METRICS = new Map(readReferencePage().map((metric) => [metric.name, metric]))
const ROUTES = readFileSync(join(PROJECT_DIR, 'docs/reference/access.md'), 'utf8')

/**
 * Returns the metrics, labels and label values of an expression that no process has. The expression is compared with
 * docs/operate/observe.md, which test/observe/metrics/reference.test.ts compares with the processes. `made` lists
 * labels that label_replace makes.
 */
export function findStrangers(expr: string, made: readonly string[] = []): string[] {
  const selectors = [
    ...expr.matchAll(/(?<![\w:$"-])((?:tallystick|process|nodejs|kube)[_:][\w:]+)(\{[^}]*\})?/g),
  ]
  if (selectors.length === 0) return [`no metric in ${expr}`]
  const known = new Set([...TARGET_LABELS, 'le', ...made])
  const faults = selectors.flatMap(([, name, matchers]) => checkSelector(name!, matchers ?? '', known))
  const grouped = [...expr.matchAll(/\b(?:by|on|without|ignoring|group_left)\s*\(([^)]*)\)/g)]
  const labels = grouped.flatMap(([, list]) => list!.split(',').map((label) => label.trim()))
  return [
    ...faults,
    ...labels
      .filter((label) => label !== '' && !known.has(label))
      .map((label) => `no label ${label}: ${expr}`),
  ]
}

function checkSelector(name: string, matchers: string, known: Set<string>): string[] {
  if (name.startsWith('tallystick:')) {
    // A rule records this metric. The metric's labels are the labels by which the rule groups. The rule is checked
    // separately.
    for (const [, label] of matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)) known.add(label!)
    return []
  }
  const foreign = KUBERNETES.get(name)
  const metric = METRICS.get(name) ?? METRICS.get(name.replace(/_(bucket|sum|count)$/, ''))
  if (!metric && !foreign) return [`no process has ${name}`]
  const labels = foreign ?? [...metric!.labels.keys()]
  for (const label of labels) known.add(label)
  return [...matchers.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].flatMap(([, label, , values]) => {
    if (TARGET_LABELS.includes(label!)) return []
    if (!labels.includes(label!)) return [`${name} has no label ${label}`]
    return foreign ? [] : checkValues(metric!, label!, values!.split('|'))
  })
}

function checkValues({ name, labels }: Documented, label: string, values: readonly string[]): string[] {
  return values
    .filter((value) => !isValue(label, value, labels.get(label) ?? null))
    .map((value) => `${name} has no ${label}="${value}"`)
}

function isValue(label: string, value: string, documented: readonly string[] | null): boolean {
  if (documented) return documented.includes(value)
  if (label === 'code') return value in ERROR_CODES
  if (label === 'route') return ROUTES.includes(` ${value}\``)
  if (label === 'method') return /^(GET|POST|PUT|PATCH|DELETE)$/.test(value)
  return false
}
