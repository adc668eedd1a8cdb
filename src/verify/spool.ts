import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { exportFile } from './export-file.ts'
import { EXPORT_SPOOL_MIB_DEFAULT, EXPORT_SPOOL_SHARE_OF_FREE_MAX } from './limits.ts'
import { type LedgerSource, type OpenLedger, SourceError } from './source.ts'

const MIB = 1024 * 1024

export type SpoolOptions = {
  /** How long the export may be; more than that is taken for one without end. */
  readonly mibMax?: number | undefined
}

/**
 * An export that comes as a stream, kept in a file of the temporary directory (TMPDIR) while it is verified: its
 * checkpoint is the last line, and must be known before the entries that it covers go by.
 */
export function spooledExport(
  name: string,
  openStream: () => Promise<AsyncIterable<Uint8Array>>,
  { mibMax = EXPORT_SPOOL_MIB_DEFAULT }: SpoolOptions = {},
): LedgerSource {
  return {
    name,
    async open(): Promise<OpenLedger> {
      const stream = await openStream()
      const directory = await mkdtemp(join(tmpdir(), 'tallystick-export-'))
      const remove = () => rm(directory, { recursive: true, force: true })
      try {
        const path = join(directory, 'export.ndjson')
        await spool(stream, { path, name, mibMax })
        const ledger = await exportFile(path, name).open()
        return { ...ledger, close: () => ledger.close().finally(remove) }
      } catch (error) {
        await remove()
        throw error
      }
    },
  }
}

type Spool = { readonly path: string; readonly name: string; readonly mibMax: number }

async function spool(stream: AsyncIterable<Uint8Array>, to: Spool): Promise<void> {
  const { name, path } = to
  try {
    const { bavail, bsize } = await statfs(tmpdir())
    const freeBytes = bavail * bsize * EXPORT_SPOOL_SHARE_OF_FREE_MAX
    // 0600: an export holds documents.
    await pipeline(stream, bounded(to, freeBytes), createWriteStream(path, { mode: 0o600 }))
  } catch (error) {
    if (error instanceof SourceError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw noSpace(name)
    throw new SourceError('unavailable', `${name} broke off before its end (${(error as Error).message})`, {
      cause: error,
    })
  }
}

/** A server that never ends its answer gets no further. */
function bounded({ name, mibMax }: Spool, freeBytes: number) {
  return async function* (stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let bytes = 0
    for await (const piece of stream) {
      bytes += piece.length
      if (bytes > mibMax * MIB)
        throw new SourceError(
          'unavailable',
          `${name} is longer than ${mibMax} MiB, and may have no end: if the ledger is that large, allow more with --spool-mib`,
        )
      if (bytes > freeBytes) throw noSpace(name)
      yield piece
    }
  }
}

function noSpace(name: string): SourceError {
  return new SourceError('io', `no space for ${name} in ${tmpdir()}: set TMPDIR to a larger directory`)
}
