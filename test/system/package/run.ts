/*
 * npm run drill -- package
 *
 * Packs the SDK and the command line, and installs them in empty projects, as a user would. Then uses them on every
 * supported runtime, against a server and a worker of this repository.
 */
import { join } from 'node:path'
import { packAll } from '../../../tools/pack.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { useCommandOn } from './cli-package.ts'
import { startPackageServer } from './deployment.ts'
import { bytesIn, installIn } from './project.ts'
import { installRuntimes } from './runtimes.ts'
import { checkBundleSizes, checkDependencies, checkTypes, kib, useOn } from './sdk-package.ts'

const dir = temporaryDir()
let failures = 0

const packed = await packAll(dir)
const [runtimes, sdk, cli, leanCli] = await Promise.all([
  installRuntimes(),
  installIn(join(dir, 'sdk'), packed.sdk),
  installIn(join(dir, 'cli'), packed.cli),
  installIn(join(dir, 'lean-cli'), packed.cli, ['--omit=optional']),
])

await step('@tallystick/sdk brings nothing but what it names', async () => checkDependencies(sdk))
await step('its size', async () => kib(await bytesIn(join(sdk.dir, 'node_modules', '@tallystick', 'sdk'))))
await step('its size in a bundle', () => checkBundleSizes(sdk))
await step('its types', () => checkTypes(sdk))
for (const project of [cli, leanCli])
  await step('the size of tallystick', async () => {
    const bytes = await bytesIn(join(project.dir, 'node_modules'))
    return `${project.packages.length} packages, ${kib(bytes)}`
  })

const deployment = await startPackageServer()
try {
  for (const runtime of runtimes)
    await step(`@tallystick/sdk on ${runtime.name}`, () => useOn(runtime, sdk, deployment))
  for (const runtime of runtimes.filter(({ runsCli }) => runsCli)) {
    await step(`tallystick on ${runtime.name}`, () => useCommandOn(runtime, cli, deployment))
    await step(`tallystick on ${runtime.name}, without libsodium`, () =>
      useCommandOn(runtime, leanCli, deployment),
    )
  }
} finally {
  await deployment.close()
}
if (failures > 0) process.exitCode = 1

/** Runs a step and prints its result. A failed step does not stop the next one. */
async function step(name: string, run: () => Promise<string>): Promise<void> {
  const startedAt = Date.now()
  const seconds = () => `${((Date.now() - startedAt) / 1000).toFixed(1)} s`
  try {
    const found = await run()
    console.log(`ok   ${name}, ${seconds()}: ${found}`)
  } catch (error) {
    failures++
    console.log(`FAIL ${name}, ${seconds()}: ${(error as Error).message.trim().replaceAll(/\n/g, '\n     ')}`)
  }
}
