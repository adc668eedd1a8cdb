import { EXPORT_SPOOL_MIB_DEFAULT } from '../src/verify/limits.ts'
import { type LedgerSource, SourceError } from '../src/verify/source.ts'
import { spooledExport } from '../src/verify/spool.ts'
import { parseCount } from './arguments.ts'
import type { Io } from './io.ts'

/** Options of commands that store a stream while they verify it. */
export const SPOOL_OPTIONS = { 'spool-mib': { type: 'string' } } as const
export const SPOOL_HELP = `  --spool-mib N      maximum size of an export from a server or standard input; default ${EXPORT_SPOOL_MIB_DEFAULT} (64 GiB)`

export type SpoolValues = { readonly 'spool-mib'?: string | undefined }

export function parseSpoolMib(values: SpoolValues): number | undefined {
  return parseCount(values['spool-mib'], '--spool-mib')
}

export function standardInput(io: Io, values: SpoolValues): LedgerSource {
  const mibMax = parseSpoolMib(values)
  return spooledExport('standard input', async () => read(io), { mibMax })
}

async function* read({ stdin }: Io): AsyncGenerator<Uint8Array> {
  try {
    yield* stdin as AsyncIterable<Uint8Array>
  } catch (error) {
    throw new SourceError('io', `standard input cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}
