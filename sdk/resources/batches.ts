import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Transport, WriteOptions } from '../http/transport.ts'
import type { PayloadOf, TypeMap, TypeName } from '../typed.ts'

/** Each item's payload is that of its own type. */
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

/** Many records in one entry, under one signature. */
export class Batches<Types extends TypeMap> {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** `POST /v1/records/batch`: all or nothing; the answer's records are in the order of these. */
  notarize(records: readonly BatchItem<Types>[], options?: WriteOptions): Promise<Batch> {
    return this.#http.json(operations.postRecordsBatch, { body: { records }, options })
  }
}
