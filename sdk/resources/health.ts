import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

/** Health checks. By default they are not retried, so that a failure is seen at once. */
export class Health {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** Resolves if the server process answers: `GET /livez`. */
  live(options?: CallOptions): Promise<api.GetLivezAnswer> {
    return this.#http.json(operations.getLivez, { options: { retriesMax: 0, ...options } })
  }

  /**
   * Resolves if the server can reach its database, and the database has a version that the server knows: `GET /readyz`.
   * Throws UnavailableError otherwise.
   */
  ready(options?: CallOptions): Promise<api.GetReadyzAnswer> {
    return this.#http.json(operations.getReadyz, { options: { retriesMax: 0, ...options } })
  }
}
