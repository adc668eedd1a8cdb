import type { PeerDeadLetter } from '../../sdk/generated/api.ts'
import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { LIMIT_HELP, LIMIT_OPTIONS, limited } from '../limited.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItems } from '../output.ts'

const HELP = `tallystick peers dead-letters PEER [--limit N]

Lists entries that a peer refused for good, oldest first, each with what it said and the entry itself. Later entries of those
records wait. When it is mended: \`tallystick peers replay\`. Needs a key with the scope peers:manage.

${LIMIT_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick peers dead-letters peer_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick peers dead-letters peer_01kd2m3n4p5q6r7s8t9v0w1x2y | jq -r .code | sort | uniq -c
`

const COLUMNS: readonly Column<PeerDeadLetter>[] = [
  ['SEQ', ({ seq }) => seq],
  ['RECORD', ({ record }) => record],
  ['CODE', ({ code }) => code],
  ['DIED', ({ diedAt }) => diedAt],
  ['DETAIL', ({ detail }) => detail],
]

export const peersDeadLetters = defineCommand({
  help: HELP,
  options: { ...LIMIT_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'peers dead-letters PEER')
    const client = await connect(values)
    await printItems(limited(client.peers.deadLetters(id), values, io), COLUMNS, values.json, io.stdout)
    return EXIT.ok
  },
})
