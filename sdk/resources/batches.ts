import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Transport, WriteOptions } from '../http/transport.ts'
import type { PayloadOf, TypeMap, TypeName } from '../typed.ts'

/** Record of a batch. `payload` must match the record type in `type`. */
export type BatchItem<
  Types extends TypeMap,
  Name extends TypeName<Types> = TypeName<Types>,
> = Name extends unknown
  ? Omit<api.PostRecordsBatchBody['records'][number], 'type' | 'payload'> & {
      readonly type: Name
      readonly payload: PayloadOf<Types, Name>
    }
  : never

export type Batch = api.PostRecordsBatchAnswer

/** Records many items with one entry and one signature. */
export class Batches<Types extends TypeMap> {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * Records all items: `POST /v1/records/batch`. If one item is refused, no item is recorded. The records of the result
   * are in the order of the items.
   */
  notarize(records: readonly BatchItem<Types>[], options?: WriteOptions): Promise<Batch> {
    return this.#http.json(operations.postRecordsBatch, { body: { records }, options })
  }
}
