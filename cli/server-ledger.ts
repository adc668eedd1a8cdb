import type { Tallystick } from '../sdk/client.ts'
import { bytesOf } from '../sdk/http/answers.ts'
import { displayUrl, type LedgerSource } from '../src/verify/source.ts'
import { type SpoolOptions, spooledExport } from '../src/verify/spool.ts'

/**
 * Returns the ledger of the client's API key as a source, which reads `GET /v1/export`. `name`: the server's address.
 */
export function serverLedger(client: Tallystick, name: string, options?: SpoolOptions): LedgerSource {
  return spooledExport(displayUrl(name), async () => bytesOf(await client.exports.stream()), options)
}
