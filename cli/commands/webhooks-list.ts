import type { Webhook } from '../../sdk/generated/api.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { LIMIT_HELP, LIMIT_OPTIONS, limited } from '../limited.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItems } from '../output.ts'

const HELP = `tallystick webhooks list [--limit N]

Lists the ledger's webhooks, in the order in which they were made, without their secrets: the state of each, how many entries it
has not come to, its failures in a row, and how many deliveries were given up. Needs a key with the scope webhooks:manage.

${LIMIT_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick webhooks list
  tallystick webhooks list | jq -r 'select(.state != "active" or .standing.failures > 0) | .id'
`

const COLUMNS: readonly Column<Webhook>[] = [
  ['ID', ({ id }) => id],
  ['STATE', ({ state, reason }) => (reason === null ? state : `${state}: ${reason}`)],
  ['BEHIND', ({ standing }) => standing.behind],
  ['FAILURES', ({ standing }) => standing.failures],
  ['DEAD', ({ standing }) => standing.dead],
  ['EVENTS', ({ events }) => events.join(',')],
  ['URL', ({ url }) => url],
]

export const webhooksList = defineCommand({
  help: HELP,
  options: { ...LIMIT_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    noArguments(positionals, 'webhooks list')
    const client = await connect(values)
    await printItems(limited(client.webhooks.list(), values, io), COLUMNS, values.json, io.stdout)
    return EXIT.ok
  },
})
