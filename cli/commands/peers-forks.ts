import type { PeerFork } from '../../sdk/generated/api.ts'
import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { LIMIT_HELP, LIMIT_OPTIONS, limited } from '../limited.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItems } from '../output.ts'

const HELP = `tallystick peers forks PEER [--limit N]

Lists entries of a peer, signed by it, that contradict what it sent before. They were refused, and are kept: an envelope proves
what its ledger has said. Needs a key with the scope peers:manage or audit:read.

${LIMIT_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick peers forks peer_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick peers forks peer_01kd2m3n4p5q6r7s8t9v0w1x2y | jq -r .record
`

const COLUMNS: readonly Column<PeerFork>[] = [
  ['SEQ', ({ seq }) => seq],
  ['RECORD', ({ record }) => record],
  ['VERSION', ({ version }) => version],
  ['LEAF', ({ leaf }) => leaf],
  ['SEEN', ({ seenAt }) => seenAt],
]

export const peersForks = defineCommand({
  help: HELP,
  options: { ...LIMIT_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'peers forks PEER')
    const client = await connect(values)
    await printItems(limited(client.peers.forks(id), values, io), COLUMNS, values.json, io.stdout)
    return EXIT.ok
  },
})
