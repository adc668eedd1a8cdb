import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { displayUrl, fetchExport } from '../../src/verify/server.ts'
import { SourceError } from '../../src/verify/source.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { UsageError } from '../run.ts'
import { serverAddress } from '../server-address.ts'

const HELP = `tallystick export --server URL [-o FILE] [--api-key KEY]

Saves the whole ledger of an API key as NDJSON (docs/formats/export.md): every entry with its documents, the
public keys, and the newest checkpoint. Verify it with \`tallystick verify FILE\`.

  --server URL     a running server, for example http://localhost:3000
  --api-key KEY    an API key with the scope audit:read or records:read; better: the variable TALLYSTICK_API_KEY
  -o, --out FILE   where to write; by default, or with -, standard output
  -h, --help

An export holds documents and their salts: keep it like the data itself.
`

const OPTIONS = {
  server: { type: 'string' },
  'api-key': { type: 'string' },
  out: { type: 'string', short: 'o' },
} as const

type Values = ValuesOf<typeof OPTIONS>

export const exportLedger = defineCommand({ help: HELP, options: OPTIONS, run: save })

/** Writes to FILE.part and renames: a file of the final name is a complete one. */
async function save(values: Values, positionals: readonly string[]): Promise<ExitCode> {
  if (positionals.length > 0) throw new UsageError('export writes to the FILE of -o, or to standard output')
  if (values.server === undefined) throw new UsageError('export needs --server URL')
  const address = serverAddress(values.server, values['api-key'])
  const stream = await fetchExport(address)
  if (values.out === undefined || values.out === '-') {
    await saving(displayUrl(address.url), () => pipeline(stream, process.stdout, { end: false }))
    return EXIT.ok
  }
  const part = `${values.out}.part`
  try {
    // 0600: an export holds documents.
    await saving(displayUrl(address.url), () => pipeline(stream, createWriteStream(part, { mode: 0o600 })))
    await rename(part, values.out)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
  return EXIT.ok
}

async function saving(name: string, save: () => Promise<void>): Promise<void> {
  try {
    await save()
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    if (code === 'EPIPE') throw new SourceError('io', 'standard output was closed')
    if (path !== undefined || code === 'ENOSPC')
      throw new SourceError('io', `${path ?? 'the file'} cannot be written (${code})`)
    throw new SourceError(
      'unavailable',
      `${name} broke off before the end of the export (${(error as Error).message})`,
    )
  }
}
