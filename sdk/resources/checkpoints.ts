import { ConflictError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Listing } from '../http/listing.ts'
import type { CallOptions, Transport } from '../http/transport.ts'
import { COSE } from './receipts.ts'

export type CheckpointsQuery = Omit<api.GetCheckpointsQuery, 'cursor'>
export type CheckpointPlace = api.GetCheckpointsAnswer['data'][number]
export type ConsistencyProof = api.GetCheckpointsConsistencyAnswer

const NOTE = 'text/plain'

/** Signed notes of how many entries the ledger has, and of their tree: keep one elsewhere, and nothing before it can be changed. */
export class Checkpoints {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * `GET /v1/checkpoints/latest`: the newest note; null in the first seconds of a ledger, which has none yet. `cosignatures`: the newest one
   * that so many witnesses have cosigned; null where there is none.
   */
  async latest(query: api.GetCheckpointsLatestQuery = {}, options?: CallOptions): Promise<string | null> {
    try {
      return await this.#http.text(operations.getCheckpointsLatest, NOTE, {
        query,
        options,
        unretried: ['checkpoint_pending'],
      })
    } catch (error) {
      if (error instanceof ConflictError && error.code === 'checkpoint_pending') return null
      throw error
    }
  }

  /** `GET /v1/checkpoints/{size}`: the note of just that many entries; NotFoundError where none was published. */
  get(size: number, options?: CallOptions): Promise<string> {
    return this.#http.text(operations.getCheckpointsBySize, NOTE, { params: { size }, options })
  }

  /** `GET /v1/checkpoints`: their sizes, newest first. */
  list(query: CheckpointsQuery = {}, options?: CallOptions): Listing<CheckpointPlace> {
    return this.#http.list(operations.getCheckpoints, { query, options })
  }

  /**
   * `GET /v1/checkpoints/consistency`: proves that the ledger of `to` entries begins with that of `from`. Waits some seconds for a
   * checkpoint that covers `to`.
   */
  consistency(from: number, to: number, options?: CallOptions): Promise<ConsistencyProof> {
    return this.#http.json(operations.getCheckpointsConsistency, { query: { from, to }, options })
  }

  /**
   * `GET /v1/checkpoints/consistency/receipt`: the same as a COSE receipt, to `verify.consistencyReceipt`. `to`: the size of a published
   * checkpoint; absent: the newest one.
   */
  consistencyReceipt(from: number, to?: number, options?: CallOptions): Promise<Uint8Array> {
    return this.#http.bytes(operations.getCheckpointsConsistencyReceipt, COSE, {
      query: { from, to },
      options,
    })
  }
}
