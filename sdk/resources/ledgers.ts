import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Listing } from '../http/listing.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

export type LedgersQuery = Omit<api.GetLedgersQuery, 'cursor'>
export type NewLedger = api.PostLedgersAnswer

/** The ledger of the API key. */
export class OwnLedger {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** Returns the ledger and the calling key: `GET /v1/ledger`. */
  get(options?: CallOptions): Promise<api.GetLedgerAnswer> {
    return this.#http.json(operations.getLedger, { options })
  }
}

/** Ledgers of the server, for its operator. The operator cannot read the ledgers' contents. */
export class Ledgers {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * Makes a ledger with its first agent and a key with all scopes: `POST /v1/ledgers`. The secret is returned only
   * once. The call is not retried after a lost answer, because each call makes a ledger. In this case, look for the new
   * ledger in the list.
   */
  create(request: api.PostLedgersBody, options?: CallOptions): Promise<NewLedger> {
    return this.#http.json(operations.postLedgers, { body: request, options })
  }

  /** Lists ledgers in the order of creation: `GET /v1/ledgers`. */
  list(query: LedgersQuery = {}, options?: CallOptions): Listing<api.LedgerSummary> {
    return this.#http.list(operations.getLedgers, { query, options })
  }

  /** Returns a ledger: `GET /v1/ledgers/{id}`. Throws NotFoundError if the ledger does not exist. */
  get(id: string, options?: CallOptions): Promise<api.LedgerSummary> {
    return this.#http.json(operations.getLedgersById, { params: { id }, options })
  }

  /** Freezes a ledger: `POST /v1/ledgers/{id}/freeze`. The ledger can still be read, but accepts no entries. */
  freeze(id: string, options?: CallOptions): Promise<api.LedgerSummary> {
    return this.#http.json(operations.postLedgersByIdFreeze, { params: { id }, body: {}, options })
  }

  /** Ends the freeze of a ledger: `POST /v1/ledgers/{id}/unfreeze`. */
  unfreeze(id: string, options?: CallOptions): Promise<api.LedgerSummary> {
    return this.#http.json(operations.postLedgersByIdUnfreeze, { params: { id }, body: {}, options })
  }

  /**
   * Makes a key with all scopes, for a ledger whose keys are lost: `POST /v1/ledgers/{id}/keys`. After a lost answer
   * the call is not retried.
   */
  issueKey(
    id: string,
    request: api.PostLedgersByIdKeysBody = {},
    options?: CallOptions,
  ): Promise<api.NewKey> {
    return this.#http.json(operations.postLedgersByIdKeys, { params: { id }, body: request, options })
  }

  /**
   * Sets the common limit for all keys of the ledger, or removes it if the value is null: `PUT
   * /v1/ledgers/{id}/rate-limit`.
   */
  setRateLimit(
    id: string,
    rateLimit: api.RateLimit | null,
    options?: CallOptions,
  ): Promise<api.PutLedgersByIdRateLimitAnswer> {
    return this.#http.json(operations.putLedgersByIdRateLimit, {
      params: { id },
      body: { rateLimit },
      options,
    })
  }

  /**
   * Sets who may read the ledger's tiles, which contain all entries: `PUT /v1/ledgers/{id}/tiles`. `public` allows
   * everybody, `key` only callers with one of the ledger's API keys.
   */
  setTiles(
    id: string,
    tiles: api.LedgerSummary['tiles'],
    options?: CallOptions,
  ): Promise<api.PutLedgersByIdTilesAnswer> {
    return this.#http.json(operations.putLedgersByIdTiles, { params: { id }, body: { tiles }, options })
  }

  /** Returns what was lost in a ledger that was found to be an older backup: `GET /v1/ledgers/{id}/restore`. */
  getRestore(id: string, options?: CallOptions): Promise<api.LedgerRestore> {
    return this.#http.json(operations.getLedgersByIdRestore, { params: { id }, options })
  }

  /**
   * Acknowledges the loss: `POST /v1/ledgers/{id}/restore`. `known` must be the value that `getRestore` returned. The
   * ledger then accepts entries again.
   */
  acknowledgeRestore(
    id: string,
    request: api.PostLedgersByIdRestoreBody,
    options?: CallOptions,
  ): Promise<api.LedgerRestore> {
    return this.#http.json(operations.postLedgersByIdRestore, { params: { id }, body: request, options })
  }
}
