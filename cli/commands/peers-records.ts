import type { SharedRecord } from '../../sdk/generated/api.ts'
import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { LIMIT_HELP, LIMIT_OPTIONS, limited } from '../limited.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItems } from '../output.ts'

const HELP = `tallystick peers records PEER [--limit N]

Lists the records that are shared with a peer: of this ledger (home), and of the other one (guest), as far as its entries came.
Needs a key with the scope records:read.

${LIMIT_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick peers records peer_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick peers records peer_01kd2m3n4p5q6r7s8t9v0w1x2y | jq -r 'select(.offer.state == "pending") | .id'
`

const COLUMNS: readonly Column<SharedRecord>[] = [
  ['ID', ({ id }) => id],
  ['ROLE', ({ role }) => role],
  ['TYPE', ({ type }) => type],
  ['STATE', ({ state }) => state],
  ['VERSION', ({ version }) => version],
  ['DOCUMENTS', ({ documents }) => documents],
  ['OFFER', ({ offer }) => offer?.state ?? null],
]

export const peersRecords = defineCommand({
  help: HELP,
  options: { ...LIMIT_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'peers records PEER')
    const client = await connect(values)
    await printItems(limited(client.peers.records(id), values, io), COLUMNS, values.json, io.stdout)
    return EXIT.ok
  },
})
