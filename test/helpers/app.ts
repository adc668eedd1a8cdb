import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type {
  FastifyInstance,
  InjectOptions,
  LightMyRequestResponse as Response,
  RouteOptions,
} from 'fastify'

import pg from 'pg'
import { buildApp } from '../../src/http/app.ts'
import type { Deps } from '../../src/http/deps.ts'
import { createLedger, type NewLedger } from '../../src/ledgers/create-ledger.ts'
import type { Scope } from '../../src/ledgers/scopes.ts'
import { openLog } from '../../src/observe/log.ts'
import { parseId, type Uuid } from '../../src/proof/ids.ts'
import { type Config, parseConfig } from '../../src/run/config.ts'
import { openDeps } from '../../src/run/deps.ts'
import { assertDocumented } from './conformance.ts'
import { createTestDatabase, TEST_MASTER_KEY, type TestDatabase } from './database.ts'

export const OPERATOR_KEY = `tlo_${'0'.repeat(8)}test${'Z'.repeat(36)}`
const PUBLIC_URL = 'https://ledger.example'

export type Test = { readonly name: string; after(cleanup: () => Promise<void>): void }

export type TestApp = {
  readonly app: FastifyInstance
  readonly deps: Deps
  readonly database: TestDatabase
  /** All routes that the application registered, in order. */
  readonly routes: RouteOptions[]
  readonly ledger: NewLedger
  /** The ledger's id as the database stores it. */
  readonly ledgerId: Uuid
  logs(): string
  /**
   * Sends a request with the first ledger's key, or without a key if `key` is null. Fails if /openapi.json does not
   * describe the answer.
   */
  send(method: string, url: string, options?: SendOptions): Promise<Response>
  /** Notarizes a record and returns it. Fails unless the status is 201. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  notarize(body?: object, options?: SendOptions): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  entries(query?: string, options?: SendOptions): Promise<any[]>
  /** Creates another ledger. Calls the route's own function, because a test may need a key with fewer scopes. */
  newLedger(options?: { scopes?: readonly Scope[]; expiresAtMs?: number }): Promise<NewLedger>
  /**
   * Returns the row counts of all tables, and every chain head. If two results are equal, nothing was written between
   * the two calls.
   */
  written(): Promise<Record<string, unknown>>
  sql<T extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<T[]>
}

export type SendOptions = {
  readonly key?: string | null
  readonly body?: unknown
  /** Body that is sent unchanged, as `application/json` unless `headers` set another type. */
  readonly text?: string | Buffer
  readonly headers?: Record<string, string>
}

export type AppOptions = {
  /** Database of the application. Default: a new database on the suite's server. */
  readonly database?: TestDatabase
  /**
   * Returns the URL by which the application reaches its database, for example the URL of a proxy. Default: the
   * database's own URL.
   */
  readonly apiUrl?: (database: TestDatabase) => string | Promise<string>
  readonly now?: () => number
  readonly environment?: Record<string, string>
}

/** Builds an application with its own database and one ledger. The application is closed at the end of the test. */
export async function buildTestApp(t: Test, options: AppOptions = {}): Promise<TestApp> {
  const { makeLedger, of } = await openApp(t, options)
  return of(await makeLedger())
}

export type OpenApp = {
  makeLedger(): Promise<NewLedger>
  of(ledger: NewLedger): TestApp
}

