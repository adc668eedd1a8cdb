import { type Bytes, requireBytes } from '../bytes.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Listing } from '../http/listing.ts'
import type { CallOptions, Transport } from '../http/transport.ts'
import { COSE, RECEIPT_QUERY } from './receipts.ts'

export type StatementsQuery = Omit<api.GetStatementsQuery, 'cursor'>
export type RegistrationPolicy = api.PutRegistrationPolicyBody

/** Signed Statements of others (RFC 9943), which the ledger registers. */
export class Statements {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** `POST /entries`: COSE_Sign1, tagged, as its issuer signed it. The same again is answered as the first time. */
  register(statement: Bytes, options?: CallOptions): Promise<api.Statement> {
    const bytes = { mediaType: COSE, content: requireBytes(statement, 'a Signed Statement') }
    return this.#http.json(operations.postEntries, { bytes, options })
  }

  /** `GET /v1/statements`: the newest first. */
  list(query: StatementsQuery = {}, options?: CallOptions): Listing<api.Statement> {
    return this.#http.list(operations.getStatements, { query, options })
  }

  /** `GET /v1/statements/{id}`. */
  get(id: string, options?: CallOptions): Promise<api.Statement> {
    return this.#http.json(operations.getStatementsById, { params: { id }, options })
  }

  /**
   * `GET /v1/entries/{seq}/receipt`: the Transparent Statement, which `verify.statement` checks alone. Waits some seconds for a checkpoint that covers it;
   * then ConflictError `checkpoint_pending`.
   */
  receipt({ seq }: Pick<api.Statement, 'seq'>, options?: CallOptions): Promise<Uint8Array> {
    return this.#http.bytes(operations.getEntriesBySeqReceipt, COSE, {
      params: { seq },
      query: RECEIPT_QUERY,
      options,
    })
  }

  /** `PUT /v1/registration-policy`: replaces it, by an entry of the ledger. */
  setPolicy(policy: RegistrationPolicy, options?: CallOptions): Promise<api.RegistrationPolicy> {
    return this.#http.json(operations.putRegistrationPolicy, { body: policy, options })
  }

  /** `GET /v1/registration-policy`: NotFoundError while none was set. */
  policy(options?: CallOptions): Promise<api.RegistrationPolicy> {
    return this.#http.json(operations.getRegistrationPolicy, { options })
  }
}
