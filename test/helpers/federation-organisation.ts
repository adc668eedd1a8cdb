import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { withClient } from '../../src/db/connect/client.ts'
import { addMacKeys, keepMacKeys } from '../../src/db/connect/mac-keys.ts'
import { withTransaction } from '../../src/db/connect/transaction.ts'
import { startRotation } from '../../src/db/schema/rotation.ts'
import { ensureServerKeys } from '../../src/db/schema/server-keys.ts'
import type { Scope } from '../../src/ledgers/scopes.ts'
import { Metrics } from '../../src/observe/metrics/metrics.ts'
import { parseConfig } from '../../src/run/config.ts'
import { startServer } from '../../src/run/server.ts'
import { startWorker } from '../../src/run/worker.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { isReady } from '../system/faults/processes.ts'
import type { Test } from './app.ts'
import { bareEnvironment } from './bare-environment.ts'
import { temporaryDir } from './postgres.ts'

export type Part = 'api' | 'worker'
/** `kill`: with nothing said, as `kill -9` does. */
type Running = { close(): Promise<void>; kill(): Promise<void> }

export type Agent = {
  readonly id: string
  /** As other ledgers write it: `led_…/agt_…`. */
  readonly remote: string
  readonly key: string
}

export type Answer = {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  readonly body: any
}

export type Ask = {
  /** Absent: the administrator's. */
  readonly key?: string
  readonly body?: object
  readonly headers?: Record<string, string>
}

/** Migrated, and nobody's yet. */
export type OwnDatabase = {
  readonly apiUrl: string
  readonly workerUrl: string
  readonly superuserUrl: string
}

export type OrganisationOptions = {
  readonly name: string
  readonly database: OwnDatabase
  readonly masterKey: Uint8Array
  readonly port: number
  /** How others reach it: through a proxy, or directly. */
  readonly publicUrl: string
  /** Processes of their own, which can be killed. */
  readonly processes: boolean
  /** Environment of API and worker, over the usual one. */
  readonly environment: Record<string, string>
}

const READY_MS_MAX = 60_000
const MODULES: Readonly<Record<Part, string>> = { api: 'src/run/server.ts', worker: 'src/run/worker.ts' }
export const OPERATOR_KEY = `tlo_${'e'.repeat(40)}`

/** A ledger at a server, as its administrator and the owner of its database see it. */
export class Member {
  readonly name: string
  /** Servers, with no proxy before them. Requests take them in turn. */
  readonly urls: readonly string[]
  /** `led_…` */
  ledger = ''
  /** The ledger's first agent, whose key has all scopes. */
  admin: Agent = { id: '', remote: '', key: '' }
  readonly #superuserUrl: string
  #requests = 0

  constructor(name: string, urls: readonly string[], superuserUrl: string) {
    this.name = name
    this.urls = urls
    this.#superuserUrl = superuserUrl
  }

  async createLedger(operatorKey: string): Promise<void> {
    const made = await this.ask('POST', '/v1/ledgers', {
      key: operatorKey,
      body: { name: this.name, agent: 'administrator' },
    })
    this.ledger = made.ledger.id
    this.admin = { id: made.agent.id, remote: `${this.ledger}/${made.agent.id}`, key: made.key.key }
  }

  async send(
    method: string,
    path: string,
    { key = this.admin.key, body, headers }: Ask = {},
  ): Promise<Answer> {
    const url = this.urls[this.#requests++ % this.urls.length]!
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '') && !text.includes('\n{')
    return {
      status: response.status,
      headers: response.headers,
      body: isJson && text ? JSON.parse(text) : text,
    }
  }

  /** Sends a request and returns its answer; throws unless it succeeded. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  async ask(method: string, path: string, options: Ask = {}): Promise<any> {
    const { status, body } = await this.send(method, path, options)
    if (status >= 200 && status < 300) return body
    throw new Error(`${this.name}: ${method} ${path} answered ${status}: ${JSON.stringify(body)}`)
  }

  async addAgent(name: string, scopes: readonly Scope[] = ['records:write', 'records:read']): Promise<Agent> {
    const { id } = await this.ask('POST', '/v1/agents', { body: { name } })
    const { key } = await this.ask('POST', '/v1/keys', { body: { name, agent: id, scopes } })
    return { id, remote: `${this.ledger}/${id}`, key }
  }

  /** As the database's superuser. */
  async sql<T extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<T[]> {
    return withClient(this.#superuserUrl, async (client) => (await client.query<T>(text, values)).rows)
  }
}

/** A server and a worker with a database and keys of their own, and a ledger there. */
export class Organisation extends Member {
  readonly publicUrl: string
  /** Its server's, with no proxy before it. */
  readonly url: string
  readonly database: OwnDatabase
  readonly masterKey: Uint8Array
  /** Metrics of its parts since they were started last, if they run in this process. */
  readonly metrics = new Map<Part, Metrics>()
  readonly #options: OrganisationOptions
  readonly #environment: Record<string, string>
  readonly #logs = temporaryDir()
  readonly #running = new Map<Part, Running>()

