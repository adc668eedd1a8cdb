import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubernetesObject, Rendering } from './render.ts'

/**
 * Backlogs as multiples of one worker's work. Most backlogs need fewer workers than the maximum, because a result at
 * the maximum would hide a wrong sum.
 */
const BACKLOGS = [0.5, 1.01, 1.5, 2.5, 100]
const METRIC = /tallystick_\w+/

type Metric = {
  readonly name: string
  readonly selector: Readonly<Record<string, string>>
  readonly perWorker: number
}
type Rule = {
  readonly record?: string
  readonly expr: string
  readonly labels?: Readonly<Record<string, string>>
}

/**
 * Simulates a HorizontalPodAutoscaler. Kubernetes adds up the series that match the selector, and divides the sum by
 * the target. Each worker reports the same figure for all ledgers. So the result must not depend on the number of
 * workers. promtool evaluates the rendered rules.
 */
export function findRunaways(promtool: string, { name, objects }: Rendering): string[] {
  const autoscaler = objects.find(
    ({ kind, metadata }) => kind === 'HorizontalPodAutoscaler' && metadata.name.endsWith('-worker'),
  )
  if (autoscaler === undefined) return [`${name}: no autoscaler of workers`]
  const rules = objects
    .filter(({ kind }) => kind === 'PrometheusRule')
    .flatMap(({ spec }) => spec.groups as { name: string; rules: Rule[] }[])
  const recorded = rules.find((group) => group.name === 'tallystick-autoscaling')
  if (recorded === undefined) return [`${name}: nothing records what the autoscaler asks for`]
  const most: number = autoscaler['spec'].maxReplicas
  const workers = [...new Set([1, 2, most, 20])]
  const tests = metricsOf(autoscaler).flatMap((metric) => {
    const rule = recorded.rules.find(({ record }) => record === metric.name)
    const [source] = METRIC.exec(rule?.expr ?? '') ?? []
    if (source === undefined) throw new Error(`${name}: nothing records ${metric.name}`)
    return BACKLOGS.flatMap((backlog) =>
      workers.map((count) => testOf(metric, source, backlog * metric.perWorker, count, most)),
    )
  })
  return promtoolFaults(promtool, recorded, tests).map((fault) => `${name}: ${fault}`)
}

function metricsOf(autoscaler: KubernetesObject): Metric[] {
  const metrics: {
    external: {
      metric: { name: string; selector: { matchLabels: Record<string, string> } }
      target: { averageValue: string }
    }
  }[] = autoscaler['spec'].metrics
  return metrics.map(({ external: { metric, target } }) => ({
    name: metric.name,
    selector: metric.selector.matchLabels,
    perWorker: Number(target.averageValue),
  }))
}

function testOf(
  { name, selector, perWorker }: Metric,
  source: string,
  backlog: number,
  workers: number,
  most: number,
): unknown {
  const labels = Object.entries(selector).map(([label, value]) => `${label}="${value}"`)
  return {
    name: `${workers} workers, ${name} ${backlog}`,
    interval: '1m',
    input_series: Array.from({ length: workers }, (_, i) => ({
      series: `${source}{namespace="tallystick", pod="tallystick-worker-${i}", instance="10.0.0.${i}:9464"}`,
      values: `${backlog}x5`,
    })),
    promql_expr_test: [
      {
        expr: `clamp_max(ceil(sum({__name__="${name}", ${labels.join(', ')}}) / ${perWorker}), ${most})`,
        eval_time: '4m',
        exp_samples: [{ labels: '{}', value: Math.min(most, Math.ceil(backlog / perWorker)) }],
      },
    ],
  }
}

function promtoolFaults(promtool: string, group: object, tests: readonly unknown[]): string[] {
  const dir = mkdtempSync(join(tmpdir(), 'tallystick-scaling-'))
  try {
    const rules = join(dir, 'rules.json')
    writeFileSync(rules, JSON.stringify({ groups: [group] }))
    const file = join(dir, 'tests.json')
    writeFileSync(file, JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests }))
    const { status, stdout, stderr } = spawnSync(promtool, ['test', 'rules', file], { encoding: 'utf8' })
    return status === 0 ? [] : [`${stdout}${stderr}`.trim()]
  } finally {
    rmSync(dir, { recursive: true })
  }
}
