import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import { Listing } from '../http/listing.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

export type SubjectErasure = Omit<api.PostSubjectsEraseBody, 'subject' | 'cursor'>

/** Documents of a person, by the label `subject` with which they were recorded. */
export class Subjects {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** `POST /v1/subjects/find`: records with documents, the oldest first. */
  find(subject: string, options?: CallOptions): Listing<api.SubjectRecord> {
    return new Listing((cursor) =>
      this.#http.json(operations.postSubjectsFind, {
        body: { subject, ...(cursor !== undefined && { cursor }) },
        options,
      }),
    )
  }

  /**
   * `POST /v1/subjects/erase`, until all are erased: a receipt for each thousand documents. There is no way back; the requests that were made
   * count, if a later one fails.
   */
  async *erase(
    subject: string,
    erasure: SubjectErasure,
    options?: CallOptions,
  ): AsyncGenerator<api.SubjectReceipt, void, undefined> {
    let cursor: string | null | undefined
    do {
      const body: api.PostSubjectsEraseBody = { ...erasure, subject, ...(cursor && { cursor }) }
      const receipt: api.SubjectReceipt = await this.#http.json(operations.postSubjectsErase, {
        body,
        options,
      })
      yield receipt
      cursor = receipt.nextCursor
    } while (cursor)
  }
}
