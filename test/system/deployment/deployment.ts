import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ACCEPTABLE, type Acceptable } from '../../../src/db/connect/acceptable.ts'
import { Database } from '../../../src/db/connect/connection.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { startRotation } from '../../../src/db/schema/rotation.ts'
import { type PostgresOptions, type RunningPostgres, startPostgres } from '../../../src/run/postgres/start.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { putCluster, startSuitePostgres, temporaryDir } from '../../helpers/postgres.ts'
import { environmentOf, loginsOf, MASTER_KEY, OPERATOR_KEY } from './environment.ts'
import { Inspector } from './inspector.ts'
import { type Part, type PartName, startPart } from './part.ts'
import {
  childrenOf,
  connecting,
  findPort,
  findWriter,
  killIfAlive,
  stayFor,
  withPatientClient,
} from './processes.ts'

export { MASTER_KEY, OPERATOR_KEY } from './environment.ts'

/**
 * A Postgres, servers and workers as an operator runs them. Each can be killed and started again at its old address.
 */
export type DeploymentOptions = {
  /** Folder of Postgres' data, of logs and of the worker's files. The caller removes the folder. */
  readonly dir: string
  readonly apis?: number
  /** Number of workers. true means one worker, and false means no worker. */
  readonly worker?: boolean | number
  /** Overrides settings of `startPostgres`. Postgres is durable unless a test changes that. */
  readonly settings?: PostgresOptions['settings']
  /** A Postgres to use instead of a Postgres of the deployment. The caller stops it, unless `stop` is given. */
  readonly database?: Pick<RunningPostgres, 'ownerUrl' | 'superuserUrl'> &
    Partial<Pick<RunningPostgres, 'stop'>>
  /** Runs servers and workers in this process. This takes a fraction of the CPU, but the parts cannot be killed. */
  readonly here?: boolean
  readonly root?: string
  readonly masterKey?: Uint8Array
  readonly operatorKey?: string
  readonly passwords?: { readonly api: string; readonly worker: string }
  /** Environment of the Postgres process, for example for a preloaded library. */
  readonly postgresEnv?: Record<string, string>
  readonly nodeOptions?: string
  /** Overrides the environment of all servers and workers. */
  readonly env?: Readonly<Record<string, string>>
  readonly apiEnv?: Readonly<Record<string, string>>
  /** Time that open answers get when a server in this process (`here`) is stopped. */
  readonly closeStreamsMs?: number
  /** Starts a proxy between the processes and Postgres. Takes Postgres' URL and returns the proxy's URL. */
  readonly through?: (postgresUrl: string) => Promise<string>
  /**
   * Starts a proxy in front of the first API process. Takes its URL and returns the URL that peers use for the
   * deployment.
   */
  readonly publicly?: (apiUrl: string) => Promise<string>
  /**
   * `postgres` starts only the database. `migrated` also migrates the database. Without this option everything is
   * started.
   */
  readonly only?: 'postgres' | 'migrated'
}

export type Ledger = { readonly ledger: string; readonly bearer: string }

/**
 * What is killed:
 *
 * - `server`: all processes at once, as when the container is killed.
 * - `postmaster`: only the parent. Its children notice by themselves.
 * - `backend`: the appending backend. Postgres then recovers by itself.
 */
export type PostgresVictim = 'server' | 'postmaster' | 'backend'

const PASSWORDS = { api: 'faults-api', worker: 'faults-worker' }

export class Deployment {
  readonly urls: readonly string[]
  readonly #options: DeploymentOptions
  readonly #apiPorts: readonly number[]
  readonly #postgresPort: number
  readonly #apis: Part[] = []
  readonly #workers: Part[] = []
  #postgres: RunningPostgres | null = null
  #address: string | null = null
  #publicUrl: string | null = null
  /**
   * Master keys of processes that start from now on. The first key seals. While the master key is being replaced, the
   * second key is the previous master key.
   */
  masterKeys: readonly Uint8Array[]

  private constructor(options: DeploymentOptions, apiPorts: readonly number[], postgresPort: number) {
    this.#options = options
    this.#apiPorts = apiPorts
    this.#postgresPort = postgresPort
    this.masterKeys = [options.masterKey ?? MASTER_KEY]
    this.urls = apiPorts.map((port) => `http://127.0.0.1:${port}`)
  }

  static async start(options: DeploymentOptions): Promise<Deployment> {
    exitOnSignals()
    const ports = []
    for (let i = 0; i <= (options.apis ?? 1); i++) ports.push(await findPort())
    const deployment = new Deployment(options, ports.slice(1), ports[0]!)
    try {
      if (!options.database) await deployment.startPostgres()
      deployment.#address = (await options.through?.(deployment.ownerUrl)) ?? null
      deployment.#publicUrl = (await options.publicly?.(deployment.url)) ?? null
      if (options.only === 'postgres') return deployment
      await deployment.migrate()
      if (options.only !== 'migrated') await deployment.startAll()
      return deployment
    } catch (error) {
      await deployment.stop()
      throw error
    }
  }

