import { onlyArgument, parseCount } from '../arguments.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick peers budget PEER --entries N --bytes N
tallystick peers budget PEER --default

Bounds what a peer may have this side store in 24 hours; beyond it the peer is told to come again later. Needs a key with the scope
peers:manage. \`tallystick peers get\` shows how much of it is used.

  --entries N      entries of the peer, each with the one that receives it
  --bytes N        of them, and of documents, types and forks
  --default        as every peer has it
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick peers budget peer_01kd2m3n4p5q6r7s8t9v0w1x2y --entries 100000 --bytes 1000000000
  tallystick peers budget peer_01kd2m3n4p5q6r7s8t9v0w1x2y --default
`

const OPTIONS = {
  entries: { type: 'string' },
  bytes: { type: 'string' },
  default: { type: 'boolean' },
  ...CONNECTION_OPTIONS,
  ...OUTPUT_OPTIONS,
} as const

export const peersBudget = defineCommand({
  help: HELP,
  options: OPTIONS,
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'peers budget PEER')
    const budget = parseBudget(values)
    const client = await connect(values)
    printItem(await client.peers.setBudget(id, budget), values.json, io.stdout)
    return EXIT.ok
  },
})

/** Throws UsageError for anything but a whole budget or the word that takes it away: half of one would be a guess. */
function parseBudget({ entries, bytes, default: isDefault }: ValuesOf<typeof OPTIONS>) {
  if (isDefault && entries === undefined && bytes === undefined) return null
  const entriesPerDay = parseCount(entries, '--entries')
  const bytesPerDay = parseCount(bytes, '--bytes')
  if (isDefault || entriesPerDay === undefined || bytesPerDay === undefined)
    throw new UsageError('peers budget takes --entries N and --bytes N, or --default')
  return { entriesPerDay, bytesPerDay }
}
