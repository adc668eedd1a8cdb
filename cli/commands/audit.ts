import type { Tallystick } from '../../sdk/client.ts'
import type { Audit } from '../../sdk/generated/api.ts'
import { plain } from '../../sdk/plain.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { openProgressBar } from '../progress.ts'

const HELP = `tallystick audit [--no-wait]

Lets the server's worker verify the whole ledger, with every column of its database, and waits for the result. If an
audit is open already, the command waits for that one. This command trusts the server; \`tallystick verify\` does
not. Needs a key with the scope audit:read. Ends with 1 if a fault was found, 69 if the ledger could not be read.

  --no-wait        only start it; \`tallystick audits get\` shows its progress
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick audit
  tallystick audit --no-wait | jq -r .id
`

export const audit = defineCommand({
  help: HELP,
  options: { 'no-wait': { type: 'boolean' }, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    noArguments(positionals, 'audit')
    const client = await connect(values)
    if (values['no-wait']) {
      printItem(await client.audits.start(), values.json, io.stdout)
      return EXIT.ok
    }
    const ended = await runAudit(client, io)
    printItem(ended, values.json, io.stdout)
    return exitOf(ended)
  },
})

async function runAudit(client: Tallystick, io: Io): Promise<Audit> {
  const bar = openProgressBar(io.stderr)
  let isFirst = true
  const onProgress = ({ id, progress: { entriesDone, entriesTotal } }: Audit) => {
    if (isFirst) io.stderr.write(`tallystick: ${plain(id)} continues if you end this command\n`)
    isFirst = false
    bar.update({ entries: entriesDone, done: entriesDone, total: entriesTotal ?? Number.POSITIVE_INFINITY })
  }
  try {
    return await client.audits.run({ onProgress })
  } finally {
    bar.close()
  }
}

/**
 * Returns the exit code of an audit. A failed audit exits with `unavailable`, because it proves nothing about the
 * ledger.
 */
function exitOf({ state, ok }: Audit): ExitCode {
  if (state === 'failed') return EXIT.unavailable
  return ok === false ? EXIT.refused : EXIT.ok
}
