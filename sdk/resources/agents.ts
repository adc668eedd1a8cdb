import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import { Listing } from '../http/listing.ts'
import type { CallOptions, Transport, WriteOptions } from '../http/transport.ts'

export type AgentsQuery = Omit<api.GetAgentsQuery, 'cursor'>

/** Agents: every record names one of its ledger's. */
export class Agents {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** `POST /v1/agents`. */
  register(request: api.PostAgentsBody, options?: WriteOptions): Promise<api.Agent> {
    return this.#http.json(operations.postAgents, { body: request, options })
  }

  /** `GET /v1/agents`: in the order in which they were registered. */
  list(query: AgentsQuery = {}, options?: CallOptions): Listing<api.Agent> {
    return new Listing((cursor) =>
      this.#http.json(operations.getAgents, { query: { ...query, cursor }, options }),
    )
  }

  /** `GET /v1/agents/{id}`. */
  get(id: string, options?: CallOptions): Promise<api.Agent> {
    return this.#http.json(operations.getAgentsById, { params: { id }, options })
  }

  /** `POST /v1/agents/{id}/disable`: its keys are refused from then on; not to be undone. */
  disable(id: string, options?: WriteOptions): Promise<api.Agent> {
    return this.#http.json(operations.postAgentsByIdDisable, { params: { id }, body: {}, options })
  }
}
