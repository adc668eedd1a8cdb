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

/**
 * Checkpoints: signed notes about the ledger's size and tree. A checkpoint that you store elsewhere reveals any later
 * change of the entries that it covers.
 */
export class Checkpoints {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * Returns the newest note: `GET /v1/checkpoints/latest`. With `cosignatures`, returns the newest note with at least
   * this many cosignatures. Returns null if there is no such note. A new ledger has no checkpoint in its first seconds.
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

  /**
   * Returns the note of exactly this size: `GET /v1/checkpoints/{size}`. Throws NotFoundError if no checkpoint of
   * this size was published.
   */
  get(size: number, options?: CallOptions): Promise<string> {
    return this.#http.text(operations.getCheckpointsBySize, NOTE, { params: { size }, options })
  }

  /** Lists the sizes of checkpoints, newest first: `GET /v1/checkpoints`. */
  list(query: CheckpointsQuery = {}, options?: CallOptions): Listing<CheckpointPlace> {
    return this.#http.list(operations.getCheckpoints, { query, options })
  }

  /**
   * Returns the proof that the ledger of `to` entries begins with the ledger of `from` entries: `GET
   * /v1/checkpoints/consistency`. Waits some seconds for a checkpoint that covers `to`.
   */
  consistency(from: number, to: number, options?: CallOptions): Promise<ConsistencyProof> {
    return this.#http.json(operations.getCheckpointsConsistency, { query: { from, to }, options })
  }

  /**
   * Like `consistency`, but returns a COSE receipt for `verify.consistencyReceipt`: `GET
   * /v1/checkpoints/consistency/receipt`. `to` is the size of a published checkpoint. Default: the newest checkpoint.
   */
  consistencyReceipt(from: number, to?: number, options?: CallOptions): Promise<Uint8Array> {
    return this.#http.bytes(operations.getCheckpointsConsistencyReceipt, COSE, {
      query: { from, to },
      options,
    })
  }
}