export async function openApp(t: Test, options: AppOptions = {}): Promise<OpenApp> {
  const database = options.database ?? (await createTestDatabase(t))
  const lines: string[] = []
  const log = openLog('debug', { write: (line: string) => void lines.push(line) })
  const config = testConfig((await options.apiUrl?.(database)) ?? database.apiUrl, options.environment)
  const opened = await openDeps(config, log)
  const deps = { ...opened, now: options.now ?? opened.now }
  const { app, routes } = buildAndCollectRoutes(deps)
  const owner = new pg.Pool({ connectionString: database.superuserUrl, max: 2 })
  // Some tests kill connections on purpose, so the error is ignored.
  owner.on('error', () => {})
  t.after(async () => {
    await app.close()
    await deps.close()
    await owner.end()
  })
  await app.ready()
  const written = makeReadWritten(owner)

  async function send(
    method: string,
    url: string,
    { key, body, text, headers: more }: SendOptions & { readonly key: string | null },
  ): Promise<Response> {
    const payload = text ?? (body === undefined ? undefined : JSON.stringify(body))
    const headers = {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(payload !== undefined && { 'content-type': 'application/json' }),
      ...more,
    }
    const response = await app.inject({
      method: method as NonNullable<InjectOptions['method']>,
      url,
      headers,
      ...(payload !== undefined && { payload }),
    })
    await assertDocumented(app, { method, url, headers }, response)
    return response
  }

  return {
    async makeLedger() {
      const body = { name: 'tests', agent: 'tester' }
      return expectStatus(201, await send('POST', '/v1/ledgers', { key: OPERATOR_KEY, body })).json()
    },
    of(ledger) {
      const firstLine = lines.length
      const testApp: TestApp = {
        app,
        deps,
        database,
        routes,
        ledger,
        ledgerId: parseId('led', ledger.ledger.id),
        logs: () => lines.slice(firstLine).join(''),
        send: (method, url, { key = ledger.key.key, ...options } = {}) =>
          send(method, url, { ...options, key }),
        async notarize(body = genericBody(), options = {}) {
          return expectStatus(201, await testApp.send('POST', '/v1/records', { ...options, body })).json()
        },
        async entries(query = '', options = {}) {
          const response = expectStatus(200, await testApp.send('GET', `/v1/entries${query}`, options))
          return parseLines(response.body)
        },
        newLedger: (options = {}) =>
          createLedger(deps, { name: 'another ledger', agentName: 'another agent', ...options }),
        written,
        async sql(text, values = []) {
          return (await owner.query(text, values)).rows
        },
      }
      return testApp
    },
  }
}

export function testConfig(apiUrl: string, environment: Record<string, string> = {}): Config {
  return parseConfig({
    TALLYSTICK_API_DATABASE_URL: apiUrl,
    TALLYSTICK_MASTER_KEY: Buffer.from(TEST_MASTER_KEY).toString('hex'),
    TALLYSTICK_OPERATOR_KEY: OPERATOR_KEY,
    TALLYSTICK_PUBLIC_URL: PUBLIC_URL,
    TALLYSTICK_PORT: '0',
    TALLYSTICK_LOG_LEVEL: 'silent',
    ...environment,
  })
}

export function genericBody(payload: object = { tool: 'search', q: 'price of copper' }) {
  return { type: 'generic/1', payload }
}

/** Returns the response. If the status differs, throws an error with the response's body. */
export function expectStatus(status: number, response: Response): Response {
  if (response.statusCode === status) return response
  throw new Error(`expected ${status}, got ${response.statusCode}: ${response.body.slice(0, 2_000)}`)
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
export function parseLines(text: string): any[] {
  if (text !== '' && !text.endsWith('\n')) throw new Error(`the last line is cut: ${text.slice(-200)}`)
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

/**
 * Builds the application and collects its routes. This works because Fastify announces each instance before any route
 * is registered.
 */
function buildAndCollectRoutes(deps: Deps): { app: FastifyInstance; routes: RouteOptions[] } {
  const routes: RouteOptions[] = []
  const collect = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    // The route is copied as it was declared, because HEAD is added later (src/http/plugins/methods.ts).
    fastify.addHook('onRoute', (route) => void routes.push({ ...route }))
  }
  subscribe('fastify.initialization', collect)
  try {
    return { app: buildApp(deps), routes }
  } finally {
    unsubscribe('fastify.initialization', collect)
  }
}

/**
 * Returns a function that counts rows. The list of tables and the query's plan are made only once, because both take
 * longer than counting, and a test counts hundreds of times.
 */
function makeReadWritten(owner: pg.Pool): () => Promise<Record<string, unknown>> {
  let query: Promise<string> | null = null
  return async () => {
    query ??= writtenQuery(owner)
    return (await owner.query({ name: 'written', text: await query })).rows[0]
  }
}

async function writtenQuery(owner: pg.Pool): Promise<string> {
  const { rows } = await owner.query<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_schema = 'tallystick' and table_type = 'BASE TABLE' order by 1`,
  )
  const counts = rows.map(({ name }) => `(select count(*)::int from tallystick.${name}) as ${name}`)
  return `select ${counts.join(', ')}, (select json_agg(h order by ledger_id) from tallystick.chain_heads h) as heads`
}
