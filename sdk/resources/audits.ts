import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Listing } from '../http/listing.ts'
import { sleep } from '../http/retries.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

export type AuditsQuery = Omit<api.GetAuditsQuery, 'cursor'>

const POLL_MS_MIN = 100
const POLL_MS_MAX = 2_000

export type AuditRunOptions = CallOptions & {
  /** Called with the audit when it starts, and after each poll. */
  readonly onProgress?: ((audit: api.Audit) => void) | undefined
}

/**
 * Audits, in which the server's worker verifies the whole ledger. Their results are the server's own report. Use
 * `verify` to check a ledger without trusting the server.
 */
export class Audits {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** Starts an audit in the background: `POST /v1/audits`. If an audit is open already, returns that audit. */
  start(options?: CallOptions): Promise<api.Audit> {
    return this.#http.json(operations.postAudits, { body: {}, options })
  }

  /** Lists audits, newest first: `GET /v1/audits`. */
  list(query: AuditsQuery = {}, options?: CallOptions): Listing<api.Audit> {
    return this.#http.list(operations.getAudits, { query, options })
  }

  /** Returns an audit: `GET /v1/audits/{id}`. Throws NotFoundError if the audit does not exist. */
  get(id: string, options?: CallOptions): Promise<api.Audit> {
    return this.#http.json(operations.getAuditsById, { params: { id }, options })
  }

  /**
   * Starts an audit and waits until it ends, without a time limit. `signal` stops the wait.
   *
   * The result's `ok` is true if the ledger verifies. It is null if `state` is `failed`, which means that the ledger
   * could not be read.
   */
  async run({ onProgress, ...options }: AuditRunOptions = {}): Promise<api.Audit> {
    let audit = await this.start(options)
    onProgress?.(audit)
    for (let pollMs = POLL_MS_MIN; isOpen(audit); pollMs = Math.min(POLL_MS_MAX, pollMs * 1.5)) {
      await sleep(pollMs, options.signal)
      audit = await this.get(audit.id, options)
      onProgress?.(audit)
    }
    return audit
  }
}

function isOpen({ state }: api.Audit): boolean {
  return state === 'queued' || state === 'running'
}
