/*
 * npm run drill -- chart [--write]
 *
 * Checks everything about helm/tallystick that needs no cluster, with Helm 3 and Helm 4. A fault does not stop the
 * other checks. Each line of the output names what was checked. Helm and similar tools are built from source, once
 * (tools/go-tool.ts). `--write` stores the fields that an upgrade from this version cannot change.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { installGoTool } from '../../../tools/go-tool.ts'
import { CHART_DIR, faultsOf, ROOT } from './command.ts'
import { findRefusedConfigurations } from './configuration.ts'
import { findUnknownFieldsOfCrds, loadCrds } from './crds.ts'
import { findMissingNames, readExample } from './example.ts'
import { findStrays } from './http-routes.ts'
import { findUnknownFields, installValidator } from './kubernetes-schemas.ts'
import { findBlindSelectors, findCollisions, findUnseenPods } from './names.ts'
import { findLenience, REFUSALS } from './refusals.ts'
import { listCases, type Rendering, renderAll } from './render.ts'
import { findFaults } from './rules.ts'
import { findRunaways } from './scaling.ts'
import { sweep } from './sweep.ts'
import { findBreakingChanges, keepThisVersion } from './upgrade.ts'

/** The oldest version that the chart accepts (Chart.yaml), and a new version. */
const KUBERNETES_VERSIONS = ['1.30.0', '1.36.0']
const NEWEST = KUBERNETES_VERSIONS.at(-1)!

const log = (line: string) => console.log(line)
const helms = [
  { name: 'Helm 3', path: await installGoTool('helm3', log) },
  { name: 'Helm 4', path: await installGoTool('helm4', log) },
]
const helmUnittest = await installGoTool('helm-unittest', log)
const promtool = await installGoTool('promtool', log)
const validator = installValidator()
const crds = await loadCrds()

const { version } = parse(readFileSync(join(CHART_DIR, 'Chart.yaml'), 'utf8')) as { version: string }
if (process.argv.includes('--write')) await keepThisVersion(helms[1]!, NEWEST, version)

const renderings: Rendering[] = []
const cases = listCases()
for (const helm of helms) {
  const valuesOf = (file: string) => ['--values', file]
  const lint = ['lint', '--strict', CHART_DIR, '--kube-version', NEWEST]
  await check(`${helm.name}: lint`, async () => {
    const found = await Promise.all(cases.map((file) => faultsOf(helm.path, [...lint, ...valuesOf(file)])))
    return found.flat()
  })
  for (const kubernetesVersion of KUBERNETES_VERSIONS) {
    await check(
      `${helm.name}: ${cases.length} cases for Kubernetes ${kubernetesVersion} render`,
      async () => {
        const { rendered, faults } = await renderAll(helm, kubernetesVersion)
        renderings.push(...rendered)
        return faults
      },
    )
  }
  await check(`${helm.name}: ${REFUSALS.length} wrong values are refused, and it is said why`, () =>
    findLenience(helm, NEWEST),
  )
  await check(`${helm.name}: an upgrade from the values of earlier versions`, () =>
    findBreakingChanges(helm, NEWEST),
  )
}
await check(
  'every value, set to null, nothing, another type and too much, is refused by name or works',
  async () => {
    const { faults, rendered, tried } = await sweep(helms[1]!, NEWEST)
    log(`     ${tried} values, ${rendered.length} of them taken`)
    return [
      ...faults,
      ...(await findUnknownFields(validator, rendered)),
      ...findUnknownFieldsOfCrds(crds, rendered),
    ]
  },
)
await check('workers scaled by hpa are as many as the backlog wants, however many say it', async () =>
  renderings
    .filter(({ objects }) =>
      objects.some(({ spec }) => spec?.metrics?.some(({ type }: { type: string }) => type === 'External')),
    )
    .flatMap((rendering) => findRunaways(promtool, rendering)),
)
await check('the alert on pods finds those of a release that is called otherwise', () =>
  findUnseenPods(helms[1]!, NEWEST, promtool),
)
await check('releases whose names begin alike have no object in common', () =>
  findCollisions(helms[1]!, NEWEST),
)
await check('what pages tell people to select is there, whatever the release is called', async () =>
  renderings
    .filter(({ name }) => name !== 'external-migration')
    .flatMap(({ name, objects }) => findBlindSelectors(name, objects)),
)
const count = renderings.reduce((sum, { objects }) => sum + objects.length, 0)
await check(`the schemas of Kubernetes ${KUBERNETES_VERSIONS.join(' and ')} know every field`, () =>
  findUnknownFields(validator, renderings),
)
const example = readExample('cloudnative-pg.yaml', NEWEST)
await check(`the definitions of other kinds, ${crds.size} in all, know every field too`, async () =>
  findUnknownFieldsOfCrds(crds, [...renderings, example]),
)
await check('the example of a database has what the values beside it name', async () =>
  findMissingNames(example.objects, parse(readFileSync(join(CHART_DIR, 'ci', 'zones-values.yaml'), 'utf8'))),
)
await check('requests reach the deployment of their ledger by the rules of the Gateway API', async () =>
  findStrays(renderings),
)
await check(`${count} objects hold to the rules`, async () =>
  renderings.flatMap(({ helm, name, objects }) =>
    findFaults(objects).map((fault) => `${helm}, ${name}: ${fault}`),
  ),
)
await check('the processes take their configuration', async () =>
  renderings.flatMap(({ name, objects }) =>
    findRefusedConfigurations(objects).map((fault) => `${name}: ${fault}`),
  ),
)
await check('helm-unittest', () => faultsOf(helmUnittest, ['--strict', CHART_DIR]))
const alerts = join(ROOT, 'test', 'system', 'operations', 'alerts.ts')
await check('alerts and dashboard', () => faultsOf(process.execPath, [alerts]))

async function check(name: string, run: () => Promise<string[]>): Promise<void> {
  const startedAt = Date.now()
  const faults = await run().catch((error: Error) => [error.stack ?? error.message])
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1)
  console.log(`${faults.length === 0 ? 'ok  ' : 'FAIL'} ${name}, ${seconds} s`)
  for (const fault of faults) console.log(`     ${fault.replaceAll('\n', '\n     ')}`)
  if (faults.length > 0) process.exitCode = 1
}
