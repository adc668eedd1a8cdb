import type { Tallystick } from './client.ts'
import { ApiError, UnknownOutcomeError } from './errors.ts'
import type { CallOptions } from './http/transport.ts'
import type { ExportRequest } from './resources/entries.ts'

/** Codes by which a ledger takes no entries. It may be looked at all the same. */
const CLOSED: ReadonlySet<string> = new Set([
  'ledger_frozen',
  'ledger_closed',
  'ledger_moving',
  'ledger_moved',
])

/** Has the ledger say, before anything is read, who takes what. False: it takes no entries, and does not say so. */
export async function announceExport(
  { exports }: Pick<Tallystick, 'exports'>,
  { documents, ...request }: Omit<ExportRequest, 'documents'> & { readonly documents: boolean },
  options?: CallOptions,
): Promise<boolean> {
  try {
    await exports.announce({ ...request, documents: documents ? 'all' : 'withheld' }, options)
    return true
  } catch (error) {
    const refusal = error instanceof UnknownOutcomeError ? error.cause : error
    if (refusal instanceof ApiError && CLOSED.has(refusal.code)) return false
    throw error
  }
}
