import { type Bytes, requireBytes } from '../bytes.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Listing } from '../http/listing.ts'
import type { CallOptions, Transport } from '../http/transport.ts'
import { COSE, RECEIPT_QUERY } from './receipts.ts'

export type StatementsQuery = Omit<api.GetStatementsQuery, 'cursor'>
export type RegistrationPolicy = api.PutRegistrationPolicyBody

/** Signed Statements of other issuers (RFC 9943) that the ledger registers. */
export class Statements {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * Registers a statement: `POST /entries`. `statement` contains the bytes of a tagged COSE_Sign1, as its issuer signed
   * it. If the same statement is registered again, returns the first result.
   */
  register(statement: Bytes, options?: CallOptions): Promise<api.Statement> {
    const bytes = { mediaType: COSE, content: requireBytes(statement, 'a Signed Statement') }
    return this.#http.json(operations.postEntries, { bytes, options })
  }

  /** Lists statements, newest first: `GET /v1/statements`. */
  list(query: StatementsQuery = {}, options?: CallOptions): Listing<api.Statement> {
    return this.#http.list(operations.getStatements, { query, options })
  }

  /** Returns a statement: `GET /v1/statements/{id}`. Throws NotFoundError if the statement does not exist. */
  get(id: string, options?: CallOptions): Promise<api.Statement> {
    return this.#http.json(operations.getStatementsById, { params: { id }, options })
  }

  /**
   * Returns the Transparent Statement for `verify.statement`: `GET /v1/entries/{seq}/receipt`. Waits some seconds for a
   * checkpoint that covers the statement. Throws ConflictError `checkpoint_pending` if there is none by then.
   */
  receipt({ seq }: Pick<api.Statement, 'seq'>, options?: CallOptions): Promise<Uint8Array> {
    return this.#http.bytes(operations.getEntriesBySeqReceipt, COSE, {
      params: { seq },
      query: RECEIPT_QUERY,
      options,
    })
  }

  /** Replaces the registration policy: `PUT /v1/registration-policy`. The new policy is an entry of the ledger. */
  setPolicy(policy: RegistrationPolicy, options?: CallOptions): Promise<api.RegistrationPolicy> {
    return this.#http.json(operations.putRegistrationPolicy, { body: policy, options })
  }

  /** Returns the registration policy: `GET /v1/registration-policy`. Throws NotFoundError if no policy was set. */
  policy(options?: CallOptions): Promise<api.RegistrationPolicy> {
    return this.#http.json(operations.getRegistrationPolicy, { options })
  }
}
