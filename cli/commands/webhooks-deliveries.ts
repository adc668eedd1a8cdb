import type { DeliverySummary } from '../../sdk/generated/api.ts'
import type { DeliveriesQuery } from '../../sdk/resources/webhooks.ts'
import { onlyArgument, parseChoice } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { LIMIT_HELP, LIMIT_OPTIONS, limited } from '../limited.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItems } from '../output.ts'

const HELP = `tallystick webhooks deliveries WEBHOOK [--state STATE] [--event EVENT] [--record RECORD] [--limit N]

Lists deliveries to a webhook, newest first. Needs a key with the scope webhooks:manage.

  --state STATE    only deliveries in this state: pending (will be tried again), held (waits for an earlier event of
                   its record), delivered, dead (given up)
  --event EVENT    only this event, for example signal.emitted
  --record RECORD  only events about this record
${LIMIT_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick webhooks deliveries whk_01kd2m3n4p5q6r7s8t9v0w1x2y --state dead
  tallystick webhooks deliveries whk_01kd2m3n4p5q6r7s8t9v0w1x2y --record rec_01kd2m3n4p5q6r7s8t9v0w1x2y | jq -r .id
`

const STATES = ['pending', 'held', 'delivered', 'dead'] as const

const COLUMNS: readonly Column<DeliverySummary>[] = [
  ['ID', ({ id }) => id],
  ['EVENT', ({ event }) => event],
  ['RECORD', ({ record }) => record],
  ['STATE', ({ state }) => state],
  ['ATTEMPTS', ({ attempts }) => attempts],
  ['DUE', ({ dueAt }) => dueAt],
]

export const webhooksDeliveries = defineCommand({
  help: HELP,
  options: {
    state: { type: 'string' },
    event: { type: 'string' },
    record: { type: 'string' },
    ...LIMIT_OPTIONS,
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'webhooks deliveries WEBHOOK')
    const query = {
      state: values.state === undefined ? undefined : parseChoice(values.state, STATES, '--state'),
      // The server checks the event's name, because a newer server may have events that this tool does not know.
      event: values.event as DeliveriesQuery['event'],
      record: values.record,
    }
    const client = await connect(values)
    const deliveries = limited(client.webhooks.deliveries(id, query), values, io)
    await printItems(deliveries, COLUMNS, values.json, io.stdout)
    return EXIT.ok
  },
})
