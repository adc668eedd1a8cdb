import { readText } from '../../src/verify/read-text.ts'
import { onlyArgument } from '../arguments.ts'
import { askSecret } from '../ask-secret.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'

const HELP = `tallystick peers accept NAME [--invitation-file FILE]

Accepts the invitation of a ledger of another server. NAME is your name for the other side. The invitation is a secret,
so it is not an argument: without --invitation-file the command asks for it, or reads it from standard input. The
worker connects the ledgers: \`tallystick peers get\` shows when the peering is active. Needs a key with the scope
peers:manage.

  --invitation-file FILE  a file with the invitation in one line; - is standard input
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick peers accept 'Acme' --invitation-file invitation.txt
  tallystick peers accept 'Acme' < invitation.txt
`

const INVITATION_CHARS_MAX = 8_192

export const peersAccept = defineCommand({
  help: HELP,
  options: { 'invitation-file': { type: 'string' }, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const name = onlyArgument(positionals, 'peers accept NAME [--invitation-file FILE]')
    const client = await connect(values)
    const invitation = await readInvitation(values['invitation-file'] ?? '-', io)
    printItem(await client.peers.accept({ name, invitation }), values.json, io.stdout)
    return EXIT.ok
  },
})

async function readInvitation(file: string, io: Io): Promise<string> {
  if (file === '-')
    return askSecret('invitation: ', io, {
      what: 'invitation',
      remedy: 'name its file, or pipe it to this command',
    })
  return (await readText(file, INVITATION_CHARS_MAX)).trim()
}
