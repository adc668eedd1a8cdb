import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

/** Whether the server works. Asked once, without retries, because a failure should be seen at once. */
export class Health {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** `GET /livez`: the process answers. */
  live(options?: CallOptions): Promise<api.GetLivezAnswer> {
    return this.#http.json(operations.getLivez, { options: { retriesMax: 0, ...options } })
  }

  /** `GET /readyz`: it reaches a database that it understands; otherwise UnavailableError. */
  ready(options?: CallOptions): Promise<api.GetReadyzAnswer> {
    return this.#http.json(operations.getReadyz, { options: { retriesMax: 0, ...options } })
  }
}
