import type { NewLedger } from '../../../src/ledgers/create-ledger.ts'
import { post } from '../../helpers/post.ts'
import { startHere } from '../deployment/deployment.ts'

export type Fuzzed = {
  readonly url: string
  readonly ledgerKey: string
  readonly otherLedgerKey: string
  readonly operatorKey: string
  close(): Promise<void>
}

/** Starts a server and a worker on their own Postgres. Their two ledgers contain entries of many kinds. */
export async function startFuzzed(): Promise<Fuzzed> {
  const deployment = await startHere()
  const { url, operatorKey } = deployment
  return {
    url,
    operatorKey,
    close: () => deployment.stop(),
    ledgerKey: await fillLedger(url, operatorKey),
    otherLedgerKey: await fillLedger(url, operatorKey),
  }
}

async function fillLedger(url: string, operatorKey: string): Promise<string> {
  const { key } = await post<NewLedger>(`${url}/v1/ledgers`, operatorKey, { name: 'fuzzed' })
  const record = { type: 'generic/1', payload: { tool: 'search' } }
  await post(`${url}/v1/records`, key.key, record)
  await post(`${url}/v1/records/batch`, key.key, { records: [record, record] })
  return key.key
}
