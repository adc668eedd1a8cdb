import { SecretLostError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Listing } from '../http/listing.ts'
import type { CallOptions, Transport, WriteOptions } from '../http/transport.ts'

export type KeysQuery = Omit<api.GetKeysQuery, 'cursor'>
/** A key with its secret, `key`, which is answered once. */
export type KeyWithSecret = Omit<api.PostKeysAnswer, 'key'> & { readonly key: string }

/** API keys of the ledger's agents. */
export class Keys {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** `POST /v1/keys`. SecretLostError where the first answer was lost, and the call repeated: `rotate` makes another. */
  async create(request: api.PostKeysBody, options?: WriteOptions): Promise<KeyWithSecret> {
    const made = await this.#http.json<api.PostKeysAnswer>(operations.postKeys, { body: request, options })
    if (made.key === null) throw new SecretLostError(made.id)
    return { ...made, key: made.key }
  }

  /** `GET /v1/keys`: in the order in which they were made, without their secrets. */
  list(query: KeysQuery = {}, options?: CallOptions): Listing<api.ApiKey> {
    return this.#http.list(operations.getKeys, { query, options })
  }

  /** `GET /v1/keys/{id}`. */
  get(id: string, options?: CallOptions): Promise<api.ApiKey> {
    return this.#http.json(operations.getKeysById, { params: { id }, options })
  }

  /**
   * `POST /v1/keys/{id}/rotate`: a new secret; those before stay valid for `overlapSeconds`, by default an hour. Not repeated where
   * the answer is lost, because each time makes a secret.
   */
  rotate(
    id: string,
    request: api.PostKeysByIdRotateBody = {},
    options?: CallOptions,
  ): Promise<KeyWithSecret> {
    return this.#http.json(operations.postKeysByIdRotate, { params: { id }, body: request, options })
  }

  /**
   * `POST /v1/keys/{id}/revoke`: every server refuses it within 5 s; not to be undone. With `alsoMade` the keys that it has made, and
   * those that they have, go with it: up to 100 a call, so call again while `hasMore`.
   */
  revoke(
    id: string,
    request: api.PostKeysByIdRevokeBody = {},
    options?: WriteOptions,
  ): Promise<api.PostKeysByIdRevokeAnswer> {
    return this.#http.json(operations.postKeysByIdRevoke, { params: { id }, body: request, options })
  }

  /** `PUT /v1/keys/{id}/rate-limit`: null takes the limit away. */
  setRateLimit(
    id: string,
    rateLimit: api.RateLimit | null,
    options?: CallOptions,
  ): Promise<api.PutKeysByIdRateLimitAnswer> {
    return this.#http.json(operations.putKeysByIdRateLimit, { params: { id }, body: { rateLimit }, options })
  }

  /** `PUT /v1/keys/{id}/otlp`: which spans and logs it takes, and whether their content is kept; null: as by default. */
  setOtlp(
    id: string,
    otlp: api.OtlpSettings | null,
    options?: CallOptions,
  ): Promise<api.PutKeysByIdOtlpAnswer> {
    return this.#http.json(operations.putKeysByIdOtlp, { params: { id }, body: { otlp }, options })
  }
}
