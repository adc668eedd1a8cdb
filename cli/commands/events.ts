import type { Tallystick } from '../../sdk/client.ts'
import type { LedgerEvent } from '../../sdk/generated/api.ts'
import { PAGE_ITEMS_MAX } from '../../src/records/limits.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EVENT_FILTER_HELP, EVENT_FILTER_OPTIONS, eventFilterOf, whatOf } from '../event-text.ts'
import { EXIT } from '../exit-codes.ts'
import { LIMIT_HELP, LIMIT_OPTIONS, limitOf } from '../limited.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItems } from '../output.ts'

const HELP = `tallystick events [--events NAMES] [--types TYPES] [--after CURSOR] [--limit N]

Lists what happened in the ledger, oldest first, up to now, as webhooks and \`tallystick tail\` report it
(docs/reference/events.md). Prints the cursor to continue with on standard error. Needs the scope records:read or
audit:read; with records:read:own only events of the agent's own records are listed.

${EVENT_FILTER_HELP}
  --after CURSOR   only events after this cursor. Default: from the first event on
${LIMIT_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick events --limit 20
  tallystick events --events signal.emitted | jq -r '.data.record.id + " " + .data.signal.decision'
`

const COLUMNS: readonly Column<LedgerEvent>[] = [
  ['TIME', ({ timestamp }) => timestamp],
  ['EVENT', ({ type }) => type],
  ['WHAT', whatOf],
]

export const events = defineCommand({
  help: HELP,
  options: {
    after: { type: 'string' },
    ...EVENT_FILTER_OPTIONS,
    ...LIMIT_OPTIONS,
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    noArguments(positionals, 'events')
    const limit = limitOf(values, io)
    const position = { cursor: values.after }
    const client = await connect(values)
    const items = read(client, eventFilterOf(values), position, limit)
    await printItems(items, COLUMNS, values.json, io.stdout)
    if (position.cursor !== undefined)
      io.stderr.write(`tallystick: continue with --after ${position.cursor}\n`)
    return EXIT.ok
  },
})

/** Yields up to `limit` events. Advances `position` with each page. */
async function* read(
  client: Tallystick,
  filter: ReturnType<typeof eventFilterOf>,
  place: { cursor: string | undefined },
  limit: number,
): AsyncGenerator<LedgerEvent> {
  for (let left = limit, more = true; more && left > 0; ) {
    const page = await client.events.page({ ...filter, ...place, limit: Math.min(left, PAGE_ITEMS_MAX) })
    yield* page.data
    left -= page.data.length
    more = page.more
    place.cursor = page.nextCursor
  }
}
