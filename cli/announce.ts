import { TallystickError } from '../sdk/errors.ts'
import type { ExportRequest } from '../sdk/resources/entries.ts'
import type { connect } from './connection.ts'
import type { Io } from './io.ts'

type Client = Awaited<ReturnType<typeof connect>>

/** A ledger that takes no entries may be looked at all the same. */
const CLOSED: ReadonlySet<string> = new Set([
  'ledger_frozen',
  'ledger_closed',
  'ledger_moving',
  'ledger_moved',
])

/** Has the ledger say, before anything is read, who takes what. */
export async function announce(
  { exports }: Client,
  { documents, ...request }: Omit<ExportRequest, 'documents'> & { readonly documents: boolean },
  io: Io,
): Promise<void> {
  try {
    await exports.announce({ ...request, documents: documents ? 'all' : 'withheld' })
  } catch (error) {
    if (!(error instanceof TallystickError) || !('code' in error) || !CLOSED.has(String(error.code)))
      throw error
    io.stderr.write('tallystick: the ledger takes no entries: it does not say that this was taken\n')
  }
}
