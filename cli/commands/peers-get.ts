import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'

const HELP = `tallystick peers get PEER

Shows a peer: who it is, and in \`drain\` how far it has heard and how it answers. Needs a key with the scope peers:manage,
records:read or audit:read.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick peers get peer_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick peers get peer_01kd2m3n4p5q6r7s8t9v0w1x2y | jq -r .state
`

export const peersGet = defineCommand({
  help: HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'peers get PEER')
    const client = await connect(values)
    printItem(await client.peers.get(id), values.json, io.stdout)
    return EXIT.ok
  },
})
