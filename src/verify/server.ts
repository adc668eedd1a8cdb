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
export async function fetchExport({ url, apiKey }: ServerAddress): Promise<AsyncIterable<Uint8Array>> {
  const name = displayUrl(url)
  const response = await request(new URL('v1/export', url.endsWith('/') ? url : `${url}/`), apiKey, name)
  if (!response.ok) throw await refusal(response, name)
  const type = response.headers.get('content-type') ?? 'no content type'
  if (!type.startsWith('application/x-ndjson') || !response.body) {
    throw new SourceError(
      'not_a_ledger',
      `${name} answered with ${type}, not with an export: is this a Tallystick server?`,
    )
  }
  return response.body
}

async function request(url: URL, apiKey: string, name: string): Promise<Response> {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), ANSWER_TIMEOUT_MS)
  try {
    return await fetch(url, {
      headers: { authorization: `Bearer ${apiKey}`, accept: 'application/x-ndjson' },
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

async function refusal(response: Response, name: string): Promise<SourceError> {
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
        `${name} has no /v1/export (${said}): is this a Tallystick server?`,
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
