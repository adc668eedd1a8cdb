import { bytesOf } from '../../sdk/http/answers.ts'
import { announce } from '../announce.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { refuseTerminal, withOutput } from '../output-file.ts'

const HELP = `tallystick export [-o FILE]

Saves the whole ledger of an API key as NDJSON (docs/formats/export.md): every entry with its documents, the public
keys, and the newest checkpoint. Verify the file with \`tallystick verify FILE\`. Needs a key with the scope audit:read;
without records:read the export has no documents. An entry of the ledger (export-made) names who made the export.

  -o, --out FILE   where to write. Default, and for -: standard output, unless that is a terminal
${CONNECTION_HELP}
  -h, --help

An export contains documents and their salts: protect it like the data itself. Only you can read FILE.

Examples:
  tallystick export -o ledger.ndjson
  tallystick export | gzip > ledger.ndjson.gz
`

const OPTIONS = { out: { type: 'string', short: 'o' }, ...CONNECTION_OPTIONS } as const

export const exportLedger = defineCommand({ help: HELP, options: OPTIONS, run: save })

async function save(
  values: ValuesOf<typeof OPTIONS>,
  positionals: readonly string[],
  io: Io,
): Promise<ExitCode> {
  noArguments(positionals, 'export -o FILE')
  return withOutput(values.out, { io, isPrivate: true }, async (output) => {
    refuseTerminal('an export', output)
    const client = await connect(values)
    await announce(client, { of: {}, from: 0, documents: true }, io)
    await output.save(bytesOf(await client.exports.stream()))
    return EXIT.ok
  })
}
