import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { UsageError } from '../run.ts'
import { parseShare } from '../share-option.ts'

const HELP = `tallystick share RECORD --with PEER [--with PEER:digests]…

Shares a gated record with ledgers of other servers, from its first entry on. Nothing takes it back but the end of the peering.
\`tallystick create --share PEER\` does so from the beginning.

  --with PEER            a peer (\`tallystick peers list\`), or PEER:digests: the entries without their documents. Repeatable
  --on-behalf-of AGENT   for another agent (agt_…); needs the scope agents:act
  --idempotency-key KEY  the same key again never does it twice; one is made where none is given
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick share rec_01kd2m3n4p5q6r7s8t9v0w1x2y --with peer_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick share rec_01kd2m3n4p5q6r7s8t9v0w1x2y --with peer_01kd2m3n4p5q6r7s8t9v0w1x2y:digests
`

export const share = defineCommand({
  help: HELP,
  options: {
    with: { type: 'string', multiple: true },
    'on-behalf-of': { type: 'string' },
    'idempotency-key': { type: 'string' },
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'share RECORD --with PEER')
    if (values.with === undefined) throw new UsageError('share needs --with PEER')
    const request = { share: parseShare(values.with, '--with'), onBehalfOf: values['on-behalf-of'] }
    const client = await connect(values)
    const record = await client.records.share(id, request, { idempotencyKey: values['idempotency-key'] })
    printItem(record, values.json, io.stdout)
    return EXIT.ok
  },
})
