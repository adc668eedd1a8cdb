import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { TallystickError } from '../../sdk/errors.ts'
import { bytesOf } from '../../sdk/http/answers.ts'
import { SourceError } from '../../src/verify/source.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick export [-o FILE]

Saves the whole ledger of an API key as NDJSON (docs/formats/export.md): every entry with its documents, the
public keys, and the newest checkpoint. Verify it with \`tallystick verify FILE\`. Needs a key with the scope audit:read;
without records:read it has no documents.

  -o, --out FILE   where to write; by default, or with -, standard output, if that is no terminal
${CONNECTION_HELP}
  -h, --help

An export holds documents and their salts: keep it like the data itself. FILE is readable by you alone.

Examples:
  tallystick export -o ledger.ndjson
  tallystick export | gzip > ledger.ndjson.gz
`

const OPTIONS = { out: { type: 'string', short: 'o' }, ...CONNECTION_OPTIONS } as const

export const exportLedger = defineCommand({ help: HELP, options: OPTIONS, run: save })

/** Writes beside and renames: a file of the final name is a complete one. */
async function save(
  values: ValuesOf<typeof OPTIONS>,
  positionals: readonly string[],
  io: Io,
): Promise<ExitCode> {
  noArguments(positionals, 'export -o FILE')
  refuseTerminal(values, io)
  const client = await connect(values)
  const bytes = bytesOf(await client.exports.stream())
  if (values.out === undefined || values.out === '-') {
    await saving(() => pipeline(bytes, io.stdout, { end: false }))
    return EXIT.ok
  }
  const part = `${values.out}.${process.pid}.part`
  try {
    // 0600, and a file of its own: an export holds documents, and what lies there may be readable to others, or a link.
    await saving(() => pipeline(bytes, createWriteStream(part, { flags: 'wx', mode: 0o600 })))
    await rename(part, values.out)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
  return EXIT.ok
}

/**
 * Payloads are what others wrote, and may drive a terminal. They can't be made harmless as elsewhere: an export with other bytes is
 * another export.
 */
function refuseTerminal({ out }: ValuesOf<typeof OPTIONS>, { stdout }: Io): void {
  if ((out !== undefined && out !== '-') || !stdout.isTTY) return
  throw new UsageError(
    'an export is not written to a terminal, which what others wrote in it could drive: name a file (-o FILE), or pipe it',
  )
}

/** Saves; the SDK reports what is wrong at the server's end. */
async function saving(save: () => Promise<void>): Promise<void> {
  try {
    await save()
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    if (code === undefined || error instanceof TallystickError) throw error
    if (code === 'EPIPE') throw new SourceError('io', 'standard output was closed')
    throw new SourceError('io', `${path ?? 'the file'} cannot be written (${code})`)
  }
}
