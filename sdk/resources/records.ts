import { TallystickError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Listing } from '../http/listing.ts'
import { sleep } from '../http/retries.ts'
import type { CallOptions, StepOptions, Transport, WriteOptions } from '../http/transport.ts'
import type { EvidenceOf, PayloadOf, RecordOf, TypeMap, TypeName } from '../typed.ts'
import { COSE, RECEIPT_QUERY } from './receipts.ts'

/** Members that only gated records have. */
type Terms = 'performer' | 'gate' | 'deadline' | 'maxRevisions' | 'tolerances' | 'share'

export type NotarizeRequest<Types extends TypeMap, Name extends TypeName<Types>> = Omit<
  api.PostRecordsBody,
  'type' | 'payload' | 'envelope' | Terms
> & {
  /** Record type. Default: `generic/1`, which accepts any object. */
  readonly type?: Name
  readonly payload: PayloadOf<Types, Name>
}

export type CreateRequest<Types extends TypeMap, Name extends TypeName<Types>> = Omit<
  api.PostRecordsBody,
  'type' | 'payload'
> & {
  /** Record type. Default: `task/1`, which accepts any objects. */
  readonly type?: Name
  readonly payload: PayloadOf<Types, Name>
}

export type CompletionRequest<Evidence extends object> = Omit<
  api.PostRecordsByIdCompletionsBody,
  'evidence'
> & {
  readonly evidence: Evidence
}

export type RecordsQuery = Omit<api.GetRecordsQuery, 'cursor'>
/**
 * `peer` is the peer that sent the record. Default: the ledger's own record. If the ledger has no record with this id,
 * the default is the record of the peer that sent this id first.
 */
export type ReadOptions = CallOptions & { readonly peer?: string | undefined }
export type RecordEntry = api.GetRecordsByIdEntriesAnswer['data'][number]

/** Maximum time in ms for which a server delays an answer. */
const WAIT_MS_MAX = 20_000
/**
 * Pause in ms before the next request if the server answered without a change. A server that shuts down does not delay
 * its answers, so without the pause the client would send one request after another.
 */
const PAUSE_MS = 50

