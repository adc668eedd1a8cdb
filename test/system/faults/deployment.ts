import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ACCEPTABLE, type Acceptable } from '../../../src/db/connect/acceptable.ts'
import { Database } from '../../../src/db/connect/connection.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { startRotation } from '../../../src/db/schema/rotation.ts'
import { type PostgresOptions, type RunningPostgres, startPostgres } from '../../../src/run/postgres/start.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { bareEnvironment } from '../../helpers/bare-environment.ts'
import { putCluster } from '../../helpers/postgres.ts'
import { Inspector } from './inspector.ts'
import {
  childrenOf,
  connecting,
  end,
  findPort,
  findWriter,
  isReady,
  killIfAlive,
  stayFor,
  withPatientClient,
} from './processes.ts'

/**
 * A Postgres and processes of the product as an operator runs them, each of which can be killed and started again
 * at its old address.
 */
export type DeploymentOptions = {
  /** Postgres' data, logs and the worker's files. Removed by the caller. */
  readonly dir: string
  readonly apis: number
  /** How many, or whether there is one. */
  readonly worker?: boolean | number
  /** Over what `startPostgres` sets: durable unless a test says otherwise. */
  readonly settings?: PostgresOptions['settings']
  /** Instead of a Postgres of the deployment's own. Its caller stops it. */
  readonly database?: Pick<RunningPostgres, 'ownerUrl' | 'superuserUrl'>
  /** For the Postgres process: a preloaded library. */
  readonly postgresEnv?: Record<string, string>
  /** `NODE_OPTIONS` of API processes and workers. */
  readonly nodeOptions?: string
  /** For the API processes, over what they get here. */
  readonly apiEnv?: Record<string, string>
  /** Proxy between the processes and Postgres: given Postgres' address, answers the one that they are given. */
  readonly through?: (postgresUrl: string) => Promise<string>
  /** Proxy before the first API process: given its address, answers the one at which peers find the deployment. */
  readonly publicly?: (apiUrl: string) => Promise<string>
  /** Whether only the database is started or migrated. */
  readonly postgresOnly?: boolean
}

export type Ledger = { readonly ledger: string; readonly bearer: string }

/**
 * `server`: every process of it at once, as when its container is killed. `postmaster`: its parent alone, whose
 * children find out by themselves. `backend`: the one that appends; Postgres then recovers without our help.
 */
export type PostgresVictim = 'server' | 'postmaster' | 'backend'

const API = 'src/run/server.ts'
const WORKER = 'src/run/worker.ts'
const PASSWORDS = { api: 'faults-api', worker: 'faults-worker' }
export const OPERATOR_KEY = `tlo_${'f'.repeat(40)}`
export const MASTER_KEY = new Uint8Array(32).fill(9)
/** Allows for a machine that has much else to do: more than 30 s were seen at a load average of 26 on two cores. */
const READY_MS_MAX = 120_000

export class Deployment {
  readonly urls: readonly string[]
  readonly #options: DeploymentOptions
  readonly #apiPorts: readonly number[]
  readonly #postgresPort: number
  readonly #apis: (ChildProcess | null)[] = []
  readonly #workers: ChildProcess[] = []
  #postgres: RunningPostgres | null = null
  #address: string | null = null
  #publicUrl: string | null = null
  /** Keys of processes that start from now on: the one that seals, and the one before it while that is being replaced. */
  masterKeys: readonly Uint8Array[] = [MASTER_KEY]

  private constructor(options: DeploymentOptions, apiPorts: readonly number[], postgresPort: number) {
    this.#options = options
    this.#apiPorts = apiPorts
    this.#postgresPort = postgresPort
    this.urls = apiPorts.map((port) => `http://127.0.0.1:${port}`)
  }

