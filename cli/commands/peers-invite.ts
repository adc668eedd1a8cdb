import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS } from '../output.ts'
import { printInvitation } from '../print-secret.ts'

const HELP = `tallystick peers invite NAME [--bare]

Invites a ledger of another server to share records with this one. NAME is your name for the other side. The invitation
is only printed once. Send it to the other side's administrator in a way that you both trust: anybody who has it can
become the peer. It ends with its first use, or after 24 hours. Needs a key with the scope peers:manage.

  --bare           print only the invitation, as \`tallystick peers accept\` reads it
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