  constructor(options: OrganisationOptions) {
    const { name, database, masterKey, port, publicUrl, environment } = options
    super(name, [`http://127.0.0.1:${port}`], database.superuserUrl)
    this.masterKey = masterKey
    this.publicUrl = publicUrl
    this.url = this.urls[0]!
    this.database = database
    this.#options = options
    this.#environment = {
      TALLYSTICK_API_DATABASE_URL: database.apiUrl,
      TALLYSTICK_WORKER_DATABASE_URL: database.workerUrl,
      TALLYSTICK_MASTER_KEY: Buffer.from(masterKey).toString('hex'),
      TALLYSTICK_OPERATOR_KEY: OPERATOR_KEY,
      TALLYSTICK_PUBLIC_URL: publicUrl,
      TALLYSTICK_HOST: '127.0.0.1',
      TALLYSTICK_PORT: String(port),
      TALLYSTICK_DRAIN_SECONDS: '0',
      TALLYSTICK_OUTBOUND_ALLOW: '127.0.0.0/8',
      TALLYSTICK_DATA: this.#logs,
      TALLYSTICK_LOG_LEVEL: options.processes ? 'info' : 'silent',
      ...environment,
    }
  }

  /** Until the test ends. */
  async open(t: Test): Promise<this> {
    t.after(async () => {
      for (const part of ['worker', 'api'] as const) await this.stop(part)
    })
    await replaceServerKeys(this.database.superuserUrl, this.#options.masterKey)
    await this.start('api')
    await this.start('worker')
    await this.createLedger(OPERATOR_KEY)
    return this
  }

  /** Returns when it is at work. */
  async start(part: Part): Promise<void> {
    this.#running.set(part, this.#options.processes ? await this.#spawn(part) : await this.#startHere(part))
  }

  /** As its operator stops it; nothing where it does not run. */
  async stop(part: Part): Promise<void> {
    const running = this.#running.get(part)
    this.#running.delete(part)
    await running?.close()
  }

  /** Another API beside the first, in this process: its URL. Until the test ends. */
  async startAnotherApi(t: Test): Promise<string> {
    const service = await startServer(parseConfig({ ...this.#environment, TALLYSTICK_PORT: '0' }))
    t.after(() => service.close())
    return service.url
  }

  async kill(part: Part): Promise<void> {
    const running = this.#running.get(part)
    if (!running) throw new Error(`${this.name} has no ${part} that runs`)
    this.#running.delete(part)
    await running.kill()
  }

  /** Its worker moves the ledger to the new key within seconds. */
  async rotateKey(): Promise<void> {
    const masterKey = makeMasterKey(this.#options.masterKey)
    await withClient(this.database.superuserUrl, (client) =>
      startRotation(client, masterKey, { compromisedAt: null, force: true }),
    )
  }

  /** Log of its processes, from the end; empty for those that run here. */
  logs(chars = 4_000): string {
    if (!this.#options.processes) return ''
    return (['api', 'worker'] as const)
      .map((part) => `${this.name}, ${part}:\n${readFileSync(this.#logOf(part), 'utf8').slice(-chars)}`)
      .join('\n')
  }

  async #startHere(part: Part): Promise<Running> {
    const config = parseConfig(this.#environment)
    const metrics = new Metrics()
    this.metrics.set(part, metrics)
    const service =
      part === 'api' ? await startServer(config, undefined, metrics) : await startWorker(config, metrics)
    return {
      close: () => service.close(),
      kill: () => Promise.reject(new Error('only processes can be killed: { processes: true }')),
    }
  }

  async #spawn(part: Part): Promise<Running> {
    const log = openSync(this.#logOf(part), 'a')
    const before = this.#workerStarts()
    const child = spawn(process.execPath, [MODULES[part]], {
      cwd: new URL('../..', import.meta.url),
      env: { ...bareEnvironment(), ...this.#environment },
      stdio: ['ignore', log, log],
    })
    closeSync(log)
    const killAtExit = () => child.kill('SIGKILL')
    process.once('exit', killAtExit)
    child.once('exit', () => process.off('exit', killAtExit))
    const isAtWork = () => (part === 'api' ? isReady(this.url) : this.#workerStarts() > before)
    for (const giveUpAt = Date.now() + READY_MS_MAX; !(await isAtWork()); await sleep(25)) {
      if (!hasEnded(child) && Date.now() < giveUpAt) continue
      child.kill('SIGKILL')
      throw new Error(`it does not start: ${this.logs()}`)
    }
    const end = async (signal: NodeJS.Signals) => {
      if (hasEnded(child)) throw new Error(`it has ended by itself: ${this.logs()}`)
      const exited = once(child, 'exit')
      child.kill(signal)
      await exited
    }
    return { close: () => end('SIGTERM'), kill: () => end('SIGKILL') }
  }

  #workerStarts(): number {
    const text = readFileSync(this.#logOf('worker'), { encoding: 'utf8', flag: 'a+' })
    return text.split('the worker follows the chains').length
  }

  #logOf(part: Part): string {
    return join(this.#logs, `${part}.log`)
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** All test databases are copies of one, whose keys they would share. */
async function replaceServerKeys(superuserUrl: string, masterKey: Uint8Array): Promise<void> {
  await withClient(superuserUrl, (client) =>
    withTransaction(client, async () => {
      await client.query('set local session_replication_role = replica')
      for (const table of ['envelope_key_secrets', 'note_key_secrets', 'server_keys'])
        await client.query(`delete from tallystick.${table}`)
      await client.query('set local session_replication_role = origin')
      const key = makeMasterKey(masterKey)
      await ensureServerKeys(client, key)
      await addMacKeys(client, key.databaseKeys())
      await keepMacKeys(client, key.databaseKeys())
    }),
  )
}