/** Notarized and gated records, and the steps of gated records. Every method names its route. */
export class Records<Types extends TypeMap> {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** Records what happened, in one call: `POST /v1/records`. */
  notarize<Name extends TypeName<Types> = 'generic/1'>(
    { type, ...request }: NotarizeRequest<Types, Name>,
    options?: WriteOptions,
  ): Promise<RecordOf<PayloadOf<Types, Name>>> {
    return this.#http.json(operations.postRecords, {
      body: { type: type ?? 'generic/1', ...request },
      gated: false,
      options,
    })
  }

  /**
   * Creates a gated record, and so commissions work: `POST /v1/records`.
   *
   * The type decides: with a type that is not gated, such as `generic/1`, the record is notarized, as `notarize` does.
   * With terms such as `performer` it is refused (`not_gated`).
   */
  create<Name extends TypeName<Types> = 'task/1'>(
    { type, ...request }: CreateRequest<Types, Name>,
    options?: WriteOptions,
  ): Promise<RecordOf<PayloadOf<Types, Name>>> {
    return this.#http.json(operations.postRecords, {
      body: { type: type ?? 'task/1', ...request },
      gated: true,
      options,
    })
  }

  /** Accepts the commissioned work: `POST /v1/records/{id}/activate`. */
  activate(
    id: string,
    request: api.PostRecordsByIdActivateBody = {},
    options?: StepOptions,
  ): Promise<api.LedgerRecord> {
    return this.#step(operations.postRecordsByIdActivate, id, request, options)
  }

  /** Delivers the work: `POST /v1/records/{id}/completions`. */
  complete<Name extends TypeName<Types> = TypeName<Types>>(
    id: string,
    request: CompletionRequest<EvidenceOf<Types, Name>>,
    options?: StepOptions,
  ): Promise<api.LedgerRecord> {
    return this.#step(operations.postRecordsByIdCompletions, id, request, options)
  }

  /** Accepts or rejects the delivered work: `POST /v1/records/{id}/verdict`. */
  verdict(
    id: string,
    request: api.PostRecordsByIdVerdictBody,
    options?: StepOptions,
  ): Promise<api.LedgerRecord> {
    return this.#step(operations.postRecordsByIdVerdict, id, request, options)
  }

  /** Requests the performer to deliver again: `POST /v1/records/{id}/revision`. */
  requestRevision(
    id: string,
    request: api.PostRecordsByIdRevisionBody,
    options?: StepOptions,
  ): Promise<api.LedgerRecord> {
    return this.#step(operations.postRecordsByIdRevision, id, request, options)
  }

  /** Cancels work that is not delivered yet: `POST /v1/records/{id}/cancel`. */
  cancel(
    id: string,
    request: api.PostRecordsByIdCancelBody,
    options?: StepOptions,
  ): Promise<api.LedgerRecord> {
    return this.#step(operations.postRecordsByIdCancel, id, request, options)
  }

  /** Turns a rejection into an acceptance: `POST /v1/records/{id}/overturn`. */
  overturn(
    id: string,
    request: api.PostRecordsByIdOverturnBody,
    options?: StepOptions,
  ): Promise<api.LedgerRecord> {
    return this.#step(operations.postRecordsByIdOverturn, id, request, options)
  }

  /** Shares a gated record with peers for good: `POST /v1/records/{id}/share`. */
  share(
    id: string,
    request: api.PostRecordsByIdShareBody,
    options?: WriteOptions,
  ): Promise<api.LedgerRecord> {
    return this.#http.json(operations.postRecordsByIdShare, { params: { id }, body: request, options })
  }

  #step(
    operation: (typeof operations)[keyof typeof operations],
    id: string,
    body: object,
    options: StepOptions | undefined,
  ): Promise<api.LedgerRecord> {
    return this.#http.json(operation, { params: { id }, body, options })
  }

  /**
   * Returns a record: `GET /v1/records/{id}`. Throws NotFoundError if the record does not exist. If only the worker can
   * take the next step, the server delays its answer until the record changes, for at most `wait` seconds (maximum 20).
   */
  get(
    id: string,
    { peer, wait, ...options }: ReadOptions & { readonly wait?: number | undefined } = {},
  ): Promise<api.LedgerRecord> {
    return this.#http.json(operations.getRecordsById, {
      params: { id },
      query: { peer, wait },
      options,
      answerDelayMs: 1_000 * (wait ?? 0),
    })
  }

  /**
   * Returns the record as soon as it is in one of the states. For example, a principal can wait for the worker's
   * verification.
   *
   * The server answers when the record changes. `timeoutMs` (default 60 s) limits the whole wait. Throws
   * TallystickError when the time is over, or when the record has ended in another state.
   */
  async until(
    id: string,
    states: readonly api.RecordState[],
    { timeoutMs = 60_000, peer, ...options }: ReadOptions = {},
  ): Promise<api.LedgerRecord> {
    const deadline = Date.now() + timeoutMs
    let record = await this.get(id, { peer, ...options })
    for (;;) {
      if (states.includes(record.state)) return record
      if (record.nextEvents.length === 0)
        throw new TallystickError(
          `${id} has ended as ${record.state}, and can never become ${states.join(' or ')}`,
        )
      const leftMs = deadline - Date.now()
      if (leftMs <= 0)
        throw new TallystickError(
          `${id} is still ${record.state} after ${timeoutMs} ms, not ${states.join(' or ')}; possible next events: ${record.nextEvents.join(', ')}`,
          { retryable: true },
        )
      // Rounded up to tenths of a second, the precision of the member `wait`.
      const answerDelayMs = Math.min(WAIT_MS_MAX, 100 * Math.ceil(leftMs / 100))
      const moved = await this.#http.jsonIfMoved<api.LedgerRecord>(operations.getRecordsById, {
        params: { id },
        query: { peer, wait: answerDelayMs / 1_000 },
        options,
        knownVersion: record.version,
        answerDelayMs,
      })
      if (moved === null) await sleep(PAUSE_MS, options.signal)
      record = moved ?? record
    }
  }

  /**
   * Lists records, newest first unless `order` says otherwise: `GET /v1/records`. With `type`, the payloads have the
   * TypeScript type of that record type.
   */
  list<Name extends TypeName<Types>>(
    query: RecordsQuery & { readonly type: Name },
    options?: CallOptions,
  ): Listing<RecordOf<PayloadOf<Types, Name>>>
  list(query?: RecordsQuery, options?: CallOptions): Listing<api.LedgerRecord>
  list(query: RecordsQuery = {}, options?: CallOptions): Listing<api.LedgerRecord> {
    return this.#http.list(operations.getRecords, { query, options })
  }

  /** Lists the record's own entries, oldest first, with the documents of its steps: `GET /v1/records/{id}/entries`. */
  entries(
    id: string,
    { peer, limit, ...options }: ReadOptions & { readonly limit?: number | undefined } = {},
  ): Listing<RecordEntry> {
    return this.#http.list(operations.getRecordsByIdEntries, {
      params: { id },
      query: { peer, limit },
      options,
    })
  }

  /** Returns the record, its ancestors, and a page of its children: `GET /v1/records/{id}/tree`. */
  tree(
    id: string,
    query: api.GetRecordsByIdTreeQuery = {},
    options?: CallOptions,
  ): Promise<api.GetRecordsByIdTreeAnswer> {
    return this.#http.json(operations.getRecordsByIdTree, { params: { id }, query, options })
  }

  /**
   * Returns an offline proof of the record's first entry, or of its entry at `seq`: `GET /v1/records/{id}/proof`.
   * Waits some seconds for a checkpoint that covers the entry.
   */
  proof(
    id: string,
    query: api.GetRecordsByIdProofQuery = {},
    options?: CallOptions,
  ): Promise<api.GetRecordsByIdProofAnswer> {
    return this.#http.json(operations.getRecordsByIdProof, { params: { id }, query, options })
  }

  /**
   * Returns the entry with its COSE receipt, as one file for `verify.receipt`: `GET /v1/records/{id}/receipt`. With
   * `statement: 'false'`, returns only the receipt. Waits some seconds for a checkpoint that covers the entry.
   */
  receipt(
    id: string,
    query: api.GetRecordsByIdReceiptQuery = {},
    options?: CallOptions,
  ): Promise<Uint8Array> {
    return this.#http.bytes(operations.getRecordsByIdReceipt, COSE, {
      params: { id },
      query: { ...RECEIPT_QUERY, ...query },
      options,
    })
  }

  /**
   * Erases the payload for good: `DELETE /v1/records/{id}/payload`. `remaining` of the result names the record's
   * other documents that can be erased.
   */
  erasePayload(
    id: string,
    request: api.DeleteRecordsByIdPayloadBody,
    options?: WriteOptions,
  ): Promise<api.DeleteRecordsByIdPayloadAnswer> {
    return this.#http.json(operations.deleteRecordsByIdPayload, { params: { id }, body: request, options })
  }

  /** Erases evidence for good: `DELETE /v1/records/{id}/completions/{completion}/evidence`. */
  eraseEvidence(
    id: string,
    completion: string,
    request: api.DeleteRecordsByIdCompletionsByCompletionEvidenceBody,
    options?: WriteOptions,
  ): Promise<api.DeleteRecordsByIdCompletionsByCompletionEvidenceAnswer> {
    return this.#http.json(operations.deleteRecordsByIdCompletionsByCompletionEvidence, {
      params: { id, completion },
      body: request,
      options,
    })
  }

  /** Erases compared values for good: `DELETE /v1/records/{id}/completions/{completion}/values`. */
  eraseValues(
    id: string,
    completion: string,
    request: api.DeleteRecordsByIdCompletionsByCompletionValuesBody,
    options?: WriteOptions,
  ): Promise<api.DeleteRecordsByIdCompletionsByCompletionValuesAnswer> {
    return this.#http.json(operations.deleteRecordsByIdCompletionsByCompletionValues, {
      params: { id, completion },
      body: request,
      options,
    })
  }

  /** Erases a reason for good: `DELETE /v1/records/{id}/entries/{seq}/reason`. */
  eraseReason(
    id: string,
    seq: number,
    request: api.DeleteRecordsByIdEntriesBySeqReasonBody,
    options?: WriteOptions,
  ): Promise<api.DeleteRecordsByIdEntriesBySeqReasonAnswer> {
    return this.#http.json(operations.deleteRecordsByIdEntriesBySeqReason, {
      params: { id, seq },
      body: request,
      options,
    })
  }
}
