/*
 * npm run image
 *
 * Lints the Dockerfile, builds it without an engine, and runs each command of the image as a runtime would: PID 1, another user, a root
 * that cannot be written to, a real Postgres. As root on Linux; elsewhere only the lint.
 */
import { chownSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findGoTool } from '../../../tools/go-tool.ts'
import { startSuitePostgres, temporaryDir } from '../../helpers/postgres.ts'
import { buildImage } from './build.ts'
import { describeSize, requireBare } from './contents.ts'
import { Deployment } from './deployment.ts'
import { migrateForIam, walkEks } from './eks.ts'
import { lintDockerfile } from './hadolint.ts'
import { measureStart } from './measure.ts'

const PROJECT_DIR = resolve(import.meta.dirname, '..', '..', '..')

let failures = 0

await step('hadolint', async () => lintDockerfile(PROJECT_DIR))
if (process.platform !== 'linux' || process.getuid?.() !== 0)
  console.log('skip the image is not built: it takes overlays and namespaces, which are for root on Linux')
else await tryImage()
if (failures > 0) process.exitCode = 1

async function tryImage(): Promise<void> {
  const dir = temporaryDir()
  const image = await step(
    'build',
    async () => buildImage(PROJECT_DIR, dir),
    (built) => describeSize(built),
  )
  if (!image) return
  await step('nothing in it but what runs', async () => requireBare(image))
  const data = join(dir, 'data')
  mkdirSync(data)
  chownSync(data, 65_532, 65_532)
  await step('time to start', () => measureStart(image))
  const postgres = await startSuitePostgres()
  const deployment = await Deployment.open(image, postgres, data)
  try {
    await step('migrate, twice', () => deployment.migrate())
    await step('server and worker', () => deployment.start())
    await step('smoke', () => deployment.smoke())
    await step('notarize, export, verify elsewhere', () => deployment.verifyElsewhere())
    await step('verify a tampered export', () => deployment.refuseTampered())
    await step('operate, rotate-key, preflight', () => deployment.askAsOwner())
    await step('a token for RDS', () => deployment.signToken())
    await step('what can be written to', () => deployment.tryToWrite())
    await step('SIGTERM to PID 1', () => deployment.stop())
    await step('SIGTERM to PID 1 that still starts', () => deployment.stopStarting())
  } finally {
    await deployment.close()
    await postgres.stop('immediate')
  }
  const helm = findGoTool('helm4')
  if (helm === null) return console.log('skip docs/eks.md: there is no Helm; npm run chart builds one')
  await step('docs/eks.md', () => walkEks(image, helm, join(dir, 'eks')))
  await step('docs/eks.md, without passwords', () => migrateForIam(image, helm, join(dir, 'iam')))
}

/** Says how it went; the next one is tried in any case. Answers what it made, or null. */
async function step<T>(
  name: string,
  run: () => Promise<T>,
  describe: (made: T) => string = String,
): Promise<T | null> {
  const startedAt = Date.now()
  const seconds = () => `${((Date.now() - startedAt) / 1000).toFixed(1)} s`
  try {
    const made = await run()
    console.log(`ok   ${name}, ${seconds()}: ${describe(made)}`)
    return made
  } catch (error) {
    failures++
    console.log(`FAIL ${name}, ${seconds()}: ${(error as Error).message.trim().replaceAll(/\n/g, '\n     ')}`)
    return null
  }
}
