import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import { Listing } from '../http/listing.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

export type SubjectErasure = Omit<api.PostSubjectsEraseBody, 'subject' | 'cursor'>

/** Finds and erases documents of a person. The label `subject` of the records identifies the person. */
export class Subjects {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** Lists records of the person that have documents, oldest first: `POST /v1/subjects/find`. */
  find(subject: string, options?: CallOptions): Listing<api.SubjectRecord> {
    return new Listing((cursor) =>
      this.#http.json(operations.postSubjectsFind, {
        body: { subject, ...(cursor !== undefined && { cursor }) },
        options,
      }),
    )
  }

  /**
   * Erases all documents of the person for good: `POST /v1/subjects/erase`, repeated until none is left. Yields one
   * receipt for each thousand documents. If a request fails, the documents of earlier requests stay erased.
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
