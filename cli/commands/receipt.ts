import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { ENTRY_OPTIONS, parseEntryArgument, UNTIL_COVERED } from '../entry-argument.ts'
import { EXIT } from '../exit-codes.ts'
import { refuseTerminal, withOutput } from '../output-file.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick receipt RECORD -o FILE [--seq SEQ] [--size N]
tallystick receipt SEQ -o FILE [--size N]

Saves one small file (COSE, RFC 9942) that shows, with only the ledger's note key, that an entry is in the ledger: the
first entry of a record, another one of it, or any entry by its seq. Waits about half a minute for a checkpoint that
covers it (docs/formats/receipts.md).

  --seq SEQ        another entry of the record than its first
  --size N         in the checkpoint of this size. Default: the newest
  --cosignatures K use the newest checkpoint that K witnesses have cosigned
  -o, --out FILE   where to write; - is standard output, unless that is a terminal
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick receipt rec_01kd2m3n4p5q6r7s8t9v0w1x2y -o record.cose
  tallystick verify receipt record.cose --note-key "$NOTE_KEY"
  tallystick receipt 41 --size 1000 -o entry.cose
`

export const receipt = defineCommand({
  help: HELP,
  options: {
    ...ENTRY_OPTIONS,
    ...CONNECTION_OPTIONS,
  },
  async run(values, positionals, io) {
    const { record, seq, size, cosignatures } = parseEntryArgument('receipt', positionals, values)
    if (values.out === undefined) throw new UsageError('a receipt is binary: name a file for it with -o FILE')
    return withOutput(values.out, { io, isPrivate: false }, async (output) => {
      refuseTerminal('a receipt', output)
      const client = await connect(values)
      const bytes =
        record === null
          ? await client.entries.receipt(seq, { size, cosignatures }, UNTIL_COVERED)
          : await client.records.receipt(record, { seq, size, cosignatures }, UNTIL_COVERED)
      await output.save([bytes])
      return EXIT.ok
    })
  },
})
