import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Listing } from '../http/listing.ts'
import type { CallOptions, Transport, WriteOptions } from '../http/transport.ts'

/** Request that `signer.registration(…)` returns. With `required`, the agent must sign all its later entries. */
export type SigningKeyRequest = api.PostAgentsByIdSigningKeysBody

export type AgentsQuery = Omit<api.GetAgentsQuery, 'cursor'>

/** The ledger's agents. Every record names an agent as its actor. */
export class Agents {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** Registers an agent: `POST /v1/agents`. */
  register(request: api.PostAgentsBody, options?: WriteOptions): Promise<api.Agent> {
    return this.#http.json(operations.postAgents, { body: request, options })
  }

  /** Lists agents in the order of registration: `GET /v1/agents`. */
  list(query: AgentsQuery = {}, options?: CallOptions): Listing<api.Agent> {
    return this.#http.list(operations.getAgents, { query, options })
  }

  /** Returns an agent: `GET /v1/agents/{id}`. Throws NotFoundError if the agent does not exist. */
  get(id: string, options?: CallOptions): Promise<api.Agent> {
    return this.#http.json(operations.getAgentsById, { params: { id }, options })
  }

  /**
   * Registers a key with which the agent signs for itself: `POST /v1/agents/{id}/signing-keys`.
   * `signer.registration(…)` makes the request.
   */
  registerSigningKey(
    id: string,
    request: SigningKeyRequest,
    options?: WriteOptions,
  ): Promise<api.SigningKey> {
    return this.#http.json(operations.postAgentsByIdSigningKeys, { params: { id }, body: request, options })
  }

  /**
   * Lists the agent's keys in the order of registration, including revoked keys: `GET /v1/agents/{id}/signing-keys`.
   */
  listSigningKeys(
    id: string,
    query: Omit<api.GetAgentsByIdSigningKeysQuery, 'cursor'> = {},
    options?: CallOptions,
  ): Listing<api.SigningKey> {
    return this.#http.list(operations.getAgentsByIdSigningKeys, { params: { id }, query, options })
  }

  /**
   * Revokes a signing key for good: `POST /v1/agents/{id}/signing-keys/{kid}/revoke`. After that, the server refuses
   * the key's signatures.
   */
  revokeSigningKey(id: string, kid: string, options?: WriteOptions): Promise<api.SigningKey> {
    return this.#http.json(operations.postAgentsByIdSigningKeysByKidRevoke, {
      params: { id, kid },
      body: {},
      options,
    })
  }

  /** Disables an agent for good: `POST /v1/agents/{id}/disable`. Its API keys are refused from then on. */
  disable(id: string, options?: WriteOptions): Promise<api.Agent> {
    return this.#http.json(operations.postAgentsByIdDisable, { params: { id }, body: {}, options })
  }
}
