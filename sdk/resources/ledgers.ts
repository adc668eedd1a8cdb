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

  /** `GET /v1/ledger`: the ledger, and the key that asks. */
  get(options?: CallOptions): Promise<api.GetLedgerAnswer> {
    return this.#http.json(operations.getLedger, { options })
  }
}

/** The server's ledgers, for its operator, who can read none of them. */
export class Ledgers {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * `POST /v1/ledgers`: with its first agent and a key that may do everything, whose secret is answered once. Not repeated where the
   * answer is lost, because each time makes a ledger: look into the list.
   */
  create(request: api.PostLedgersBody, options?: CallOptions): Promise<NewLedger> {
    return this.#http.json(operations.postLedgers, { body: request, options })
  }

  /** `GET /v1/ledgers`: in the order in which they were made. */
  list(query: LedgersQuery = {}, options?: CallOptions): Listing<api.LedgerSummary> {
    return this.#http.list(operations.getLedgers, { query, options })
  }

  /** `GET /v1/ledgers/{id}`. */
  get(id: string, options?: CallOptions): Promise<api.LedgerSummary> {
    return this.#http.json(operations.getLedgersById, { params: { id }, options })
  }

  /** `POST /v1/ledgers/{id}/freeze`: it is read as before, and takes no entries. */
  freeze(id: string, options?: CallOptions): Promise<api.LedgerSummary> {
    return this.#http.json(operations.postLedgersByIdFreeze, { params: { id }, body: {}, options })
  }

  /** `POST /v1/ledgers/{id}/unfreeze`. */
  unfreeze(id: string, options?: CallOptions): Promise<api.LedgerSummary> {
    return this.#http.json(operations.postLedgersByIdUnfreeze, { params: { id }, body: {}, options })
  }

  /** `POST /v1/ledgers/{id}/keys`: a key that may do everything, for a ledger whose own keys are lost. Not repeated either. */
  issueKey(
    id: string,
    request: api.PostLedgersByIdKeysBody = {},
    options?: CallOptions,
  ): Promise<api.NewKey> {
    return this.#http.json(operations.postLedgersByIdKeys, { params: { id }, body: request, options })
  }

  /** `PUT /v1/ledgers/{id}/rate-limit`: sets the limit of all of its keys together; null takes it away. */
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

  /** `PUT /v1/ledgers/{id}/tiles`: lets anybody read its tiles, with all entries (`public`), or only its keys (`key`). */
  setTiles(
    id: string,
    tiles: api.LedgerSummary['tiles'],
    options?: CallOptions,
  ): Promise<api.PutLedgersByIdTilesAnswer> {
    return this.#http.json(operations.putLedgersByIdTiles, { params: { id }, body: { tiles }, options })
  }

  /** `GET /v1/ledgers/{id}/restore`: the losses of a ledger that was found to be an older backup of itself. */
  getRestore(id: string, options?: CallOptions): Promise<api.LedgerRestore> {
    return this.#http.json(operations.getLedgersByIdRestore, { params: { id }, options })
  }

  /** `POST /v1/ledgers/{id}/restore`: acknowledges what is lost of `known`, as `getRestore` answers it; the ledger then takes entries again. */
  acknowledgeRestore(
    id: string,
    request: api.PostLedgersByIdRestoreBody,
    options?: CallOptions,
  ): Promise<api.LedgerRestore> {
    return this.#http.json(operations.postLedgersByIdRestore, { params: { id }, body: request, options })
  }
}
