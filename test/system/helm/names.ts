import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CASES } from '../operations/alert-cases.ts'
import { realLifeTests } from '../operations/real-life.ts'
import { CHART_DIR, ROOT } from './command.ts'
import { type Helm, type KubernetesObject, parse, template } from './render.ts'
import { podsOf } from './rules.ts'

const ALERT = 'TallystickPodsFail'
const NAMES: readonly (readonly [values: string, pods: string])[] = [
  ['fullnameOverride=ledger', 'ledger'],
  ['nameOverride=evidence,fullnameOverride=ours-evidence', 'ours-evidence'],
  [
    'migrate.mode=job,fullnameOverride=a-name-of-forty-characters-0123456789abc',
    'a-name-of-forty-characters-0123456789abc',
  ],
]

/** Checks that the alert about pods finds the pods of a release with another name, and no other pods. */
export async function findUnseenPods(
  helm: Helm,
  kubernetesVersion: string,
  promtool: string,
): Promise<string[]> {
  const faults: string[] = []
  for (const [values, fullname] of NAMES) {
    const set = ['--values', join(CHART_DIR, 'ci', 'monitoring-values.yaml'), '--set', values]
    const { code, stdout, stderr } = await template(helm, kubernetesVersion, set)
    if (code !== 0) {
      faults.push(`${values}: ${stderr.trim()}`)
      continue
    }
    const objects = parse(stdout)
    const job = objects.find(({ kind }) => kind === 'Job')!.metadata.name
    const rules = objects
      .filter(({ kind }) => kind === 'PrometheusRule')
      .flatMap(({ spec }) => spec.groups.flatMap((group: { rules: object[] }) => group.rules))
      .filter(({ alert }) => alert === ALERT)
    for (const pod of [`${fullname}-api-7d9-x`, `${job}-x`])
      faults.push(...tryPod(promtool, rules, pod).map((fault) => `${values}: ${fault}`))
  }
  return faults
}

function tryPod(promtool: string, rules: Parameters<typeof realLifeTests>[2], pod: string): string[] {
  const dir = mkdtempSync(join(tmpdir(), 'tallystick-names-'))
  const [one] = CASES.filter(({ alert }) => alert === ALERT)
  const tests = realLifeTests(one!, 0, rules).map(({ test }) => test)
  try {
    const file = join(dir, 'rules.json')
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'pods', rules }] }))
    const text = JSON.stringify({ rule_files: [file], evaluation_interval: '1m', tests })
    writeFileSync(join(dir, 'tests.json'), text.replaceAll('tallystick-api-7d9-x', pod))
    const { status, stdout, stderr } = spawnSync(promtool, ['test', 'rules', join(dir, 'tests.json')], {
      encoding: 'utf8',
    })
    return status === 0 ? [] : [`${pod}: ${`${stdout}${stderr}`.trim().slice(0, 2_000)}`]
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/**
 * Returns the selectors in the documentation that match nothing in this rendering. They must work for every name of a
 * release.
 */
export function findBlindSelectors(name: string, objects: readonly KubernetesObject[]): string[] {
  const labels = [
    ...objects.map(({ metadata }) => metadata.labels ?? {}),
    ...objects.flatMap(podsOf).map((pod) => pod.labels),
  ]
  return selectorsOfPages().flatMap(({ page, selector }) => {
    const pairs = selector.split(',').map((pair) => pair.split('=') as [string, string])
    const isMet = labels.some((all) =>
      pairs.every(([label, value]) => value.startsWith('$') || all[label] === value),
    )
    return isMet ? [] : [`${name}: ${page}: nothing has ${selector}`]
  })
}

function selectorsOfPages(): { page: string; selector: string }[] {
  return globSync('docs/**/*.md', { cwd: ROOT }).flatMap((page) =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/ -l "?(app\.kubernetes\.io[^"\s`]+)/g)].map(
      ([, selector]) => ({
        page,
        selector: selector!.replace(/=\$\d/, '=$'),
      }),
    ),
  )
}

/** Returns objects that two releases with a common name prefix share. */
export async function findCollisions(helm: Helm, kubernetesVersion: string): Promise<string[]> {
  const of = async (letter: string) => {
    const args = [
      '--values',
      join(CHART_DIR, 'ci', 'gateway-ledgers-values.yaml'),
      '--set',
      'migrate.mode=job,extraObjects=null',
    ]
    const release = `tallystick-production-eu-west-1-cluster-${letter}`
    const { stdout } = await template(helm, kubernetesVersion, args, release)
    return parse(stdout).map(({ kind, metadata }) => `${kind}/${metadata.name}`)
  }
  const [one, other] = [await of('a'), await of('b')]
  if (one.length === 0) return ['nothing is rendered for a long name']
  return one.filter((name) => other.includes(name)).map((name) => `${name}: both releases have it`)
}
