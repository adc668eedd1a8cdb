/*
 * npm run adapters
 *
 * Installs the libraries that the adapters are for, checks the adapters' types, packs them, has the guide's blocks use the packages as a
 * stranger would, and runs their tests. The libraries are 190 MB that nothing else here needs.
 */
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildSdk } from '../../../tools/build-sdk.ts'
import { ROOT } from '../../../tools/bundle.ts'
import { installAdapters, packAdapters, packAll } from '../../../tools/pack.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { startDeployment } from '../package/deployment.ts'
import { openGuide } from './guide.ts'

const run = promisify(execFile)
let failures = 0

await step('the libraries are installed', installAdapters)
await step('the SDK is built', async () => void (await buildSdk()))
await step('types (tsc)', () => node(['node_modules/typescript/bin/tsc', '-p', 'adapters']))
await step('docs/guide.md, with the packages as they are installed', useGuide)
await step('tests', () => node(['test/run.ts', ...globSync('adapters/test/*.test.ts', { cwd: ROOT }).sort()]))
if (failures > 0) process.exitCode = 1

async function useGuide(): Promise<void> {
  const dir = temporaryDir()
  const packages = [(await packAll(dir)).sdk, ...Object.values(await packAdapters(dir))]
  const guide = await openGuide(join(dir, 'project'), packages)
  await guide.compile()
  const deployment = await startDeployment()
  try {
    await guide.run(await deployment.newLedger())
  } finally {
    await deployment.close()
  }
}

async function node(args: readonly string[]): Promise<void> {
  await run(process.execPath, args, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 }).catch((error) => {
    throw new Error(`${error.stdout}${error.stderr}`)
  })
}

/** Says how it went; the next one is tried in any case. */
async function step(name: string, action: () => Promise<void>): Promise<void> {
  const startedAt = Date.now()
  const seconds = () => `${((Date.now() - startedAt) / 1000).toFixed(1)} s`
  try {
    await action()
    console.log(`ok   ${name}, ${seconds()}`)
  } catch (error) {
    failures++
    console.log(`FAIL ${name}, ${seconds()}: ${(error as Error).message.trim().replaceAll(/\n/g, '\n     ')}`)
  }
}
