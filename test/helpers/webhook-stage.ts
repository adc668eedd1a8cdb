import { parseId } from '../../src/proof/ids.ts'
import type { Part } from '../system/deployment/part.ts'
import { startWorkerOn } from '../system/deployment/test-deployment.ts'
import { expectStatus, type Test } from './app.ts'
import { buildGatedApp, type GatedApp } from './gated-app.ts'
import { temporaryDir } from './postgres.ts'
import { until } from './wait.ts'
import { startReceiver } from './webhook-receiver.ts'
import { listAll } from './webhooks.ts'

const ENVIRONMENT = { TALLYSTICK_OUTBOUND_ALLOW: '127.0.0.0/8' }

type Receiver = Awaited<ReturnType<typeof startReceiver>>

export type Endpoint = {
  readonly id: string
  readonly secret: string
  readonly receiver: Receiver
  /**
   * Returns the received requests about events of the type `type`. If `type` is absent, returns all received requests
   * except those about `checkpoint.published`.
   */
  received(type?: string): Receiver['received']
  /** Sends an API request about the webhook and returns the answer. Throws if the request fails. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  ask(method: string, path?: string, body?: object): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  deliveries(query?: string): Promise<any[]>
  hears(count: number, type?: string, msMax?: number): Promise<void>
  /** Waits until no worker has a lease of the endpoint. Undelivered events then wait for their next attempt. */
  rests(): Promise<void>
  sql(text: string): Promise<void>
}

export type Stage = GatedApp & {
  readonly worker: Part
  restartWorker(): Promise<void>
  /** Creates a webhook with a receiver. The receiver is closed at the end of the test. */
  subscribe(t: Test, settings?: object, answer?: Receiver['answer']): Promise<Endpoint>
}

/**
 * Starts an application for all tests of a file, and a worker that delivers to receivers on loopback. `workerUrl`:
 * returns the URL that the worker uses instead of the given database URL. `environment`: additional variables for the
 * application and the worker.
 */
export async function buildStage(
  t: Test,
  options: {
    readonly workerUrl?: (url: string) => Promise<string>
    readonly environment?: Record<string, string>
  } = {},
): Promise<Stage> {
  const environment = { ...ENVIRONMENT, ...options.environment }
  const app = await buildGatedApp(t, { environment })
  const workerUrl = (await options.workerUrl?.(app.database.workerUrl)) ?? app.database.workerUrl
  const start = () => startWorkerOn(t, { ...app.database, workerUrl }, { env: environment, dataDir })
  const dataDir = temporaryDir()
  const stage = {
    worker: await start(),
    async restartWorker() {
      stage.worker = await start()
    },
    async subscribe(test: Test, settings: object = {}, answer?: Receiver['answer']) {
      const receiver = await startReceiver(answer)
      const body = { url: receiver.url, events: ['*'], ...settings }
      const made = expectStatus(201, await app.send('POST', '/v1/webhooks', { body })).json()
      test.after(async () => {
        await app.send('DELETE', `/v1/webhooks/${made.id}`)
        await receiver.close()
      })
      return makeEndpoint(app, receiver, made)
    },
  }
  return Object.assign(stage, app, { worker: stage.worker })
}

function makeEndpoint(
  app: GatedApp,
  receiver: Receiver,
  { id, secret }: { readonly id: string; readonly secret: string },
): Endpoint {
  const url = `/v1/webhooks/${id}`
  const received = (type?: string) =>
    receiver.received.filter(({ event }) =>
      type === undefined ? event.type !== 'checkpoint.published' : event.type === type,
    )
  return {
    id,
    secret,
    receiver,
    received,
    async ask(method, path = '', body) {
      const response = await app.send(method, `${url}${path}`, method === 'GET' ? {} : { body: body ?? {} })
      if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${response.body}`)
      return response.body === '' ? null : response.json()
    },
    deliveries: (query = '') => listAll(app, `${url}/deliveries${query}`),
    hears: (count, type, msMax) => until(() => received(type).length >= count, msMax),
    rests: () =>
      until(async () => {
        const rows = await app.sql<{ rests: boolean }>(
          'select job_id is null as rests from tallystick.webhook_cursors where webhook_id = $1',
          [uuidOf(id)],
        )
        return rows[0]!.rests
      }),
    async sql(text) {
      await app.sql(text, [uuidOf(id)])
    },
  }
}

function uuidOf(id: string): string {
  return parseId('whk', id)
}
