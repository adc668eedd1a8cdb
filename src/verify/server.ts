import { type LedgerSource, SourceError } from './source.ts'
import { spooledExport } from './spool.ts'

/** How long a server may take to begin its answer; the export itself may take as long as it flows. */
const ANSWER_TIMEOUT_MS = 30_000

export type ServerAddress = { readonly url: string; readonly apiKey: string }

/** A running server's `GET /v1/export`, for the ledger that the API key belongs to. */
export function server(address: ServerAddress): LedgerSource {
  return spooledExport(displayUrl(address.url), () => fetchExport(address))
}

/** The bytes of `GET /v1/export`. Throws SourceError with what to do about it. */
export async function fetchExport(address: ServerAddress): Promise<AsyncIterable<Uint8Array>> {
  const response = await get(address, 'v1/export', 'application/x-ndjson')
  if (response.body) return response.body
  throw new SourceError('unavailable', `${displayUrl(address.url)} answered with nothing`)
}

/** The note of `GET /v1/checkpoints/latest`; null while there is none. */
export async function fetchLatestCheckpoint(address: ServerAddress): Promise<string | null> {
  const response = await get(address, 'v1/checkpoints/latest', 'text/plain', [409])
  return response.status === 409 ? null : response.text()
}

/** What a watcher needs of `GET /v1/ledger`. */
export async function fetchLedger(
  address: ServerAddress,
): Promise<{ origin: string; noteVerifierKey: string }> {
  const response = await get(address, 'v1/ledger', 'application/json')
  return (await response.json()) as { origin: string; noteVerifierKey: string }
}

async function get(
  address: ServerAddress,
  path: string,
  type: string,
  alsoTaken: readonly number[] = [],
): Promise<Response> {
  const { url, apiKey } = address
  const name = displayUrl(url)
  const response = await request(new URL(path, url.endsWith('/') ? url : `${url}/`), apiKey, name)
  if (alsoTaken.includes(response.status)) return response
  if (!response.ok) throw await refusal(response, name, path)
  const found = response.headers.get('content-type') ?? 'no content type'
  if (found.startsWith(type)) return response
  throw new SourceError(
    'not_a_ledger',
    `${name} answered with ${found}, not with ${type}: is this a Tallystick server?`,
  )
}

async function request(url: URL, apiKey: string, name: string): Promise<Response> {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), ANSWER_TIMEOUT_MS)
  try {
    return await fetch(url, {
      headers: { authorization: `Bearer ${apiKey}` },
      // An API key goes to the server that was named, and to no other.
      redirect: 'manual',
      signal: abort.signal,
    })
  } catch (error) {
    if (abort.signal.aborted)
      throw new SourceError('unavailable', `${name} did not answer within ${ANSWER_TIMEOUT_MS / 1000} s`)
    const cause = (error as { cause?: { code?: string; message?: string } }).cause
    throw new SourceError(
      'unavailable',
      `${name} cannot be reached (${cause?.code ?? cause?.message ?? (error as Error).message})`,
    )
  } finally {
    clearTimeout(timer)
  }
}

async function refusal(response: Response, name: string, path: string): Promise<SourceError> {
  const problem = (await response.json().catch(() => null)) as { code?: unknown; title?: unknown } | null
  const said = typeof problem?.code === 'string' ? `${response.status} ${problem.code}` : `${response.status}`
  switch (response.status) {
    case 401:
      return new SourceError(
        'denied',
        `${name} refuses the API key (${said}): check --api-key or TALLYSTICK_API_KEY`,
      )
    case 403:
      return new SourceError(
        'denied',
        `the API key may not read the ledger (${said}): it needs the scope audit:read`,
      )
    case 404:
      return new SourceError(
        'not_a_ledger',
        `${name} has no /${path} (${said}): is this a Tallystick server?`,
      )
    default:
      return new SourceError('unavailable', `${name} answered ${said}`)
  }
}

/** Without user name, password and query: a URL may hold secrets. */
export function displayUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + (pathname === '/' ? '' : pathname)
}
