import { startServer } from '../../src/run/server.ts'
import { startWorker } from '../../src/run/worker.ts'
import { startScratch } from './scratch.ts'

/** A server and a worker on a Postgres of their own. */
export async function startServerAndWorker(environment: NodeJS.ProcessEnv = {}) {
  const { config, operatorKey, stop } = await startScratch(environment)
  const server = await startServer(config)
  const worker = await startWorker(config)
  return {
    url: server.url,
    operatorKey,
    async close() {
      await worker.close()
      await server.close()
      await stop()
    },
  }
}

/** Posts and returns the answer; throws unless the server made something. */
export async function post<T>(url: string, key: string, body: object): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (response.status !== 201)
    throw new Error(`POST ${url} answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as T
}
