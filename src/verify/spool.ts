import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { exportFile } from './export-file.ts'
import { type LedgerSource, type OpenLedger, SourceError } from './source.ts'

/**
 * An export that comes as a stream, kept in a file of the temporary directory (TMPDIR) while it is verified: its
 * checkpoint is the last line, and must be known before the entries that it covers go by.
 */
export function spooledExport(
  name: string,
  openStream: () => Promise<AsyncIterable<Uint8Array>>,
): LedgerSource {
  return {
    name,
    async open(): Promise<OpenLedger> {
      const stream = await openStream()
      const directory = await mkdtemp(join(tmpdir(), 'tallystick-export-'))
      const remove = () => rm(directory, { recursive: true, force: true })
      try {
        const path = join(directory, 'export.ndjson')
        await spool(stream, path, name)
        const ledger = await exportFile(path, name).open()
        return { ...ledger, close: () => ledger.close().finally(remove) }
      } catch (error) {
        await remove()
        throw error
      }
    },
  }
}

async function spool(stream: AsyncIterable<Uint8Array>, path: string, name: string): Promise<void> {
  try {
    // 0600: an export holds documents.
    await pipeline(stream, createWriteStream(path, { mode: 0o600 }))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') {
      throw new SourceError('io', `no space for ${name} in ${tmpdir()}: set TMPDIR to a larger directory`)
    }
    throw new SourceError('unavailable', `${name} broke off before its end (${(error as Error).message})`, {
      cause: error,
    })
  }
}
