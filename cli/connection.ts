import { dirname, join } from 'node:path'
import { Tallystick } from '../sdk/client.ts'
import { Transport } from '../sdk/http/transport.ts'
import type { AgentSigner } from '../sdk/signing/index.ts'
import { SourceError } from '../src/verify/source.ts'
import { environment } from './environment.ts'
import { isLoopback, parseUrl } from './parse-url.ts'
import { readPrivate } from './read-private.ts'
import { UsageError } from './run.ts'
import { openSigner } from './signing-key.ts'

export const SERVER_OPTIONS = { server: { type: 'string' }, 'api-key': { type: 'string' } } as const

export const CONNECTION_OPTIONS = {
  ...SERVER_OPTIONS,
  'signing-key': { type: 'string' },
} as const

/** Options of a command that writes no entry, so no agent signs. */
export const READER_HELP = `  --server URL     the server. Default: TALLYSTICK_URL, or what \`tallystick init\` or \`npm start\` stored
  --api-key KEY    an API key. Default: TALLYSTICK_API_KEY (not visible in process lists), or the stored key`

export const CONNECTION_HELP = `${READER_HELP}
  --signing-key FILE  the agent's own key, which signs its entries. Default: TALLYSTICK_SIGNING_KEY. Without a key
                   the server signs`

export type ConnectionValues = {
  readonly server?: string | undefined
  readonly 'api-key'?: string | undefined
  readonly 'signing-key'?: string | undefined
}

export type Connection = {
  readonly url: string
  readonly apiKey: string
  /** Text that says where the address and the key come from. */
  readonly origin: string
}

export type StoredCredentials = {
  readonly url: string
  readonly key: string
  readonly ledger: string | null
  readonly file: string
}

export const URL_DEFAULT = 'http://localhost:3000'

/**
 * Returns a client for the server and key of the options, the environment or a credentials file. Throws UsageError if
 * there is no key. By default, reads return the newest state, because each command is a new process and does not know
 * what an earlier command wrote. Long-running commands pass `fresh: false`.
 */
export async function connect(values: ConnectionValues, { fresh = true } = {}): Promise<Tallystick> {
  const { url, apiKey } = await findConnection(values)
  return new Tallystick({ baseUrl: url, apiKey, signer: await findSigner(values), fresh })
}

/**
 * Returns a transport to the server of `connect`, with the same key. It is for calls for which the client has no
 * method.
 */
export async function openTransport(values: ConnectionValues): Promise<Transport> {
  const { url, apiKey } = await findConnection(values)
  return new Transport({ baseUrl: url, apiKey, signer: await findSigner(values), fresh: true })
}

async function findSigner(values: ConnectionValues): Promise<AgentSigner | undefined> {
  const file = values['signing-key'] ?? environment.signingKey()
  return file === undefined ? undefined : openSigner(file)
}

/**
 * Returns the server and the key. Options take precedence over the environment, and the environment over files. A
 * stored key is sent only to the server with which it was stored.
 */
export async function findConnection(values: ConnectionValues): Promise<Connection> {
  const url = values.server ?? environment.serverUrl()
  const apiKey = values['api-key'] ?? environment.apiKey()
  if (url !== undefined && apiKey !== undefined) return { url, apiKey, origin: 'options and environment' }
  const stored = await findCredentials()
  if (apiKey !== undefined)
    return { url: stored === null ? URL_DEFAULT : urlFor(stored), apiKey, origin: 'options and environment' }
  if (stored && (url === undefined || isSameServer(url, stored.url)))
    return { url: stored.url, apiKey: stored.key, origin: stored.file }
  throw new UsageError(
    'no API key: set TALLYSTICK_API_KEY, run `tallystick init`, or work in the folder in which you ran `npm start`' +
      (stored ? ` (${stored.file} has a key for ${stored.url}, which is not sent to another server)` : ''),
  )
}

/**
 * Returns the stored address for an API key that comes from an option or a variable. Throws UsageError if the address
 * comes from a file in a project folder and is not on this machine. Otherwise a user who downloads a stranger's project
 * and enters its folder would send the key to that stranger.
 */
function urlFor({ url, file }: StoredCredentials): string {
  const parsed = parseUrl(url)
  if (file === ownCredentialsFile() || (parsed !== null && isLoopback(parsed))) return url
  throw new UsageError(
    `${file} names the server ${url}. To send the API key to this server, name the server yourself, with --server or TALLYSTICK_URL`,
  )
}

/** File in which `tallystick init` stores a server and a key. */
export function ownCredentialsFile(): string {
  return join(environment.configDirectory(), 'credentials.json')
}

/**
 * Returns the credentials of `tallystick init`, or else those of `npm start`. Returns null if there are no
 * credentials.
 */
async function findCredentials(): Promise<StoredCredentials | null> {
  return (await readCredentials(ownCredentialsFile())) ?? (await findServerCredentials())
}

/** Returns the credentials that `npm start` wrote to its data directory in this folder or in a folder above. */
export async function findServerCredentials(): Promise<StoredCredentials | null> {
  const data = environment.dataDirectory()
  if (data !== undefined) return readCredentials(join(data, 'credentials.json'))
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    const found = await readCredentials(join(folder, '.tallystick', 'credentials.json'))
    if (found || folder === dirname(folder)) return found
  }
}

const NOT_THERE = ['ENOENT', 'ENOTDIR', 'EACCES']

/**
 * Reads a credentials file. Returns null if the file does not exist. Throws SourceError if other users may read or
 * write the file, because a person who can write the file can choose where records are sent.
 */
export async function readCredentials(file: string): Promise<StoredCredentials | null> {
  let text: string
  try {
    text = await readPrivate(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    if (NOT_THERE.includes(code)) return null
    throw new SourceError('io', `${file} cannot be read (${code})`)
  }
  const parsed = parseCredentials(text)
  if (!parsed)
    throw new SourceError('io', `${file} is damaged: repair it, or remove it and run \`tallystick init\``)
  return { ...parsed, file }
}

function parseCredentials(text: string): Omit<StoredCredentials, 'file'> | null {
  try {
    const { url, key, ledger } = JSON.parse(text) as Record<string, unknown>
    if (typeof url !== 'string' || typeof key !== 'string') return null
    return { url, key, ledger: typeof ledger === 'string' ? ledger : null }
  } catch {
    return null
  }
}

export function isSameServer(one: string, other: string): boolean {
  return parseUrl(one)?.href === parseUrl(other)?.href
}
