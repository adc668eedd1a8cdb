import { onlyArgument, parseChoice } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'

const HELP = `tallystick webhooks resume WEBHOOK [--from here|now]

Delivers to a webhook again that was paused, by somebody or because it failed for five days, or that was disabled, because it
answered 410. All that it has missed is delivered first. What had been given up before is not: \`tallystick webhooks
redeliver-dead\`. Needs a key with the scope webhooks:manage.

  --from WHERE     here, where it has stopped; now: what it has missed is left out. Otherwise here
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick webhooks resume whk_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick webhooks resume whk_01kd2m3n4p5q6r7s8t9v0w1x2y --from now
`

const PLACES = ['here', 'now'] as const

export const webhooksResume = defineCommand({
  help: HELP,
  options: { from: { type: 'string' }, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'webhooks resume WEBHOOK')
    const from = parseChoice(values.from ?? 'here', PLACES, '--from')
    const client = await connect(values)
    printItem(await client.webhooks.resume(id, { from }), values.json, io.stdout)
    return EXIT.ok
  },
})
