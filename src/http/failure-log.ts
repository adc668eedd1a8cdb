import type { ErrorCode } from '../errors.ts'
import type { ErrorDescription } from '../observe/log.ts'

type Log = { error(details: object, message: string): void }

/** A failed request. `route`: pattern of the route. null if no route matched. */
type Failure = { readonly method: string; readonly route: string | null; readonly error: ErrorDescription }

/**
 * Errors that may be frequent. Each is logged at most once a second and without a stack. If the database or the archive
 * is unavailable, every request fails, and refusing requests must stay cheap.
 */
const FREQUENT: ReadonlySet<ErrorCode> = new Set([
  'overloaded',
  'unavailable',
  'archive_unavailable',
  'clock_skew',
  'outcome_unknown',
])
const FREQUENT_EVERY_MS = 1_000

/** Errors that are not logged. For example, if this side has suspended a peer, the peer retries every minute. */
const EXPECTED: ReadonlySet<ErrorCode> = new Set(['peer_suspended'])

export class FailureLog {
  /**
   * Maps the code of an error, together with the code of Postgres or the network, to its last log line. So a new kind
   * of error is logged even during an outage.
   */
  readonly #last = new Map<string, { loggedAtMs: number; unsaid: number }>()

  log(log: Log, code: ErrorCode, failure: Failure): void {
    if (EXPECTED.has(code)) return
    if (!FREQUENT.has(code)) {
      log.error({ ...failure, code }, 'request failed')
      return
    }
    const { error } = failure
    const key = `${code} ${error.cause?.code ?? error.code}`
    const last = this.#last.get(key)
    const nowMs = performance.now()
    if (last && nowMs - last.loggedAtMs < FREQUENT_EVERY_MS) {
      last.unsaid++
      return
    }
    this.#last.set(key, { loggedAtMs: nowMs, unsaid: 0 })
    log.error({ ...failure, error: withoutStack(error), code, unsaid: last?.unsaid ?? 0 }, 'requests fail')
  }
}

function withoutStack({ stack: _, cause, ...rest }: ErrorDescription): ErrorDescription {
  return cause === undefined ? rest : { ...rest, cause: withoutStack(cause) }
}
