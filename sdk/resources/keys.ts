import { SecretLostError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Listing } from '../http/listing.ts'
import type { CallOptions, Transport, WriteOptions } from '../http/transport.ts'

export type KeysQuery = Omit<api.GetKeysQuery, 'cursor'>
/** A key with its secret, `key`. The server returns the secret only once. */
export type KeyWithSecret = Omit<api.PostKeysAnswer, 'key'> & { readonly key: string }

/** API keys of the ledger's agents. */
export class Keys {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * Makes a key: `POST /v1/keys`. Throws SecretLostError if the first answer was lost and the call was repeated. In
   * this case, call `rotate` to make another secret for the key.
   */
  async create(request: api.PostKeysBody, options?: WriteOptions): Promise<KeyWithSecret> {
    const made = await this.#http.json<api.PostKeysAnswer>(operations.postKeys, { body: request, options })
    if (made.key === null) throw new SecretLostError(made.id)
    return { ...made, key: made.key }
  }

  /** Lists keys in the order of creation, without secrets: `GET /v1/keys`. */
  list(query: KeysQuery = {}, options?: CallOptions): Listing<api.ApiKey> {
    return this.#http.list(operations.getKeys, { query, options })
  }

  /** Returns a key: `GET /v1/keys/{id}`. Throws NotFoundError if the key does not exist. */
  get(id: string, options?: CallOptions): Promise<api.ApiKey> {
    return this.#http.json(operations.getKeysById, { params: { id }, options })
  }

  /**
   * Makes a new secret: `POST /v1/keys/{id}/rotate`. Earlier secrets stay valid for `overlapSeconds`, by default an
   * hour. Not retried after a lost answer, because each call makes a secret.
   */
  rotate(
    id: string,
    request: api.PostKeysByIdRotateBody = {},
    options?: CallOptions,
  ): Promise<KeyWithSecret> {
    return this.#http.json(operations.postKeysByIdRotate, { params: { id }, body: request, options })
  }

  /**
   * Revokes a key for good: `POST /v1/keys/{id}/revoke`. Every server refuses the key within 5 s. With `alsoMade`, the
   * call also revokes all keys that were made with this key, directly or through other keys. A call revokes at most 100
   * keys, so call again while `hasMore` is true.
   */
  revoke(
    id: string,
    request: api.PostKeysByIdRevokeBody = {},
    options?: WriteOptions,
  ): Promise<api.PostKeysByIdRevokeAnswer> {
    return this.#http.json(operations.postKeysByIdRevoke, { params: { id }, body: request, options })
  }

  /** Sets the key's rate limit, or removes it if the value is null: `PUT /v1/keys/{id}/rate-limit`. */
  setRateLimit(
    id: string,
    rateLimit: api.RateLimit | null,
    options?: CallOptions,
  ): Promise<api.PutKeysByIdRateLimitAnswer> {
    return this.#http.json(operations.putKeysByIdRateLimit, { params: { id }, body: { rateLimit }, options })
  }

  /**
   * Sets which spans and logs the key accepts, and whether their content is stored: `PUT /v1/keys/{id}/otlp`. The value
   * null sets the default.
   */
  setOtlp(
    id: string,
    otlp: api.OtlpSettings | null,
    options?: CallOptions,
  ): Promise<api.PutKeysByIdOtlpAnswer> {
    return this.#http.json(operations.putKeysByIdOtlp, { params: { id }, body: { otlp }, options })
  }
}
