import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'

const HELP = `tallystick peers reconciliation PEER [--ask]

Shows whether a peer holds what this ledger does: what was sent and acknowledged, what was received, and where the two differ, by
what the other side last said. Exits with 1 where they are not reconciled: \`reasons\` says why. What proves it to others, offline, is
\`tallystick reconcile\`, with the exports of both. Needs a key with the scope peers:manage or audit:read.

  --ask            ask the other side anew, and wait for what it says
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
      io.stderr.write('tallystick: the other side was not asked yet: --ask does\n')
    return found.reconciled ? EXIT.ok : EXIT.refused
  },
})
