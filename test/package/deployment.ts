import { startServer } from '../../src/server.ts'
import { startWorker } from '../../worker/worker.ts'
import { startScratch } from '../helpers/scratch.ts'

export type Deployment = {
  readonly url: string
  /** A ledger of its own, as the environment of a program that uses it. */
  newLedger(): Promise<Record<string, string>>
  close(): Promise<void>
}

/** A server and a worker on a Postgres of their own. */
export async function startDeployment(): Promise<Deployment> {
  const { config, operatorKey, stop } = await startScratch()
  const server = await startServer(config)
  const worker = await startWorker(config)
  return {
    url: server.url,
    newLedger: () => newLedger(server.url, operatorKey),
    async close() {
      await worker.close()
      await server.close()
      await stop()
    },
  }
}

async function newLedger(url: string, operatorKey: string): Promise<Record<string, string>> {
  const made = await post(`${url}/v1/ledgers`, operatorKey, { name: 'packed' })
  const apiKey = (made['key'] as { key: string }).key
  const performer = await post(`${url}/v1/agents`, apiKey, { name: 'performer' })
  const scopes = ['records:write', 'records:read:own']
  const key = await post(`${url}/v1/keys`, apiKey, { name: 'performer', agent: performer['id'], scopes })
  return {
    TALLYSTICK_URL: url,
    TALLYSTICK_API_KEY: apiKey,
    PERFORMER: performer['id'] as string,
    PERFORMER_KEY: key['key'] as string,
  }
}

async function post(url: string, key: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (response.status !== 201)
    throw new Error(`POST ${url} answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as Record<string, unknown>
}
