import type { Peer } from '../../sdk/generated/api.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { LIMIT_HELP, LIMIT_OPTIONS, limited } from '../limited.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItems } from '../output.ts'

const HELP = `tallystick peers list [--limit N]

Lists the ledgers of other servers that this one shares records with, in the order in which they were invited: the state of each,
how many entries it has not come to, its failures in a row, what it refused for good, and entries of it that contradict earlier
ones. Needs a key with the scope peers:manage, records:read or audit:read.

${LIMIT_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick peers list
  tallystick peers list | jq -r 'select(.drain.deadLetters > 0 or .drain.forks > 0) | .id'
`

const COLUMNS: readonly Column<Peer>[] = [
  ['ID', ({ id }) => id],
  ['STATE', ({ state }) => state],
  ['BEHIND', ({ drain }) => drain?.behind ?? null],
  ['FAILURES', ({ drain }) => drain?.failures ?? null],
  ['DEAD', ({ drain }) => drain?.deadLetters ?? null],
  ['FORKS', ({ drain }) => drain?.forks ?? null],
  ['NAME', ({ name }) => name],
  ['URL', ({ remote }) => remote?.url ?? null],
]

export const peersList = defineCommand({
  help: HELP,
  options: { ...LIMIT_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    noArguments(positionals, 'peers list')
    const client = await connect(values)
    await printItems(limited(client.peers.list(), values, io), COLUMNS, values.json, io.stdout)
    return EXIT.ok
  },
})
