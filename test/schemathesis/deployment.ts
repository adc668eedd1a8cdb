import { startServer } from '../../src/server.ts'
import type { NewLedger } from '../../src/tenancy/create-ledger.ts'
import { startWorker } from '../../worker/worker.ts'
import { startScratch } from '../helpers/scratch.ts'

export type Fuzzed = {
  readonly url: string
  readonly ledgerKey: string
  /** Of another ledger. */
  readonly otherLedgerKey: string
  readonly operatorKey: string
  close(): Promise<void>
}

/** A server and a worker on a Postgres of their own, and two ledgers with a little of everything. */
export async function startFuzzed(): Promise<Fuzzed> {
  const { config, operatorKey, stop } = await startScratch()
  const server = await startServer(config)
  const worker = await startWorker(config)
  return {
    url: server.url,
    operatorKey,
    ledgerKey: await fillLedger(server.url, operatorKey),
    otherLedgerKey: await fillLedger(server.url, operatorKey),
    async close() {
      await worker.close()
      await server.close()
      await stop()
    },
  }
}

/** Returns a key of the ledger with all scopes. */
async function fillLedger(url: string, operatorKey: string): Promise<string> {
  const { key } = (await post(`${url}/v1/ledgers`, operatorKey, { name: 'fuzzed' })) as NewLedger
  const record = { type: 'generic/1', payload: { tool: 'search' } }
  await post(`${url}/v1/records`, key.key, record)
  await post(`${url}/v1/records/batch`, key.key, { records: [record, record] })
  return key.key
}

async function post(url: string, key: string, body: object): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (response.status !== 201)
    throw new Error(`POST ${url} answered ${response.status}: ${await response.text()}`)
  return response.json()
}
