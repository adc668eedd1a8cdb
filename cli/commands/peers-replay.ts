import { onlyArgument, parseCount } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'

const HELP = `tallystick peers replay PEER [--seq N]…

Sends once more what a peer refused for good, and what waits behind it, and says how many there were. For when the cause was
mended: otherwise it is refused again. Needs a key with the scope peers:manage.

  --seq N          only this entry of \`tallystick peers dead-letters\`, by its seq. Repeatable
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick peers replay peer_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick peers replay peer_01kd2m3n4p5q6r7s8t9v0w1x2y --seq 41 --seq 57
`

export const peersReplay = defineCommand({
  help: HELP,
  options: { seq: { type: 'string', multiple: true }, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'peers replay PEER [--seq N]…')
    const seqs = values.seq?.map((seq) => parseCount(seq, '--seq', { min: 0 })!)
    const client = await connect(values)
    printItem({ replayed: await client.peers.replay(id, { seqs }) }, values.json, io.stdout)
    return EXIT.ok
  },
})