  get operatorKey(): string {
    return this.#options.operatorKey ?? OPERATOR_KEY
  }

  async migrate(): Promise<void> {
    await migrate({
      ownerUrl: new Database(this.ownerUrl, { caFile: null, password: null, accepted: this.#accepted }),
      masterKey: makeMasterKey(this.#options.masterKey ?? MASTER_KEY),
      passwords: this.#options.passwords ?? PASSWORDS,
    })
  }

  async startAll(): Promise<void> {
    await Promise.all(this.urls.map((_, i) => this.startApi(i)))
    for (let i = 0; i < Number(this.#options.worker ?? 0); i++) await this.startWorker(i)
  }

  async startApi(i = 0): Promise<void> {
    this.#apis[i] = await this.#start('api', i, {
      TALLYSTICK_PORT: String(this.#apiPorts[i]!),
      ...this.#options.apiEnv,
    })
  }

  /**
   * Starts a worker and resolves when it is ready. Rejects if the worker cannot reach its database, because such a
   * worker ends.
   */
  async startWorker(i = 0): Promise<void> {
    this.#workers[i] = await this.#start('worker', i, {})
  }

  get url(): string {
    return this.urls[0]!
  }

  async killWorker(i: number): Promise<void> {
    await this.#workers[i]!.end('SIGKILL')
  }

  get ownerUrl(): string {
    return (this.#options.database ?? this.#postgres!).ownerUrl
  }

  get superuserUrl(): string {
    const url = new URL((this.#options.database ?? this.#postgres!).superuserUrl)
    url.pathname = new URL(this.ownerUrl).pathname
    return url.href
  }

  get postmaster(): number {
    return this.#postgres!.pid
  }

  /** Starts the rotation to a new envelope key, to which the worker moves every ledger. Returns the new kid. */
  async rotateKey({ force }: { readonly force: boolean }): Promise<Uint8Array> {
    const masterKey = makeMasterKey(this.masterKeys[0]!)
    const { newKid } = await withPatientClient(this.ownerUrl, (client) =>
      startRotation(client, masterKey, { compromisedAt: null, force }),
    )
    return newKid
  }

  workerPid(i: number): number {
    return this.#workers[i]!.process!.pid
  }

  apiPid(i: number): number {
    return this.#apis[i]!.process!.pid
  }

  /** Opens the inspector of worker `i`. The deployment's `nodeOptions` MUST contain INSPECTABLE. */
  inspectWorker(i: number): Promise<Inspector> {
    return Inspector.open(this.workerPid(i), this.#logPath('worker', i))
  }

  inspectApi(i: number): Promise<Inspector> {
    return Inspector.open(this.apiPid(i), this.#logPath('api', i))
  }

  /** Starts Postgres, which recovers after a kill. A failed start also stops Postgres, so the start can be repeated. */
  async startPostgres(): Promise<void> {
    const { dir, settings, postgresEnv } = this.#options
    const dataDir = join(dir, 'postgres')
    if (!existsSync(dataDir)) putCluster(dataDir)
    this.#postgres = await connecting(() =>
      startPostgres({
        dataDir,
        port: this.#postgresPort,
        settings: { max_connections: 60, ...settings },
        ...(postgresEnv && { env: postgresEnv }),
      }),
    )
  }

  /**
   * Throws if a process of this deployment has ended although the test did not kill it. Processes must survive the
   * faults of others.
   */
  requireAlive(): void {
    for (const [name, parts] of [
      ['api', this.#apis],
      ['worker', this.#workers],
    ] as const)
      for (const [i, part] of parts.entries())
        if (part?.process?.hasEnded)
          throw new Error(`${name} ${i} has ended by itself: ${this.#readLog(this.#logPath(name, i))}`)
  }

  async killApi(i: number): Promise<void> {
    await this.#apis[i]!.end('SIGKILL')
  }

  async stopWorker(i = 0): Promise<number | string> {
    return this.#workers[i]!.end('SIGTERM')
  }

  /**
   * Stops a server as an orchestrator does. Resolves with its exit code or signal when it has ended. The code is 0 if
   * there was no error.
   */
  async stopApi(i = 0): Promise<number | string> {
    return this.#apis[i]!.end('SIGTERM')
  }

  /**
   * Stops all processes as an orchestrator does. Throws if a process had ended earlier, or if a process ends with an
   * error.
   */
  async terminate(): Promise<void> {
    this.requireAlive()
    for (const part of [...this.#workers.splice(0), ...this.#apis.splice(0)]) {
      const how = await part.end('SIGTERM')
      if (how !== 0) throw new Error(`a process ended with ${how}: ${this.readLogs()}`)
    }
  }

  async killPostgres(victim: PostgresVictim): Promise<void> {
    const { pid, exited } = this.#postgres!
    const children = childrenOf(pid)
    if (victim === 'backend') {
      process.kill(await findWriter(this.superuserUrl), 'SIGKILL')
      return
    }
    process.kill(pid, 'SIGKILL')
    if (victim === 'server') for (const child of children) killIfAlive(child, 'SIGKILL')
    await stayFor(exited)
    await this.#postgres!.stop('immediate') // Postgres has already ended. This call releases its watchdog.
  }

  /** Stops Postgres as its operator does. In `fast` mode Postgres notifies its clients. */
  async stopPostgres(mode: 'fast' | 'immediate'): Promise<void> {
    await this.#postgres!.stop(mode)
  }

  /** Freezes Postgres: it closes no connection and flushes nothing. */
  freezePostgres(): void {
    for (const pid of [this.postmaster, ...childrenOf(this.postmaster)]) killIfAlive(pid, 'SIGSTOP')
  }

  async createLedger(name: string): Promise<Ledger> {
    const response = await fetch(`${this.url}/v1/ledgers`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.operatorKey}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ name }),
    })
    const text = await response.text()
    if (response.status !== 201) throw new Error(`POST /v1/ledgers answered ${response.status}: ${text}`)
    const made = JSON.parse(text) as { ledger: { id: string }; key: { key: string } }
    return { ledger: made.ledger.id, bearer: made.key.key }
  }

  async createLedgers(count: number): Promise<Ledger[]> {
    const ledgers: Ledger[] = []
    for (let i = 0; i < count; i++) ledgers.push(await this.createLedger(`ledger ${i}`))
    return ledgers
  }

  /** Stops all servers and workers at once. Separate processes are killed without notice. */
  async stopParts(): Promise<void> {
    const signal = this.#options.here ? 'SIGTERM' : 'SIGKILL'
    // Workers are stopped first, because their last requests may go to servers of this deployment.
    for (const parts of [this.#workers, this.#apis])
      await Promise.all(parts.splice(0).map((part) => part.end(signal)))
  }

  async stop(): Promise<void> {
    await this.stopParts()
    await this.#options.database?.stop?.('immediate')
    await this.#postgres?.stop('immediate')
  }

  get ownerEnv(): Record<string, string> {
    return { ...(this.#environment() as Record<string, string>), DATABASE_URL: this.ownerUrl }
  }

  #environment(): NodeJS.ProcessEnv {
    const { dir, passwords = PASSWORDS, operatorKey = OPERATOR_KEY, nodeOptions, env } = this.#options
    const [current, previous] = this.masterKeys
    return environmentOf(
      {
        ...loginsOf(this.#address ?? this.ownerUrl, passwords),
        dataDir: join(dir, 'files'),
        masterKey: current!,
        operatorKey,
      },
      {
        ...(previous && { TALLYSTICK_MASTER_KEY_PREVIOUS: Buffer.from(previous).toString('hex') }),
        TALLYSTICK_DATABASE_ACCEPT: this.#accepted.join(','),
        ...(this.#publicUrl && { TALLYSTICK_PUBLIC_URL: this.#publicUrl }),
        ...(nodeOptions && { NODE_OPTIONS: nodeOptions }),
        ...env,
      },
    )
  }

  #start(name: PartName, i: number, env: Readonly<Record<string, string>>): Promise<Part> {
    const { dir, here, root, closeStreamsMs } = this.#options
    mkdirSync(dir, { recursive: true })
    return startPart(name, {
      env: { ...this.#environment(), ...env },
      log: here ? null : this.#logPath(name, i),
      ...(root && { root }),
      ...(closeStreamsMs !== undefined && { closeStreamsMs }),
    })
  }

  get #accepted(): Acceptable[] {
    return ACCEPTABLE.filter((name) => this.#options.settings?.[name] === 'off')
  }

  /** Path of the log that all processes in this slot write, one after another. */
  #logPath(name: PartName, i: number): string {
    return join(this.#options.dir, `${name}-${i}.log`)
  }

  #readLog(path: string): string {
    return readFileSync(path, 'utf8').slice(-2_000)
  }

  readLogs(): string {
    const { dir } = this.#options
    const logs = readdirSync(dir).filter((name) => name.endsWith('.log'))
    return logs.map((name) => this.#readLog(join(dir, name))).join('\n')
  }
}

/** Starts a server and a worker in this process, on a Postgres in memory. The calling tool must stop the deployment. */
export async function startHere(
  env: Readonly<Record<string, string>> = {},
  options: Partial<DeploymentOptions> = {},
): Promise<Deployment> {
  const database = await startSuitePostgres()
  return Deployment.start({ dir: temporaryDir(), here: true, worker: true, database, env, ...options })
}

/**
 * Makes this process exit on signals. Otherwise a signal would end it without an `exit` event, and its child
 * processes would stay.
 */
export function exitOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    if (process.listenerCount(signal) === 0) process.once(signal, () => process.exit(1))
  }
}
