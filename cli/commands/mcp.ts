import type { Tallystick } from '../../sdk/client.ts'
import { AuthenticationError, TallystickError } from '../../sdk/errors.ts'
import type { OwnKey } from '../../src/mcp/deps.ts'
import { serveStdio } from '../../src/mcp/serve-stdio.ts'
import { parseKid } from '../../src/verify/parse-kid.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { parseNoteKey } from './verify-proof.ts'

/**
 * Maximum time in ms for reading the API key's data. Clients start this command while the computer, and perhaps the
 * server, is booting. The time is short, so that the client's own timeout does not end the command first.
 */
const KEY_READ_MS_MAX = 5_000

const HELP = `tallystick mcp

Serves the ledger to a client of the Model Context Protocol, on standard input and output: an assistant or agent
writes, finds and verifies records, and does gated work, as far as the API key allows. The client starts this command
(configuration: docs/integrations/mcp.md). It ends with its standard input.

  --key KID        verify_record: one of these keys (64 hex digits) must have signed the entry. Repeatable
  --note-key VKEY  verify_record: the ledger's note verifier key, known from elsewhere
${CONNECTION_HELP}
  -h, --help

Examples:
  claude mcp add tallystick -- npx tallystick mcp
  TALLYSTICK_URL=https://ledger.example TALLYSTICK_API_KEY=tly_… tallystick mcp
`

export const mcp = defineCommand({
  help: HELP,
  options: {
    key: { type: 'string', multiple: true },
    'note-key': { type: 'string' },
    ...CONNECTION_OPTIONS,
  },
  async run(values, positionals, io) {
    noArguments(positionals, 'mcp [OPTIONS]')
    const warn = (message: string) => void io.stderr.write(`tallystick: ${message}\n`)
    const trust = {
      kids: (values.key ?? []).map(parseKid),
      noteKey: (await parseNoteKey(values['note-key'])) ?? undefined,
    }
    const client = await connect(values, { fresh: false })
    const key = await findOwnKey(client, warn)
    await serveStdio(
      { client, key, trust, verifier: 'this machine', traceparent: undefined, report: reportTo(io) },
      io,
    )
    return EXIT.ok
  },
})

/**
 * Returns the data of the API key, or null if the server gave no answer. With null, every tool is listed. Throws if the
 * server does not know the key, because no tool would work.
 */
async function findOwnKey(client: Tallystick, warn: (message: string) => void): Promise<OwnKey | null> {
  try {
    return (await client.ledger.get({ retriesMax: 0, timeoutMs: KEY_READ_MS_MAX })).key
  } catch (error) {
    if (error instanceof AuthenticationError || !(error instanceof TallystickError)) throw error
    warn(`all tools are listed, also those that the key may not use: ${error.message}`)
    return null
  }
}

function reportTo({ stderr }: Io): (error: unknown) => void {
  return (error) => void stderr.write(`tallystick: ${(error as Error)?.stack ?? String(error)}\n`)
}
