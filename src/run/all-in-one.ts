import { resolve } from 'node:path'
import { checkConnection } from '../db/connect/check-connection.ts'
import { withClient } from '../db/connect/client.ts'
import { Database } from '../db/connect/connection.ts'
import { migrate } from '../db/schema/migrate.ts'
import { watchLog } from '../observe/metrics/log.ts'
import { Metrics } from '../observe/metrics/metrics.ts'
import { writeLine } from '../observe/standard-output.ts'
import { makeMasterKeys } from '../signing/master-keys.ts'
import { type Config, readConfig } from './config.ts'
import { connectDirectly } from './connect-directly.ts'
import { getLogins } from './database-logins.ts'
import { serveMetrics } from './listen-metrics.ts'
import { describeRunning } from './local/banner.ts'
import { type ChildWorker, startChildWorker, workerThreads } from './local/child-worker.ts'
import { buildConsole } from './local/console.ts'
import { ensureFirstLedger } from './local/first-ledger.ts'
import { requireFreePort } from './local/http-port.ts'
import { openLocalLog } from './local/log.ts'
import { getLocalSecrets } from './local/secrets.ts'
import { listenForStop, type Stop } from './local/stop.ts'
import { chooseDataDir, openDataDir, postgresDir } from './postgres/layout.ts'
import { startPostgres } from './postgres/start.ts'
import { startServer } from './server.ts'

/*
 * Entry point of `npm start`, for one machine. Runs Postgres (embedded, or DATABASE_URL), migrations, server and
 * worker. The first start also creates a ledger and a key. In production, run each part separately.
 *
 * The parts are started in this order. Ctrl-C or SIGTERM stops them in reverse order, with exit code 0. The worker is a
 * child process and ends with this process.
 */
const PROJECT_DIR = resolve(import.meta.dirname, '..', '..')
const tell = (line: string) => writeLine(`tallystick: ${line}`)
/** True if progress is shown. Progress is shown only at a terminal. Elsewhere the log is enough. */
const isWatched = process.stdout.isTTY === true
const progress = (line: string) => {
  if (isWatched) tell(`${line} …`)
}

type Closer = () => Promise<unknown>
/**
 * The promise is a member of an object, because an async function that returned the promise directly would wait for it.
 */
type Running = { readonly postgresExited: Promise<void> }

if (process.argv.length > 2) {
  tell(
    '`npm start` takes no arguments: set environment variables instead (docs/operate/settings.md), such as TALLYSTICK_PORT=3001 npm start',
  )
  process.exit(2)
}

connectDirectly()
const stop = listenForStop()
const closers: Closer[] = []
try {
  const { postgresExited } = await start(readConfig(), stop, closers)
  const why = await Promise.race([stop.requested, postgresExited.then(() => 'Postgres has stopped')])
  if (!stop.isRequested()) throw new Error(`${why} by itself: see postgres.log in the data folder`)
} catch (error) {
  if (!stop.isRequested()) {
    tell((error as Error).message)
    process.exitCode = 1
  }
}
for (const close of closers.reverse()) {
  await close().catch((error: Error) => {
    tell(`while stopping: ${error.message}`)
    process.exitCode = 1
  })
}
stop.done()

async function start(given: Config, stop: Stop, closers: Closer[]): Promise<Running> {
  await requireFreePort(given.host, given.port)
  const dataDir = placeData(given)
  const secrets = getLocalSecrets(given, dataDir)
  const consoleBuilt = given.console ? buildConsole(PROJECT_DIR) : null
  let ownerUrl = given.ownerUrl
  let postgresExited: Promise<void> = new Promise(() => {})
  if (ownerUrl === null) {
    progress('starting Postgres')
    const postgres = await startPostgres({ dataDir: postgresDir(dataDir), log: tell })
    closers.push(() => postgres.stop())
    ownerUrl = postgres.ownerUrl
    postgresExited = postgres.exited
  } else {
    await checkConnection(new Database(ownerUrl, given.database))
  }
  stop.throwIfRequested()

  progress('bringing the database up to date')
  const logins = getLogins({ ...given, dataDir }, ownerUrl)
  const masterKey = makeMasterKeys(secrets.masterKey, given.previousMasterKey)
  const owner = new Database(ownerUrl, given.ownerUrl === null ? undefined : given.database)
  const { names, passwords, byRdsIam } = logins
  await migrate({ ownerUrl: owner, masterKey, logins: names, passwords, byRdsIam, notify: tell })
  stop.throwIfRequested()

  const { apiUrl, workerUrl } = logins
  // True if the URLs contain the passwords. Passwords that this command generated are always in the URLs.
  const isInUrl = new URL(apiUrl).password !== ''
  const database = isInUrl ? { ...given.database, password: null } : given.database
  const config: Config = { ...given, ...secrets, dataDir, apiUrl, workerUrl, database }
  const metrics = new Metrics()
  let worker: ChildWorker | null = null
  if (config.metricsPort !== null) {
    const at = { host: config.host, port: config.metricsPort }
    const listener = await serveMetrics(metrics, at, undefined, async () => worker?.metrics() ?? '')
    closers.push(() => listener.close())
  }
  progress('starting the worker and the server')
  const log = await openLocalLog(config.logLevel, watchLog(metrics, 'server'))
  // The worker starts first, because it must close a ledger that is an older backup before the server can append to
  // that ledger.
  const { masterKey: key, previousMasterKey } = config
  const threads = workerThreads(config.threads)
  const settings = {
    dataDir,
    workerUrl,
    masterKey: key,
    previousMasterKey,
    threads,
    isPasswordInUrl: isInUrl,
  }
  const started = await startChildWorker({ settings, env: process.env, log })
  worker = started
  closers.push(() => started.close())
  const withoutConsole = await consoleBuilt
  if (withoutConsole !== null) tell(`there is no console: ${withoutConsole}`)
  const server = await startServer(config, undefined, metrics, log)
  closers.push(() => server.close())

  const url = reachableUrl(server.url)
  const first = await ensureFirstLedger({ url, dataDir, operatorKey: secrets.operatorKey }).catch((error) =>
    throwWithCause(error, new Database(apiUrl, database)),
  )
  const hasConsole = config.console && withoutConsole === null
  writeLine(describeRunning({ url, dataDir, ownDatabase: given.ownerUrl === null, first, hasConsole }), 1)
  return { postgresExited }
}

/**
 * Throws the error again. If the database refuses the server's login, the database's reason is added, because the
 * server only answers 503.
 */
async function throwWithCause(error: Error, database: Database): Promise<never> {
  await withClient(database, async () => {}).catch((cause: Error) => {
    throw new Error(`${error.message}\ntallystick: ${cause.message}`, { cause })
  })
  throw error
}

/**
 * Returns the data folder. A configured folder is used unchanged. The default depends on the user that Postgres runs
 * as.
 */
function placeData(config: Config): string {
  if (config.dataDir !== resolve('.tallystick')) return openDataDir(config.dataDir)
  return openDataDir(chooseDataDir(PROJECT_DIR, { embedded: config.ownerUrl === null, log: tell }))
}

/**
 * Returns a URL for clients. `0.0.0.0` and `[::]` are replaced, because they are addresses to listen on and not to
 * connect to.
 */
function reachableUrl(listening: string): string {
  const url = new URL(listening)
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1'
  return url.origin
}
