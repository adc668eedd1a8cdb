import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { withClient } from '../../src/db/connect/client.ts'
import { addMacKeys, removeOtherMacKeys } from '../../src/db/connect/mac-keys.ts'
import { withTransaction } from '../../src/db/connect/transaction.ts'
import { startRotation } from '../../src/db/schema/rotation.ts'
import { ensureServerKeys } from '../../src/db/schema/server-keys.ts'
import type { Scope } from '../../src/ledgers/scopes.ts'
import type { Metrics } from '../../src/observe/metrics/metrics.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { environmentOf } from '../system/deployment/environment.ts'
import { type Part, type PartName, startPart } from '../system/deployment/part.ts'
import type { Test } from './app.ts'
import { temporaryDir } from './postgres.ts'

export type Agent = {
  readonly id: string
  /** Id of the agent as other ledgers write it: `led_…/agt_…`. */
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
  /** Key of the request. Default: the administrator's key. */
  readonly key?: string
  readonly body?: object
  readonly headers?: Record<string, string>
}

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
  /** URL by which other servers reach this server, directly or through a proxy. */
  readonly publicUrl: string
  /** True if API and worker run in separate processes, which can be killed. */
  readonly processes: boolean
  readonly environment: Record<string, string>
}

export const OPERATOR_KEY = `tlo_${'e'.repeat(40)}`

/**
 * A ledger of a server. Requests use the key of the ledger's administrator. SQL uses the owner of the server's
 * database.
 */
export class Member {
  readonly name: string
  /** Addresses of servers without a proxy. Requests use them round-robin. */
  readonly urls: readonly string[]
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

  /** Sends a request and returns the answer's body. Throws unless the status is 2xx. */
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

  async sql<T extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<T[]> {
    return withClient(this.#superuserUrl, async (client) => (await client.query<T>(text, values)).rows)
  }
}

/** A server and a worker with their own database and keys, and one ledger. */
export class Organisation extends Member {
  readonly publicUrl: string
  /** The server's own address, without a proxy. */
  readonly url: string
  readonly database: OwnDatabase
  readonly masterKey: Uint8Array
  /** Maps a part that runs in this process to its metrics since the part's last start. */
  readonly metrics = new Map<PartName, Metrics>()
  readonly #options: OrganisationOptions
  readonly #environment: NodeJS.ProcessEnv
  readonly #logs = temporaryDir()
  readonly #running = new Map<PartName, Part>()

  constructor(options: OrganisationOptions) {
    const { name, database, masterKey, port, publicUrl, environment } = options
    super(name, [`http://127.0.0.1:${port}`], database.superuserUrl)
    this.masterKey = masterKey
    this.publicUrl = publicUrl
    this.url = this.urls[0]!
    this.database = database
    this.#options = options
    this.#environment = environmentOf(
      { ...database, dataDir: this.#logs, masterKey, operatorKey: OPERATOR_KEY },
      {
        TALLYSTICK_PUBLIC_URL: publicUrl,
        TALLYSTICK_PORT: String(port),
        TALLYSTICK_DRAIN_SECONDS: '0',
        ...environment,
      },
    )
  }

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

  async start(name: PartName): Promise<void> {
    const log = this.#options.processes ? this.#logOf(name) : null
    const part = await startPart(name, { env: this.#environment, log })
    this.#running.set(name, part)
    if (part.metrics) this.metrics.set(name, part.metrics)
  }

  async stop(name: PartName): Promise<void> {
    await this.#end(name, 'SIGTERM')
  }

  async kill(name: PartName): Promise<void> {
    if (!this.#running.has(name)) throw new Error(`${this.name} has no ${name} that runs`)
    await this.#end(name, 'SIGKILL')
  }

  async #end(name: PartName, signal: NodeJS.Signals): Promise<void> {
    const part = this.#running.get(name)
    this.#running.delete(name)
    if (part?.process?.hasEnded) throw new Error(`it has ended by itself: ${this.logs()}`)
    await part?.end(signal)
  }

  /** Starts another API in this process and returns its URL. The API is stopped at the end of the test. */
  async startAnotherApi(t: Test): Promise<string> {
    const env = { ...this.#environment, TALLYSTICK_PORT: '0' }
    const part = await startPart('api', { env, log: null })
    t.after(async () => void (await part.end('SIGTERM')))
    return part.url!
  }

  /** Starts a key rotation. The worker moves the ledger to the new key within seconds. */
  async rotateKey(): Promise<void> {
    const masterKey = makeMasterKey(this.#options.masterKey)
    await withClient(this.database.superuserUrl, (client) =>
      startRotation(client, masterKey, { compromisedAt: null, force: true }),
    )
  }

  /** Returns the end of the processes' logs; empty if API and worker run in this process. */
  logs(chars = 4_000): string {
    if (!this.#options.processes) return ''
    return (['api', 'worker'] as const)
      .map((part) => `${this.name}, ${part}:\n${readFileSync(this.#logOf(part), 'utf8').slice(-chars)}`)
      .join('\n')
  }

  #logOf(part: PartName): string {
    return join(this.#logs, `${part}.log`)
  }
}

/** Gives the database its own server keys, because copies of the template share the template's keys. */
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
      await removeOtherMacKeys(client, key.databaseKeys())
    }),
  )
}
