import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'

const HELP = `tallystick peers reconciliation PEER [--ask]

Compares what a peer has with what this ledger has: what was sent and acknowledged, what was received, and where the two
differ, according to the peer's last answer. Ends with 1 if they are not reconciled: \`reasons\` says why. To prove it to
others, offline, use \`tallystick reconcile\` with the exports of both. Needs a key with the scope peers:manage or
audit:read.

  --ask            ask the peer again, and wait for its answer
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick peers reconciliation peer_01kd2m3n4p5q6r7s8t9v0w1x2y --ask
  tallystick peers reconciliation peer_01kd2m3n4p5q6r7s8t9v0w1x2y | jq '.sent.inFlight, .summary.differences'
`

export const peersReconciliation = defineCommand({
  help: HELP,
  options: { ask: { type: 'boolean' }, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'peers reconciliation PEER')
    const { peers } = await connect(values)
    const found = await (values.ask ? peers.reconcile(id) : peers.reconciliation(id))
    printItem(found, values.json, io.stdout)
    if (found.reasons.includes('not_asked') && !values.ask)
      io.stderr.write('tallystick: the peer was not asked yet: add --ask\n')
    return found.reconciled ? EXIT.ok : EXIT.refused
  },
})
