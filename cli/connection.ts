import { readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Tallystick } from '../sdk/client.ts'
import { SourceError } from '../src/verify/source.ts'
import { environment } from './environment.ts'
import { UsageError } from './run.ts'

/** Options of every command that talks to a server. */
export const CONNECTION_OPTIONS = {
  server: { type: 'string' },
  'api-key': { type: 'string' },
} as const

export const CONNECTION_HELP = `  --server URL     the server; otherwise TALLYSTICK_URL, or what \`tallystick init\` or \`npm start\` kept
  --api-key KEY    an API key; otherwise TALLYSTICK_API_KEY, which no process list shows, or what was kept`

export type ConnectionValues = {
  readonly server?: string | undefined
  readonly 'api-key'?: string | undefined
}

export type Connection = {
  readonly url: string
  readonly apiKey: string
  /** Where they come from, for people. */
  readonly origin: string
}

type Kept = { readonly url: string; readonly key: string; readonly file: string }

/** A client for the server and key of the options, the environment or a credentials file; throws UsageError without one. */
export async function connect(values: ConnectionValues): Promise<Tallystick> {
  const { url, apiKey } = await findConnection(values)
  return new Tallystick({ baseUrl: url, apiKey })
}

/**
 * Options come before the environment, and that before files. A key that was kept is for the server that it was kept with:
 * it is never sent to another one.
 */
export async function findConnection(values: ConnectionValues): Promise<Connection> {
  const url = values.server ?? environment.serverUrl()
  const apiKey = values['api-key'] ?? environment.apiKey()
  if (url !== undefined && apiKey !== undefined) return { url, apiKey, origin: 'options and environment' }
  const kept = await findKept()
  if (apiKey !== undefined)
    return { url: kept?.url ?? 'http://localhost:3000', apiKey, origin: 'options and environment' }
  if (kept && (url === undefined || isSame(url, kept.url)))
    return { url: kept.url, apiKey: kept.key, origin: kept.file }
  throw new UsageError(
    'no API key: set TALLYSTICK_API_KEY, or run `tallystick init`, or start where `npm start` has run' +
      (kept ? ` (${kept.file} holds one for ${kept.url}, which is sent to no other server)` : ''),
  )
}

/** What `tallystick init` kept, or else what `npm start` wrote, in this folder or one above. null: neither is there. */
async function findKept(): Promise<Kept | null> {
  const own = await readKept(join(environment.configDirectory(), 'credentials.json'))
  if (own) return own
  const data = environment.dataDirectory()
  if (data !== undefined) return readKept(join(data, 'credentials.json'))
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    const kept = await readKept(resolve(folder, '.tallystick', 'credentials.json'))
    if (kept || folder === dirname(folder)) return kept
  }
}

/** A file that others may read or write is refused: whoever writes it chooses where this machine's records go. */
async function readKept(file: string): Promise<Kept | null> {
  let text: string
  try {
    const { mode, uid } = await stat(file)
    const self = process.getuid?.()
    if (self !== undefined && ((mode & 0o077) !== 0 || (uid !== self && self !== 0)))
      throw new SourceError('denied', `${file} is not for this user alone: chmod 600 it, or remove it`)
    text = await readFile(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return null
    throw error
  }
  try {
    const { url, key } = JSON.parse(text) as { url: unknown; key: unknown }
    if (typeof url === 'string' && typeof key === 'string') return { url, key, file }
  } catch {}
  throw new SourceError('io', `${file} is damaged: mend it, or remove it and run \`tallystick init\``)
}

function isSame(one: string, other: string): boolean {
  return URL.parse(one)?.href === URL.parse(other)?.href
}
