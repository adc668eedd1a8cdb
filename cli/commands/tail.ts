import type { Tallystick } from '../../sdk/client.ts'
import { RETRIES_DEFAULT } from '../../sdk/http/retries.ts'
import { plain } from '../../sdk/plain.ts'
import type { TailedEvent } from '../../sdk/resources/events.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EVENT_FILTER_HELP, EVENT_FILTER_OPTIONS, eventFilterOf, whatOf } from '../event-text.ts'
import { EXIT } from '../exit-codes.ts'
import { follow } from '../follow.ts'
import type { Io } from '../io.ts'
import { jsonLine, OUTPUT_HELP, OUTPUT_OPTIONS } from '../output.ts'
import { UsageError } from '../run.ts'
import { tailEntries } from '../tail-entries.ts'

const HELP = `tallystick tail [--events NAMES] [--types TYPES] [--from-beginning | --after CURSOR]

Follows what happens in the ledger: one line for each event, from now on. As JSON each has a \`cursor\`: with the last
one you can continue later. Ctrl-C ends it; an outage of the server does not. It shows the server's answers:
\`tallystick verify\` checks them. Needs the scope records:read or audit:read; with records:read:own only events of the
agent's own records are shown.

${EVENT_FILTER_HELP}
  --from-beginning start with the ledger's first event
  --after CURSOR   start after this event: nothing is missed between two runs
  --entries        follow the entries of the chain instead, of all kinds (scope audit:read)
  -n, --lines N    with --entries: start with the last N (default 10; 0: only new ones); --after takes a SEQ
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick tail
  tallystick tail --types order --events signal.emitted | jq -r '.data.record.id + " " + .data.signal.decision'
  tallystick tail --entries --after 4711 | jq -c 'select(.kind == "key-created")'
`

const OPTIONS = {
  entries: { type: 'boolean' },
  lines: { type: 'string', short: 'n' },
  after: { type: 'string' },
  'from-beginning': { type: 'boolean' },
  ...EVENT_FILTER_OPTIONS,
  ...CONNECTION_OPTIONS,
  ...OUTPUT_OPTIONS,
} as const

type Values = ValuesOf<typeof OPTIONS>

export const tail = defineCommand({
  help: HELP,
  options: OPTIONS,
  async run(values, positionals, io) {
    noArguments(positionals, 'tail')
    refuseContradictions(values)
    const client = await connect(values)
    if (values.entries) await tailEntries(client, values, io)
    else await tailEvents(client, values, io)
    return EXIT.ok
  },
})

function refuseContradictions(values: Values): void {
  const begins = [values.lines, values.after, values['from-beginning']].filter((value) => value !== undefined)
  if (begins.length > 1) throw new UsageError('tail takes only one of -n, --after and --from-beginning')
  if (values.entries) {
    if (values.events !== undefined || values.types !== undefined || values['from-beginning'])
      throw new UsageError('--events, --types and --from-beginning cannot be used with --entries')
  } else if (values.lines !== undefined) throw new UsageError('-n can only be used with --entries')
}

async function tailEvents(client: Tallystick, values: Values, io: Io): Promise<void> {
  const filter = eventFilterOf(values)
  const begin =
    values.after === undefined
      ? ({ from: values['from-beginning'] ? 'beginning' : 'end' } as const)
      : { cursor: values.after }
  // This request is sent even if the cursor is known, because it fails if the server is not reachable. The tail below
  // waits for a server that is not reachable. A tail from the end begins at this `nextCursor`.
  const { nextCursor } = await client.events.page({ ...filter, ...begin, limit: 1 })
  const place = begin.from === 'end' ? { after: nextCursor } : { after: begin.cursor, from: begin.from }
  const { retriesMax } = RETRIES_DEFAULT
  const isTable = io.stdout.isTTY && !values.json
  await follow<TailedEvent>(
    io,
    (last, signal) =>
      client.events.tail({ ...filter, ...(last ? { after: last.cursor } : place), signal, retriesMax }),
    (event) => (isTable ? `${rowOf(event)}\n` : jsonLine(event, io.stdout)),
  )
}

const TYPE_WIDTH = 20

function rowOf(event: TailedEvent): string {
  return plain([event.timestamp, event.type.padEnd(TYPE_WIDTH), whatOf(event)].join('  '))
}
