import { mkdtemp, open, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyStream } from './copy-stream.ts'
import { exportFile } from './export-file.ts'
import { EXPORT_SPOOL_MIB_DEFAULT, EXPORT_SPOOL_SHARE_OF_FREE_MAX } from './limits.ts'
import { type LedgerSource, type OpenLedger, SourceError } from './source.ts'

const MIB = 1024 * 1024

export type SpoolOptions = {
  /** Maximum length of the export in MiB. A longer export counts as endless and is refused. */
  readonly mibMax?: number | undefined
}

/**
 * Returns a streamed export as a source. During verification, the export is stored in a file of the temporary directory
 * (TMPDIR). The file is needed because the checkpoint is in the last line, and must be known before the entries that it
 * covers.
 */
export function spooledExport(
  name: string,
  openStream: () => Promise<AsyncIterable<Uint8Array>>,
  { mibMax = EXPORT_SPOOL_MIB_DEFAULT }: SpoolOptions = {},
): LedgerSource {
  return {
    name,
    async open(): Promise<OpenLedger> {
      const directory = await local(() => mkdtemp(join(tmpdir(), 'tallystick-export-')))
      const remove = () => local(() => rm(directory, { recursive: true, force: true }))
      try {
        const path = join(directory, 'export.ndjson')
        await spool(await openStream(), { path, name, mibMax })
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
  const { bavail, bsize } = await local(() => statfs(tmpdir()))
  const freeBytes = bavail * bsize * EXPORT_SPOOL_SHARE_OF_FREE_MAX
  // The mode is 0600, because an export contains documents.
  const file = await local(() => open(path, 'wx', 0o600))
  const written = file.createWriteStream({ autoClose: false })
  try {
    const pieces = bounded(stream, to, freeBytes)
    await copyStream(pieces, written, (error) =>
      error.code === 'ENOSPC' ? noSpace(name) : localFault(error),
    )
  } finally {
    // A failed stream must be destroyed, because otherwise the file would not close.
    written.destroy()
    await file.close()
  }
}

/**
 * Yields the pieces of the stream. Throws SourceError at a limit, so that an endless answer is ended. Also throws
 * SourceError for errors of the stream.
 */
async function* bounded(
  stream: AsyncIterable<Uint8Array>,
  { name, mibMax }: Spool,
  freeBytes: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  try {
    for await (const piece of stream) {
      bytes += piece.length
      if (bytes > mibMax * MIB)
        throw new SourceError(
          'unavailable',
          `${name} is longer than ${mibMax} MiB: if the ledger is that large, allow more with --spool-mib`,
        )
      if (bytes > freeBytes) throw noSpace(name)
      yield piece
    }
  } catch (cause) {
    if (cause instanceof SourceError) throw cause
    throw new SourceError('unavailable', `${name} ended too early (${(cause as Error).message})`, {
      cause,
    })
  }
}

/** Returns an error about this machine's temporary directory. */
function localFault({ code }: NodeJS.ErrnoException): SourceError {
  return new SourceError(
    'io',
    `the temporary directory ${tmpdir()} cannot be used (${code}): set TMPDIR to another directory`,
  )
}

async function local<T>(work: () => Promise<T>): Promise<T> {
  return work().catch((error) => {
    throw localFault(error)
  })
}

function noSpace(name: string): SourceError {
  return new SourceError('io', `no space for ${name} in ${tmpdir()}: set TMPDIR to a larger directory`)
}
