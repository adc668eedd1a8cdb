import { startTestPostgres, TEST_MASTER_KEY, type TestDatabase } from '../../helpers/database.ts'
import { TEST_SETTINGS, temporaryDir } from '../../helpers/postgres.ts'
import { Deployment, type DeploymentOptions } from './deployment.ts'
import { environmentOf } from './environment.ts'
import { type Part, startPart } from './part.ts'

type Test = { readonly name: string; after(cleanup: () => Promise<void>): void }

/** The public URL that tested applications have (test/helpers/app.ts). */
const PUBLIC_URL = 'https://ledger.example'

/**
 * Starts a deployment in this process, on a Postgres in memory. Both are stopped at the end of the test. All such
 * deployments have the same keys and public URL.
 */
export async function startTestDeployment(
  t: Test,
  options: Partial<DeploymentOptions> = {},
): Promise<Deployment> {
  const settings = { ...TEST_SETTINGS, shared_buffers: '32MB' }
  const { ownerUrl, superuserUrl } = await startTestPostgres(t, { settings })
  const env = { TALLYSTICK_PUBLIC_URL: PUBLIC_URL, ...options.env }
  const database = { ownerUrl, superuserUrl }
  const deployment = await Deployment.start({ dir: temporaryDir(), here: true, database, ...options, env })
  t.after(() => deployment.stop())
  return deployment
}

/**
 * Starts a worker in this process, on the database of a tested application. The worker is stopped at the end of the
 * test.
 */
export async function startWorkerOn(
  t: Test,
  database: TestDatabase,
  { env = {}, dataDir = temporaryDir() }: { env?: Readonly<Record<string, string>>; dataDir?: string } = {},
): Promise<Part> {
  const of = { ...database, dataDir, masterKey: TEST_MASTER_KEY }
  const part = await startPart('worker', {
    env: environmentOf(of, { TALLYSTICK_PUBLIC_URL: PUBLIC_URL, ...env }),
    log: null,
  })
  t.after(async () => void (await part.end('SIGTERM')))
  return part
}
