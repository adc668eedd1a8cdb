/*
 * npm run drill -- adapters
 *
 * Installs the libraries of the adapters, and packs the adapters in a clean clone. Runs the guide's blocks in a new
 * project. Checks the adapters' types, and runs their tests. Only this drill needs the libraries, which are 190 MB.
 */
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildSdk } from '../../../tools/build-sdk.ts'
import { ROOT } from '../../../tools/bundle.ts'
import { installAdapters } from '../../../tools/pack.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { startPackageServer } from '../package/deployment.ts'
import { makeCleanClone } from './clean-clone.ts'
import { checkInstalls, makeProject, pastePrograms, readGuide } from './guide.ts'

const run = promisify(execFile)
let failures = 0

await step('the libraries are installed', installAdapters)
const dir = temporaryDir()
const clone = join(dir, 'clone')
await step('npm run pack -- --adapters, in a clean clone', async () => {
  await makeCleanClone(clone)
  await node(['tools/pack.ts', '--adapters'], clone)
})
await step('docs/start/guide.md, with the packages as they are installed', useGuide)
await step('the SDK is built', async () => void (await buildSdk()))
await step('types (tsc)', () => node(['node_modules/typescript/bin/tsc', '-p', 'adapters']))
await step('tests', () => node(['test/run.ts', ...globSync('adapters/test/*.test.ts', { cwd: ROOT }).sort()]))
if (failures > 0) process.exitCode = 1

async function useGuide(): Promise<void> {
  const { installs, programs } = readGuide()
  checkInstalls(installs)
  const project = join(dir, 'project')
  const packed = globSync('tallystick-*-*.tgz', { cwd: join(clone, 'dist') })
  await makeProject(
    project,
    packed.map((file) => join(clone, 'dist', file)),
  )
  const deployment = await startPackageServer()
  try {
    await pastePrograms(project, programs, await deployment.newLedger())
  } finally {
    await deployment.close()
  }
}

async function node(args: readonly string[], cwd = ROOT): Promise<void> {
  await run(process.execPath, args, { cwd, maxBuffer: 64 * 1024 * 1024 }).catch((error) => {
    throw new Error(`${error.stdout}${error.stderr}`)
  })
}

/** Runs a step and prints its result. A failed step does not stop the next one. */
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
