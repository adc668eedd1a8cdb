import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { migrate } from '../src/db/schema/migrate.ts'
import { makeMasterKey } from '../src/signing/master-key.ts'
import { environmentOf, loginsOf } from '../test/system/deployment/environment.ts'
import { findPort } from '../test/system/deployment/processes.ts'
import { ProductProcess } from '../test/system/deployment/product-process.ts'
import type { Target } from './load/connection.ts'
import { post } from './load/post.ts'
import { startWatchers, type Watchers } from './watchers.ts'

/** API processes and a worker as a user would run them, on one database, with one ledger. */
export type System = {
  readonly targets: readonly Target[]
  readonly servers: readonly ProductProcess[]
  readonly worker: ProductProcess | null
  readonly ledger: string
  readonly bearer: string
  readonly env: NodeJS.ProcessEnv
  /** URLs of the API processes' metrics. Empty if metrics were not requested. */
  readonly metrics: readonly string[]
  stop(): Promise<void>
}

export type Deployment = { readonly env: NodeJS.ProcessEnv; readonly operatorKey: string; close(): void }

/**
 * Migrates the database and makes the secrets. If the logins exist already, their passwords must be given: in the
 * environment, or by `beside`, a deployment on the same Postgres.
 */
export async function deploy(
  ownerUrl: string,
  beside: Pick<Deployment, 'env'> | null = null,
): Promise<Deployment> {
  const masterKey = randomBytes(32)
  const apiPassword = randomBytes(24).toString('hex')
  const workerPassword = randomBytes(24).toString('hex')
  const given = beside?.env ?? process.env
  const apiUrl = given['TALLYSTICK_API_DATABASE_URL']
  const workerUrl = given['TALLYSTICK_WORKER_DATABASE_URL']
  if (apiUrl === undefined || workerUrl === undefined) await refuseForeignLogins(ownerUrl)
  await migrate({
    ownerUrl,
    masterKey: makeMasterKey(masterKey),
    passwords: {
      api: apiUrl === undefined ? apiPassword : null,
      worker: workerUrl === undefined ? workerPassword : null,
    },
  })
  const operatorKey = `tlo_${randomBytes(24).toString('hex')}`
  const dataDir = mkdtempSync(join(tmpdir(), 'tallystick-bench-data-'))
  const made = loginsOf(ownerUrl, { api: apiPassword, worker: workerPassword })
  const logins = {
    apiUrl: givenLogin(apiUrl, ownerUrl) ?? made.apiUrl,
    workerUrl: givenLogin(workerUrl, ownerUrl) ?? made.workerUrl,
  }
  const env = {
    ...process.env,
    ...environmentOf(
      { ...logins, dataDir, masterKey, operatorKey },
      {
        // A benchmark has no load balancer for which the drain would wait.
        TALLYSTICK_DRAIN_SECONDS: '0',
        TALLYSTICK_LOG_LEVEL: process.env['TALLYSTICK_LOG_LEVEL'] ?? 'info',
      },
    ),
    DATABASE_URL: undefined,
    NODE_OPTIONS: undefined,
  }
  return { env, operatorKey, close: () => rmSync(dataDir, { recursive: true, force: true }) }
}

/** Returns the login URL from the environment, changed to the database of `ownerUrl`. */
function givenLogin(url: string | undefined, ownerUrl: string): string | null {
  if (url === undefined) return null
  return Object.assign(new URL(url), { pathname: new URL(ownerUrl).pathname }).href
}

/**
 * Throws if the logins exist. Logins belong to the whole cluster, so a new password would lock out the deployment
 * that uses them.
 */
async function refuseForeignLogins(ownerUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl })
  await client.connect()
  try {
    const { rowCount } = await client.query(
      "select from pg_roles where rolname in ('tallystick_api', 'tallystick_worker')",
    )
    if (rowCount === 0) return
  } finally {
    await client.end()
  }
  throw new Error(
    'this Postgres already has the logins of a Tallystick: set TALLYSTICK_API_DATABASE_URL and TALLYSTICK_WORKER_DATABASE_URL ' +
      'to the URLs of its logins (their database does not matter)',
  )
}

export async function startSystem(
  deployment: Deployment,
  options: { servers: number; worker: boolean; inspect: boolean; metrics?: boolean; watched?: boolean },
): Promise<System> {
  const children: ProductProcess[] = []
  let watchers: Watchers | null = null
  const stop = async () => {
    await watchers?.stop()
    if (watchers) console.log(`watched: the monitor read ${watchers.reads()} tiles, bundles and checkpoints`)
    watchers = null
    await Promise.all(children.splice(0).map((child) => child.stop()))
  }
  try {
    const targets: Target[] = []
    const metrics: string[] = []
    let shared = deployment.env
    for (let i = 0; i < options.servers; i++) {
      const port = await findPort()
      if (i === 0) shared = { ...shared, TALLYSTICK_PUBLIC_URL: `http://127.0.0.1:${port}` }
      const env: NodeJS.ProcessEnv = { ...shared, TALLYSTICK_PORT: String(port) }
      if (options.metrics) {
        const metricsPort = await findPort()
        env['TALLYSTICK_METRICS_PORT'] = String(metricsPort)
        metrics.push(`http://127.0.0.1:${metricsPort}/metrics`)
      }
      children.push(startMeasured('server', env, options.inspect))
      targets.push({ host: '127.0.0.1', port })
    }
    const servers = [...children]
    await Promise.all(servers.map((server, i) => server.isReadyAt(`http://127.0.0.1:${targets[i]!.port}`)))
    const made = await makeLedger(targets[0]!, deployment.operatorKey)
    watchers = options.watched ? await startWatchers(targets[0]!, made.bearer, made.ledger) : null
    if (watchers) shared = { ...shared, TALLYSTICK_WITNESSES: watchers.witnesses }
    const worker = options.worker ? startMeasured('worker', shared, options.inspect) : null
    if (worker) children.push(worker)
    return { targets, servers, worker, ...made, env: deployment.env, metrics, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Starts a process without its log output. `inspect`: allows profiling of the process. */
export function startMeasured(
  script: 'server' | 'worker',
  env: NodeJS.ProcessEnv,
  inspect = false,
): ProductProcess {
  const nodeArgs = inspect ? ['--inspect=127.0.0.1:0'] : []
  return new ProductProcess({ script, env, nodeArgs, output: 'errors' })
}

async function makeLedger(target: Target, operatorKey: string): Promise<{ ledger: string; bearer: string }> {
  const made = await post(target, operatorKey, '/v1/ledgers', { name: 'bench' })
  return { ledger: made.ledger.id, bearer: made.key.key }
}
