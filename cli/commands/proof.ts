import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { ENTRY_OPTIONS, parseEntryArgument, UNTIL_COVERED } from '../entry-argument.ts'
import { EXIT } from '../exit-codes.ts'
import { jsonLine } from '../output.ts'
import { withOutput } from '../output-file.ts'

const HELP = `tallystick proof RECORD [--seq SEQ] [--size N] [-o FILE]
tallystick proof SEQ [--size N] [-o FILE]

Saves the proof of an entry, with which anybody can verify the entry offline: the first entry of a record, another one
of it, or any entry by its seq. Waits about half a minute for a checkpoint that covers it. The output is one line of
JSON (docs/formats/proofs.md).

  --seq SEQ        another entry of the record than its first
  --size N         prove it in the checkpoint of this size, such as a stored one. Default: the newest
  --cosignatures K use the newest checkpoint that K witnesses have cosigned
  -o, --out FILE   where to write. Default, and for -: standard output
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick proof rec_01kd2m3n4p5q6r7s8t9v0w1x2y -o proof.json
  tallystick verify --proof proof.json
  tallystick proof 41 --size 1000 | jq .checkpoint
`

export const proof = defineCommand({
  help: HELP,
  options: {
    ...ENTRY_OPTIONS,
    ...CONNECTION_OPTIONS,
  },
  async run(values, positionals, io) {
    const { record, seq, size, cosignatures } = parseEntryArgument('proof', positionals, values)
    return withOutput(values.out, { io, isPrivate: false }, async (output) => {
      const client = await connect(values)
      const found =
        record === null
          ? await client.entries.proof(seq, { size, cosignatures }, UNTIL_COVERED)
          : await client.records.proof(record, { seq, size, cosignatures }, UNTIL_COVERED)
      await output.save([jsonLine(found, output)])
      return EXIT.ok
    })
  },
})
