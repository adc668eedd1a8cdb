import { noArguments, parseCount } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { write } from '../io.ts'
import { jsonLine } from '../output.ts'

const HELP = `tallystick entries [--after SEQ] [--limit N]

Prints entries of the chain in order, up to its end, one line of JSON each, as in an export (docs/formats/export.md):
with the signed envelope and the documents. \`tallystick tail --entries\` shows and follows them as a table. Needs a key
with the scope audit:read.

  --after SEQ      only entries after this one. Default: from the first entry on
  --limit N        at most N
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick entries --after 1000 --limit 10
  tallystick entries | jq -r .kind | sort | uniq -c
`

export const entries = defineCommand({
  help: HELP,
  options: { after: { type: 'string' }, limit: { type: 'string' }, ...CONNECTION_OPTIONS },
  async run(values, positionals, io) {
    noArguments(positionals, 'entries')
    const range = {
      after: parseCount(values.after, '--after', { min: 0 }),
      limit: parseCount(values.limit, '--limit'),
    }
    const client = await connect(values)
    for await (const entry of client.entries.stream(range)) await write(io.stdout, jsonLine(entry, io.stdout))
    return EXIT.ok
  },
})
