import { announceExport } from '../sdk/announce.ts'
import type { Io } from './io.ts'

/** Announces an export to the ledger, before anything is read. Warns on stderr if the ledger accepts no entries. */
export async function announce(
  client: Parameters<typeof announceExport>[0],
  request: Parameters<typeof announceExport>[1],
  io: Io,
): Promise<void> {
  if (await announceExport(client, request)) return
  io.stderr.write(
    'tallystick: the ledger accepts no entries now, so no entry (export-made) names this export\n',
  )
}