  /** Starts everything, and waits until it is ready. */
  static async start(options: DeploymentOptions): Promise<Deployment> {
    exitOnSignals()
    const ports = []
    for (let i = 0; i <= options.apis; i++) ports.push(await findPort())
    const deployment = new Deployment(options, ports.slice(1), ports[0]!)
    try {
      if (!options.database) await deployment.startPostgres()
      deployment.#address = (await options.through?.(deployment.ownerUrl)) ?? null
      if (options.postgresOnly) return deployment
      deployment.#publicUrl = (await options.publicly?.(deployment.urls[0]!)) ?? null
      await migrate({
        ownerUrl: new Database(deployment.ownerUrl, {
          caFile: null,
          password: null,
          accepted: deployment.#accepted,
        }),
        masterKey: makeMasterKey(MASTER_KEY),
        passwords: PASSWORDS,
      })
      await Promise.all(ports.slice(1).map((_, i) => deployment.startApi(i)))
      for (let i = 0; i < Number(options.worker ?? 0); i++) await deployment.startWorker(i)
      return deployment
    } catch (error) {
      await deployment.stop()
      throw error
    }
  }

  /** Returns when it is at work: one that can't reach its database when it starts rightly ends. */
  async startWorker(i: number): Promise<void> {
    const begun = this.#countWorkerStarts(i)
    const worker = this.#spawn(WORKER, i, {})
    this.#workers[i] = worker
    const giveUpAt = Date.now() + READY_MS_MAX
    while (this.#countWorkerStarts(i) === begun) {
      if (worker.exitCode !== null || Date.now() > giveUpAt)
        throw new Error(`the worker does not start: ${this.#readLogs()}`)
      await sleep(25)
    }
  }

