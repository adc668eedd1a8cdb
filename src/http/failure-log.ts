import type { ErrorCode } from '../errors.ts'
import type { ErrorDescription } from '../observe/log.ts'

type Log = { error(details: object, message: string): void }

/** A request that failed. `route`: the pattern; null: there is none. */
type Failure = { readonly method: string; readonly route: string | null; readonly error: ErrorDescription }

/** When the database or the archive is away every request fails, and refusing must stay cheap: said once a second, with no stack. */
const OFTEN: ReadonlySet<ErrorCode> = new Set([
  'overloaded',
  'unavailable',
  'archive_unavailable',
  'clock_skew',
  'outcome_unknown',
])
const OFTEN_EVERY_MS = 1_000

/** Somebody of this side has said that peers are to come again later, and so they do, each minute. */
const ASKED_FOR: ReadonlySet<ErrorCode> = new Set(['peer_suspended'])

/** Log of requests that ended with a fault of the server. */
export class FailureLog {
  /** By code, and by what Postgres or the network said: a bug has a line of its own beside an outage. */
  readonly #last = new Map<string, { saidAtMs: number; unsaid: number }>()

  log(log: Log, code: ErrorCode, failure: Failure): void {
    if (ASKED_FOR.has(code)) return
    if (!OFTEN.has(code)) {
      log.error({ ...failure, code }, 'request failed')
      return
    }
    const { error } = failure
    const key = `${code} ${error.cause?.code ?? error.code}`
    const last = this.#last.get(key)
    const nowMs = performance.now()
    if (last && nowMs - last.saidAtMs < OFTEN_EVERY_MS) {
      last.unsaid++
      return
    }
    this.#last.set(key, { saidAtMs: nowMs, unsaid: 0 })
    log.error({ ...failure, error: withoutStack(error), code, unsaid: last?.unsaid ?? 0 }, 'requests fail')
  }
}

function withoutStack({ stack: _, cause, ...rest }: ErrorDescription): ErrorDescription {
  return cause === undefined ? rest : { ...rest, cause: withoutStack(cause) }
}
