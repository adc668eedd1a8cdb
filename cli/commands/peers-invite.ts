import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS } from '../output.ts'
import { printInvitation } from '../print-secret.ts'

const HELP = `tallystick peers invite NAME [--bare]

Invites a ledger of another server to share records with this one. NAME is what the other side is called here. The invitation is
printed once: it goes to the other side's administrator, by a way that both trust, and ends with its first use or after 24 hours.
Anybody who has it can become the peer. Needs a key with the scope peers:manage.

  --bare           print the invitation alone, as \`tallystick peers accept\` reads it
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick peers invite 'Harbour Freight'
  umask 077; tallystick peers invite 'Harbour Freight' --bare > invitation.txt
`

export const peersInvite = defineCommand({
  help: HELP,
  options: { bare: { type: 'boolean' }, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const name = onlyArgument(positionals, 'peers invite NAME')
    const client = await connect(values)
    return printInvitation(await client.peers.invite({ name }), values, io)
  },
})
