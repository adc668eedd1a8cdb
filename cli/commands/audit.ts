import type { Tallystick } from '../../sdk/client.ts'
import type { Audit } from '../../sdk/generated/api.ts'
import { sleep } from '../../sdk/http/retries.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { openProgressBar } from '../progress.ts'

const HELP = `tallystick audit [--no-wait]

Has the server's worker verify the whole ledger, with every column of its database, and waits until it is done. An audit that
is open already is waited for. It is the server's own word: \`tallystick verify\` checks without it. Needs a key with the
scope audit:read. Ends with 1 when a fault was found, 69 when the ledger could not be read.

  --no-wait        ask for it, and end; \`tallystick audits get\` shows how far it is
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick audit
  tallystick audit --no-wait | jq -r .id
`

const POLL_MS_MIN = 100
const POLL_MS_MAX = 2_000

export const audit = defineCommand({
  help: HELP,
  options: { 'no-wait': { type: 'boolean' }, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    noArguments(positionals, 'audit')
    const client = await connect(values)
    const started = await client.audits.start()
    if (values['no-wait']) {
      printItem(started, values.json, io.stdout)
      return EXIT.ok
    }
    const ended = await waitFor(client, started, io)
    printItem(ended, values.json, io.stdout)
    return exitOf(ended)
  },
})

async function waitFor(client: Tallystick, started: Audit, io: Io): Promise<Audit> {
  io.stderr.write(`tallystick: ${started.id} goes on by itself where this is ended\n`)
  const bar = openProgressBar(io.stderr)
  try {
    let latest = started
    for (let pollMs = POLL_MS_MIN; isOpen(latest); pollMs = Math.min(POLL_MS_MAX, pollMs * 1.5)) {
      const { entriesDone, entriesTotal } = latest.progress
      bar.update({ entries: entriesDone, done: entriesDone, total: entriesTotal ?? Number.POSITIVE_INFINITY })
      await sleep(pollMs)
      latest = await client.audits.get(started.id)
    }
    return latest
  } finally {
    bar.close()
  }
}

function isOpen({ state }: Audit): boolean {
  return state === 'queued' || state === 'running'
}

/** Of an audit that failed nothing is known of the ledger. */
function exitOf({ state, ok }: Audit): ExitCode {
  if (state === 'failed') return EXIT.unavailable
  return ok === false ? EXIT.refused : EXIT.ok
}
