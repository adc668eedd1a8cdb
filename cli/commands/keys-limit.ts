import { onlyArgument } from '../arguments.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick keys limit KEY --per-second N --burst N
tallystick keys limit KEY --none

Limits the requests of an API key on each server. A request costs one, a batch one more for each 100 records. Needs a key with
the scope keys:manage.

  --per-second N   requests a second; may be a fraction
  --burst N        requests at once after a pause
  --none           no limit any more
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick keys limit key_01kd2m3n4p5q6r7s8t9v0w1x2y --per-second 100 --burst 200
  tallystick keys limit key_01kd2m3n4p5q6r7s8t9v0w1x2y --none
`

const OPTIONS = {
  'per-second': { type: 'string' },
  burst: { type: 'string' },
  none: { type: 'boolean' },
  ...CONNECTION_OPTIONS,
  ...OUTPUT_OPTIONS,
} as const

export const keysLimit = defineCommand({
  help: HELP,
  options: OPTIONS,
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'keys limit KEY')
    const rateLimit = parseLimit(values)
    const client = await connect(values)
    printItem(await client.keys.setRateLimit(id, rateLimit), values.json, io.stdout)
    return EXIT.ok
  },
})

/** Throws UsageError for anything but a whole limit or the word that takes it away: half a limit would be a guess. */
function parseLimit({ 'per-second': perSecond, burst, none }: ValuesOf<typeof OPTIONS>) {
  if (none && perSecond === undefined && burst === undefined) return null
  if (none || perSecond === undefined || burst === undefined)
    throw new UsageError('keys limit takes --per-second N and --burst N, or --none')
  return { requestsPerSecond: parseNumber(perSecond), burst: parseNumber(burst) }
}

function parseNumber(text: string): number {
  if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return Number(text)
  throw new UsageError(`${JSON.stringify(text)} is no number of requests`)
}
