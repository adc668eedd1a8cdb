import { performance } from 'node:perf_hooks'
import type { ClockOffset } from '../../src/db/connect/clock.ts'
import { CONNECT_TIMEOUT_MS } from '../../src/db/limits.ts'
import { type LatencySummary, summarizeMs } from './latencies.ts'
import { PREFLIGHT_ANSWER_CHARS_MAX, PREFLIGHT_CLOCK_SAMPLES } from './limits.ts'

export type ServerAnswers = {
  /** Version of the server, or null if the answer is not from a Tallystick server. */
  readonly version: string | null
  readonly readyStatus: number
  /** Latency of `/livez`, which does not use the database, on an open connection. */
  readonly roundTrip: LatencySummary
  /** Offset from this machine's clock, or null if the answer has no Date header. */
  readonly clock: ClockOffset | null
}

/** Precision of a Date header in ms. The header has whole seconds. */
const DATE_MS = 1_000

/** Reads a server's public answers. Throws the errors of `fetch`. */
export async function askServer(baseUrl: URL, now: () => number): Promise<ServerAnswers> {
  const ready = await ask(new URL(pathBelow(baseUrl, 'readyz')), now)
  const answers: Answer[] = []
  for (let i = 0; i < PREFLIGHT_CLOCK_SAMPLES; i++)
    answers.push(await ask(new URL(pathBelow(baseUrl, 'livez')), now))
  return {
    version: versionOf(answers[0]!.body),
    readyStatus: ready.status,
    roundTrip: summarizeMs(answers.map(({ tookMs }) => tookMs)),
    clock: narrowest(answers),
  }
}

type Answer = {
  readonly status: number
  readonly body: string
  readonly tookMs: number
  readonly clock: ClockOffset | null
}

async function ask(url: URL, now: () => number): Promise<Answer> {
  const askedMs = now()
  const beganAt = performance.now()
  const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) })
  const tookMs = performance.now() - beganAt
  const body = await readStart(response)
  const dateMs = Date.parse(response.headers.get('date') ?? '')
  const clock = Number.isNaN(dateMs)
    ? null
    : { aheadMs: dateMs + DATE_MS / 2 - (askedMs + tookMs / 2), errorMs: (DATE_MS + tookMs) / 2 }
  return { status: response.status, body, tookMs, clock }
}

/** Reads at most PREFLIGHT_ANSWER_CHARS_MAX characters of an answer, because the address may be that of any server. */
async function readStart(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    if (text.length > PREFLIGHT_ANSWER_CHARS_MAX) break
  }
  return text
}

function versionOf(body: string): string | null {
  try {
    const { version } = JSON.parse(body) as { version?: unknown }
    return typeof version === 'string' ? version : null
  } catch {
    return null
  }
}

function narrowest(answers: readonly Answer[]): ClockOffset | null {
  const clocks = answers.map(({ clock }) => clock).filter((clock) => clock !== null)
  return clocks.sort((a, b) => a.errorMs - b.errorMs)[0] ?? null
}

/** Returns the URL of a public route. The server's address may include a path. */
function pathBelow(baseUrl: URL, name: string): string {
  return `${baseUrl.origin}${baseUrl.pathname.replace(/\/+$/, '')}/${name}`
}
