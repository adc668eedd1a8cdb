import { API_VERSION, operations } from '../../sdk/generated/operations.ts'
import { addressOf } from '../../sdk/http/address.ts'
import { readText } from '../../sdk/http/answers.ts'
import { displayUrl } from '../../src/verify/source.ts'
import { isLoopback } from '../parse-url.ts'
import { type Finding, fail, ok, warn } from '../preflight/finding.ts'

const ANSWER_TIMEOUT_MS = 10_000
const CLOCK_MS_MAX = 30_000
const BODY_BYTES_MAX = 64 * 1024

export function checkEncryption(url: URL): Finding {
  const { protocol, origin } = url
  if (protocol === 'https:' || isLoopback(url)) return ok('encryption', origin)
  return warn(
    'encryption',
    `${origin} is not encrypted: anybody on the way can read the API key`,
    'use https://',
  )
}

/**
 * Sends two requests. The first answer shows the clock and the version, the second the latency on an open connection.
 */
export async function checkServer(baseUrl: URL): Promise<{ findings: Finding[]; isThere: boolean }> {
  const address = displayUrl(baseUrl.href)
  let live: Answer
  let ready: Answer
  try {
    live = await ask(addressOf(baseUrl, operations.getLivez.path, {}, {}))
    ready = await ask(addressOf(baseUrl, operations.getReadyz.path, {}, {}))
  } catch (error) {
    const cause = (error as { cause?: { code?: string; message?: string } }).cause
    const reason = cause?.code ?? cause?.message ?? (error as Error).message
    const advice = 'is the server running, is the address right, and does a proxy or firewall block the way?'
    return { findings: [fail('address', `${address} does not answer (${reason})`, advice)], isThere: false }
  }
  const { version } = live
  if (version === null) {
    const finding = fail(
      'address',
      `${address} answers ${live.status}, but not like a Tallystick server`,
      'use the server’s own address',
    )
    return { findings: [finding], isThere: false }
  }
  const findings = [
    ok('address', `${address} answers within ${Math.ceil(ready.tookMs)} ms`),
    ready.status === 200
      ? ok('ready', 'the server reaches its database')
      : fail(
          'ready',
          `the server answers ${ready.status}`,
          'read its log: the database cannot be reached, or is not migrated',
        ),
    version === API_VERSION
      ? ok('version', version)
      : warn(
          'version',
          `the server has ${version}, this tool ${API_VERSION}`,
          'use the same version of both',
        ),
    checkClock(live),
  ]
  return { findings, isThere: true }
}

type Answer = {
  readonly status: number
  /** Version of the server, or null if the answer is not from a Tallystick server. */
  readonly version: string | null
  readonly tookMs: number
  /**
   * The server's clock minus the local clock, at the middle of the request, in ms. null if the answer has no Date
   * header.
   */
  readonly aheadMs: number | null
}

async function ask(url: URL): Promise<Answer> {
  const begunMs = Date.now()
  const begun = performance.now()
  const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) })
  const tookMs = performance.now() - begun
  const body = await readBody(response)
  const dateMs = Date.parse(response.headers.get('date') ?? '')
  return {
    status: response.status,
    version: typeof body?.version === 'string' ? body.version : null,
    tookMs,
    aheadMs: Number.isNaN(dateMs) ? null : dateMs - (begunMs + tookMs / 2),
  }
}

type Body = { readonly version?: unknown } | null

/** Returns the JSON body. Returns null if the body is not JSON, or is longer than BODY_BYTES_MAX. */
async function readBody(response: Response): Promise<Body> {
  const asked = { name: response.url, idempotencyKey: null, repeatable: true }
  try {
    return JSON.parse(await readText(response, asked, BODY_BYTES_MAX)) as Body
  } catch {
    return null
  }
}

function checkClock({ aheadMs }: Answer): Finding {
  if (aheadMs === null) return warn('clock', 'the server’s answer has no time', null)
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  if (Math.abs(aheadMs) <= CLOCK_MS_MAX) return ok('clock', `${seconds} s difference`)
  const which = aheadMs > 0 ? 'ahead of' : 'behind'
  return warn(
    'clock',
    `the server's clock is ${seconds} s ${which} this one`,
    'synchronize both with a time server (NTP)',
  )
}
