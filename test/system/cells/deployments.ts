import { migrate } from '../../../src/db/schema/migrate.ts'
import { parseConfig } from '../../../src/run/config.ts'
import { startServer } from '../../../src/run/server.ts'
import { startWorker } from '../../../src/run/worker.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { OPERATOR_KEY } from '../../helpers/app.ts'
import { startTestPostgres, TEST_MASTER_KEY, TEST_PASSWORDS } from '../../helpers/database.ts'
import { TEST_SETTINGS, temporaryDir } from '../../helpers/postgres.ts'

export type Deployment = {
  readonly url: string
  readonly ownerUrl: string
  readonly superuserUrl: string
  close(): Promise<void>
}

/** A server, and a worker if asked for, on a Postgres cluster of its own; all deployments share master key and public URL. */
export async function startDeployment(
  t: { readonly name: string; after(cleanup: () => Promise<void>): void },
  {
    withWorker = false,
    prepare = async () => {},
    environment = {},
  }: {
    withWorker?: boolean
    prepare?: (ownerUrl: string, superuserUrl: string) => Promise<void>
    /** Over the usual one. */
    environment?: Record<string, string>
  } = {},
): Promise<Deployment> {
  const postgres = await startTestPostgres(t, { settings: { ...TEST_SETTINGS, shared_buffers: '32MB' } })
  const { ownerUrl } = postgres
  const superuserUrl = Object.assign(new URL(postgres.superuserUrl), {
    pathname: new URL(ownerUrl).pathname,
  }).href
  const passwords = { api: TEST_PASSWORDS.api, worker: TEST_PASSWORDS.worker }
  await migrate({ ownerUrl, masterKey: makeMasterKey(TEST_MASTER_KEY), passwords })
  await prepare(ownerUrl, superuserUrl)
  const urlAs = (username: string, password: string) =>
    Object.assign(new URL(ownerUrl), { username, password }).href
  const config = parseConfig({
    TALLYSTICK_API_DATABASE_URL: urlAs('tallystick_api', TEST_PASSWORDS.api),
    TALLYSTICK_WORKER_DATABASE_URL: urlAs('tallystick_worker', TEST_PASSWORDS.worker),
    TALLYSTICK_MASTER_KEY: Buffer.from(TEST_MASTER_KEY).toString('hex'),
    TALLYSTICK_OPERATOR_KEY: OPERATOR_KEY,
    TALLYSTICK_PUBLIC_URL: 'https://ledger.example',
    TALLYSTICK_PORT: '0',
    TALLYSTICK_DATA: temporaryDir(),
    TALLYSTICK_OUTBOUND_ALLOW: '127.0.0.0/8',
    TALLYSTICK_LOG_LEVEL: 'silent',
    ...environment,
  })
  const server = await startServer(config)
  const worker = withWorker ? await startWorker(config) : null
  let closed: Promise<void> | null = null
  const close = () => {
    closed ??= (async () => {
      await worker?.close()
      await server.close()
    })()
    return closed
  }
  t.after(close)
  return { url: server.url, ownerUrl, superuserUrl, close }
}
