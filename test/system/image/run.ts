/*
 * npm run drill -- image
 *
 * Lints the Dockerfile, builds it if an engine runs, and tries its commands. Then it follows docs/operate/eks.md:
 * each pod that the chart renders runs as a process of this checkout. Without an engine or without Helm, it prints
 * which steps it left out.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { findGoTool } from '../../../tools/go-tool.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { PROJECT_DIR } from '../deployment/product-process.ts'
import { migrateForIam, walkEks } from './eks.ts'
import { lintDockerfile } from './hadolint.ts'

const TAG = 'tallystick-under-test'
/** Arguments that restrict the container as a pod is restricted. */
const RUN = ['run', '--rm', '--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL', TAG]
const ENGINES = ['docker', 'podman']

let failures = 0
const dir = temporaryDir()

await step('hadolint', async () => lintDockerfile(PROJECT_DIR))
const engine = ENGINES.find((name) => spawnSync(name, ['info']).status === 0)
if (engine === undefined) console.log('skip the image is not built: no container engine runs here')
else await step(`build and run, by ${engine}`, async () => buildAndRun(engine))
const helm = findGoTool('helm4')
if (helm === null)
  console.log('skip docs/operate/eks.md: there is no Helm; npm run drill -- chart builds one')
else {
  mkdirSync(dir, { recursive: true })
  await step('docs/operate/eks.md', () => walkEks(helm, join(dir, 'eks')))
  await step('docs/operate/eks.md, without passwords', () => migrateForIam(helm, join(dir, 'iam')))
}
process.exit(failures === 0 ? 0 : 1)

/** Returns the version that the image prints. Throws if the image cannot be built or its entry point does not run. */
function buildAndRun(engine: string): string {
  run(engine, ['build', '--tag', TAG, PROJECT_DIR])
  return run(engine, [...RUN, 'tallystick', '--version'])
}

function run(engine: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(engine, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${engine} ${args[0]}: ${stderr.slice(-2_000)}`)
  return stdout.trim()
}

/** Runs a step and prints its result. A failed step does not stop the next one. */
async function step(name: string, run: () => Promise<string>): Promise<void> {
  const startedAt = Date.now()
  const seconds = () => `${((Date.now() - startedAt) / 1000).toFixed(1)} s`
  try {
    const said = await run()
    console.log(`ok   ${name}, ${seconds()}: ${said}`)
  } catch (error) {
    failures++
    console.log(`FAIL ${name}, ${seconds()}: ${(error as Error).message.trim().replaceAll(/\n/g, '\n     ')}`)
  }
}
