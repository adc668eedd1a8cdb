import type { Tallystick } from './client.ts'
import { ApiError } from './errors.ts'
import type { CallOptions } from './http/transport.ts'
import type { ExportRequest } from './resources/entries.ts'

/** Codes of ledgers that accept no entries. Such ledgers can still be read. */
const CLOSED: ReadonlySet<string> = new Set([
  'ledger_frozen',
  'ledger_closed',
  'ledger_moving',
  'ledger_moved',
])

/**
 * Makes the server record who is going to export which entries. Call this function before anything is read. Returns
 * false, and records nothing, if the ledger accepts no entries. Throws every other error of the call.
 */
export async function announceExport(
  { exports }: Pick<Tallystick, 'exports'>,
  { documents, ...request }: Omit<ExportRequest, 'documents'> & { readonly documents: boolean },
  options?: CallOptions,
): Promise<boolean> {
  try {
    await exports.announce({ ...request, documents: documents ? 'all' : 'withheld' }, options)
    return true
  } catch (error) {
    if (error instanceof ApiError && CLOSED.has(error.code)) return false
    throw error
  }
}