  async killWorker(i: number): Promise<void> {
    await end(this.#workers[i]!, 'SIGKILL')
  }

  /** Counts starts of this worker alone: two that are started at once are both waited for. */
  #countWorkerStarts(i: number): number {
    const path = this.#logPath(WORKER, i)
    return existsSync(path) ? readFileSync(path, 'utf8').split('the worker follows the chains').length - 1 : 0
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

  /** Has a new envelope key made, to which the worker moves every ledger; its kid. */
  async rotateKey({ force }: { readonly force: boolean }): Promise<Uint8Array> {
    const masterKey = makeMasterKey(this.masterKeys[0]!)
    const { newKid } = await withPatientClient(this.ownerUrl, (client) =>
      startRotation(client, masterKey, { compromisedAt: null, force }),
    )
    return newKid
  }

  workerPid(i: number): number {
    return this.#workers[i]!.pid!
  }

  apiPid(i: number): number {
    return this.#apis[i]!.pid!
  }

  /** `nodeOptions` MUST have INSPECTABLE. */
  inspectWorker(i: number): Promise<Inspector> {
    return Inspector.open(this.workerPid(i), this.#logPath(WORKER, i))
  }

  inspectApi(i: number): Promise<Inspector> {
    return Inspector.open(this.apiPid(i), this.#logPath(API, i))
  }

  /** Recovers first, where the last one was killed. A start that failed has stopped it, and is made again. */
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

  async startApi(i: number): Promise<void> {
    const child = this.#spawn(API, i, {
      TALLYSTICK_PORT: String(this.#apiPorts[i]!),
      ...this.#options.apiEnv,
    })
    this.#apis[i] = child
    const giveUpAt = Date.now() + READY_MS_MAX
    while (!(await isReady(this.urls[i]!))) {
      if (child.exitCode !== null || Date.now() > giveUpAt)
        throw new Error(`the API does not start: ${this.#readLogs()}`)
      await sleep(25)
    }
  }

  /** Throws when a process of ours is gone that nobody here has killed: it must survive what happens to others. */
  requireAlive(): void {
    for (const children of [this.#apis, this.#workers])
      for (const [i, child] of children.entries()) {
        if (!child || (child.exitCode === null && child.signalCode === null)) continue
        const script = child.spawnargs.at(-1)!
        const end = child.signalCode ?? `exit code ${child.exitCode}`
        throw new Error(`${script} ${i} has ended by itself, ${end}: ${this.#readLog(script, i)}`)
      }
  }

  async killApi(i: number): Promise<void> {
    await end(this.#apis[i]!, 'SIGKILL')
  }

  /** As an orchestrator stops it. Resolves when it has ended; 0 is what it should have ended with. */
  async terminateApi(i: number): Promise<number | null> {
    const child = this.#apis[i]!
    await end(child, 'SIGTERM')
    return child.exitCode
  }

  /** Returns when the victim is gone. */
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
    await this.#postgres!.stop('immediate') // it is gone; this lets its watchdog go
  }

  /** As its operator does, or its host: `fast` tells its clients. */
  async stopPostgres(mode: 'fast' | 'immediate'): Promise<void> {
    await this.#postgres!.stop(mode)
  }

  /** Stops it in its tracks, with nothing said and nothing flushed. */
  freezePostgres(): void {
    for (const pid of [this.postmaster, ...childrenOf(this.postmaster)]) killIfAlive(pid, 'SIGSTOP')
  }

  async createLedger(name: string): Promise<Ledger> {
    const response = await fetch(`${this.urls[0]}/v1/ledgers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${OPERATOR_KEY}`, 'content-type': 'application/json' },
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

  async stopApis(): Promise<void> {
    await Promise.all([...this.#apis, ...this.#workers].map((child) => child && end(child, 'SIGKILL')))
  }

  async stop(): Promise<void> {
    await this.stopApis()
    await this.#postgres?.stop('immediate')
  }

  #spawn(script: string, i: number, env: Record<string, string>): ChildProcess {
    const url = (user: string, password: string) =>
      Object.assign(new URL(this.#address ?? this.ownerUrl), { username: user, password }).href
    mkdirSync(this.#options.dir, { recursive: true })
    const log = openSync(this.#logPath(script, i), 'a')
    const child = spawn(process.execPath, [script], {
      cwd: new URL('../../..', import.meta.url),
      env: {
        ...bareEnvironment(),
        TALLYSTICK_DATA: join(this.#options.dir, 'files'),
        TALLYSTICK_API_DATABASE_URL: url('tallystick_api', PASSWORDS.api),
        TALLYSTICK_WORKER_DATABASE_URL: url('tallystick_worker', PASSWORDS.worker),
        ...this.#masterKeyVariables(),
        TALLYSTICK_DATABASE_ACCEPT: this.#accepted.join(','),
        ...(this.#publicUrl && { TALLYSTICK_PUBLIC_URL: this.#publicUrl }),
        TALLYSTICK_OPERATOR_KEY: OPERATOR_KEY,
        TALLYSTICK_OUTBOUND_ALLOW: '127.0.0.0/8',
        TALLYSTICK_LOG_LEVEL: 'info',
        ...(this.#options.nodeOptions && { NODE_OPTIONS: this.#options.nodeOptions }),
        ...env,
      },
      stdio: ['ignore', log, log],
    })
    closeSync(log)
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    child.once('exit', () => process.off('exit', kill))
    return child
  }

  /** Settings that a test switches off. */
  get #accepted(): Acceptable[] {
    return ACCEPTABLE.filter((name) => this.#options.settings?.[name] === 'off')
  }

  #masterKeyVariables(): Record<string, string> {
    const [current, previous] = this.masterKeys.map((key) => Buffer.from(key).toString('hex'))
    return {
      TALLYSTICK_MASTER_KEY: current!,
      ...(previous && { TALLYSTICK_MASTER_KEY_PREVIOUS: previous }),
    }
  }

  /** One for all processes that were started in this place, one after another. */
  #logPath(script: string, i: number): string {
    return join(this.#options.dir, `${script.replace(/\W+/g, '-')}-${i}.log`)
  }

  #readLog(script: string, i: number): string {
    return readFileSync(this.#logPath(script, i), 'utf8').slice(-2_000)
  }

  #readLogs(): string {
    const { dir } = this.#options
    const logs = readdirSync(dir).filter((name) => name.endsWith('.log'))
    return logs.map((name) => readFileSync(join(dir, name), 'utf8').slice(-2_000)).join('\n')
  }
}

/** Without it a signal ends this process with no `exit` event, and what it has started would stay. */
export function exitOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    if (process.listenerCount(signal) === 0) process.once(signal, () => process.exit(1))
  }
}
