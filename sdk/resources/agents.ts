import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Listing } from '../http/listing.ts'
import type { CallOptions, Transport, WriteOptions } from '../http/transport.ts'

/** Answer of `signer.registration(…)`, and whether the agent signs everything from then on. */
export type SigningKeyRequest = api.PostAgentsByIdSigningKeysBody

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
    return this.#http.list(operations.getAgents, { query, options })
  }

  /** `GET /v1/agents/{id}`. */
  get(id: string, options?: CallOptions): Promise<api.Agent> {
    return this.#http.json(operations.getAgentsById, { params: { id }, options })
  }

  /** `POST /v1/agents/{id}/signing-keys`: a key by which the agent signs for itself. `signer.registration(…)` makes the request. */
  registerSigningKey(
    id: string,
    request: SigningKeyRequest,
    options?: WriteOptions,
  ): Promise<api.SigningKey> {
    return this.#http.json(operations.postAgentsByIdSigningKeys, { params: { id }, body: request, options })
  }

  /** `GET /v1/agents/{id}/signing-keys`: revoked ones, too, in the order in which they were registered. */
  listSigningKeys(
    id: string,
    query: Omit<api.GetAgentsByIdSigningKeysQuery, 'cursor'> = {},
    options?: CallOptions,
  ): Listing<api.SigningKey> {
    return this.#http.list(operations.getAgentsByIdSigningKeys, { params: { id }, query, options })
  }

  /** `POST /v1/agents/{id}/signing-keys/{kid}/revoke`: it signs nothing from then on; not to be undone. */
  revokeSigningKey(id: string, kid: string, options?: WriteOptions): Promise<api.SigningKey> {
    return this.#http.json(operations.postAgentsByIdSigningKeysByKidRevoke, {
      params: { id, kid },
      body: {},
      options,
    })
  }

  /** `POST /v1/agents/{id}/disable`: its keys are refused from then on; not to be undone. */
  disable(id: string, options?: WriteOptions): Promise<api.Agent> {
    return this.#http.json(operations.postAgentsByIdDisable, { params: { id }, body: {}, options })
  }
}
