import { Tallystick } from '../../sdk/client.ts'
import type { GetLedgerAnswer, PostKeysBody } from '../../sdk/generated/api.ts'
import { plain } from '../../sdk/plain.ts'
import type { KeyWithSecret } from '../../sdk/resources/keys.ts'
import { noArguments } from '../arguments.ts'
import { askSecret } from '../ask-secret.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import {
  findServerCredentials,
  isSameServer,
  ownCredentialsFile,
  readCredentials,
  SERVER_OPTIONS,
  URL_DEFAULT,
} from '../connection.ts'
import { type Credentials, refuseOtherLedger, writeCredentials } from '../credentials.ts'
import { environment } from '../environment.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { findFirstKid } from '../first-key.ts'
import type { Io } from '../io.ts'
import { pinLedger, readKnownLedgers } from '../known-ledgers.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { RefusedError, UsageError } from '../run.ts'
import { shellQuote } from '../shell-quote.ts'

type Scope = PostKeysBody['scopes'][number]

const AGENT_SCOPES: readonly Scope[] = ['records:write', 'records:read:own']

const HELP = `tallystick init [--server URL] [--api-key KEY] [--agent NAME [--scopes SCOPES]]

Stores a server and an API key for this user, so that other commands need no options: in
$XDG_CONFIG_HOME/tallystick/credentials.json, with mode 0600. Both are checked first. Without options it takes the
server and key that \`npm start\` wrote in this folder or one above. If there is no key, it asks for one, or reads it
from standard input. Pins the ledger's first key, like \`verify --pin\`, if the API key may read it (audit:read).

  --server URL     the server. Default: TALLYSTICK_URL, or what \`npm start\` wrote, or ${URL_DEFAULT}
  --api-key KEY    an API key. Default: TALLYSTICK_API_KEY (not visible in process lists), or what \`npm start\` wrote
  --agent NAME     use the key to make a key for this agent, and store that one; needs keys:manage
  --scopes SCOPES  scopes of the agent's key (default ${AGENT_SCOPES.join(',')})
  --force          overwrite stored credentials of another ledger
${OUTPUT_HELP}
  -h, --help

Examples:
  tallystick init
  tallystick init --server https://ledger.example --agent researcher
  tallystick init --agent auditor --scopes audit:read,records:read < key.txt
`

const OPTIONS = {
  agent: { type: 'string' },
  scopes: { type: 'string' },
  force: { type: 'boolean' },
  ...SERVER_OPTIONS,
  ...OUTPUT_OPTIONS,
} as const

type Values = ValuesOf<typeof OPTIONS>
export const init = defineCommand({ help: HELP, options: OPTIONS, run })

async function run(values: Values, positionals: readonly string[], io: Io): Promise<ExitCode> {
  noArguments(positionals, 'init, with options')
  if (values.scopes !== undefined && values.agent === undefined)
    throw new UsageError('--scopes can only be used with --agent')
  const { url, apiKey } = await chooseServer(values, io)
  const client = new Tallystick({ baseUrl: url, apiKey })
  const about = await client.ledger.get()
  if (!values.force) await refuseOtherLedger(about.id)
  const firstKey = await pinFirstKey(client, about)
  const key =
    values.agent === undefined
      ? { ...about.key, key: apiKey.trim() }
      : await makeAgentKey(client, values.agent, values.scopes)
  const credentials = { url, ledger: about.id, agent: key.agent, key: key.key }
  const file = await writeCredentials(credentials)
  const { key: _secret, ...shown } = credentials
  const result = { ...shown, name: about.name, keyId: key.id, scopes: key.scopes, firstKey, file }
  if (values.json || !io.stdout.isTTY) printItem(result, true, io.stdout)
  else io.stdout.write(explain(result))
  return EXIT.ok
}

/**
 * Returns the server and the key. Credentials of `npm start` take precedence over credentials that an earlier `init`
 * stored. Users run `init` again to replace the stored credentials.
 */
async function chooseServer(
  values: Values,
  io: Io,
): Promise<{ readonly url: string; readonly apiKey: string }> {
  const named = values.server ?? environment.serverUrl()
  const givenKey = values['api-key'] ?? environment.apiKey()
  if (named !== undefined && givenKey !== undefined) return { url: named, apiKey: givenKey }
  const kept = [
    await findServerCredentials(),
    values.force ? null : await readCredentials(ownCredentialsFile()),
  ]
  const url = named ?? kept.find((each) => each !== null)?.url ?? URL_DEFAULT
  const keptKey = kept.find((each) => each !== null && isSameServer(each.url, url))?.key
  const asked = {
    what: 'API key',
    remedy:
      'set TALLYSTICK_API_KEY, pipe the key to this command, or run it in the folder in which you ran `npm start`',
  }
  return { url, apiKey: givenKey ?? keptKey ?? (await askSecret(`API key for ${plain(url)}: `, io, asked)) }
}

/**
 * Pins the ledger's first key. Returns null if the API key may not read the chain. Throws RefusedError if another
 * first key is pinned.
 */
async function pinFirstKey(client: Tallystick, about: GetLedgerAnswer): Promise<string | null> {
  if (!about.key.scopes.includes('audit:read')) return null
  const kid = await findFirstKid(client, about.id)
  const pinned = (await readKnownLedgers()).get(about.id)
  if (pinned !== undefined && pinned !== kid)
    throw new RefusedError(
      `the pinned first key of ${about.id} is ${pinned}, and the server shows ${kid}: this is another ledger`,
    )
  await pinLedger(about.id, kid)
  return kid
}

function makeAgentKey(client: Tallystick, name: string, scopes: string | undefined): Promise<KeyWithSecret> {
  return client.keys.create({
    name,
    scopes: scopes === undefined ? [...AGENT_SCOPES] : (scopes.split(',') as Scope[]),
  })
}

function explain(
  kept: Omit<Credentials, 'key'> & {
    readonly name: string
    readonly scopes: readonly string[]
    readonly firstKey: string | null
    readonly file: string
  },
): string {
  const { url, ledger, name, agent, scopes, firstKey, file } = kept
  return `${plain(`${url} answers: the ledger ${JSON.stringify(name)} (${ledger}).`)}
${plain(`Stored in ${file}, which only this user can read: a key of ${agent} with ${scopes.join(', ')}.`)}
${firstKey === null ? 'The first key of the ledger is not pinned: that needs audit:read.' : plain(`Pinned the first key of the ledger, ${firstKey}. From now on \`verify\` compares it.`)}

In a program (npm install @tallystick/sdk):

  const tallystick = new Tallystick({ baseUrl: ${plain(JSON.stringify(url))}, apiKey: process.env.TALLYSTICK_API_KEY })
  await tallystick.records.notarize({ payload: { tool: 'search', query: 'price of copper' } })

Its environment:

  export TALLYSTICK_API_KEY="$(node -p 'JSON.parse(fs.readFileSync(process.argv[1])).key' ${plain(shellQuote(file))})"
`
}
