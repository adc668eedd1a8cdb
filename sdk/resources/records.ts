import { TallystickError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Listing } from '../http/listing.ts'
import { sleep } from '../http/retries.ts'
import type { CallOptions, StepOptions, Transport, WriteOptions } from '../http/transport.ts'
import type { EvidenceOf, PayloadOf, RecordOf, TypeMap, TypeName } from '../typed.ts'
import { COSE, RECEIPT_QUERY } from './receipts.ts'

/** Members of gated records alone. */
type Terms = 'performer' | 'gate' | 'deadline' | 'maxRevisions' | 'tolerances' | 'share'

export type NotarizeRequest<Types extends TypeMap, Name extends TypeName<Types>> = Omit<
  api.PostRecordsBody,
  'type' | 'payload' | 'envelope' | Terms
> & {
  /** Absent: `generic/1`, which takes any object. */
  readonly type?: Name
  readonly payload: PayloadOf<Types, Name>
}

export type CreateRequest<Types extends TypeMap, Name extends TypeName<Types>> = Omit<
  api.PostRecordsBody,
  'type' | 'payload'
> & {
  /** Absent: `task/1`, which takes any objects. */
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
 * `peer`: the peer that sent the record. Absent: the ledger's own record, or else the one of the peer that sent this id
 * first.
 */
export type ReadOptions = CallOptions & { readonly peer?: string | undefined }
export type RecordEntry = api.GetRecordsByIdEntriesAnswer['data'][number]

/** As long as a server holds an answer back at most. */
const WAIT_MS_MAX = 20_000
/** Before a server is asked again that has nothing new: one that closes does not hold back. */
const PAUSE_MS = 50

/** Records, notarized at once or gated, and the steps of the gated ones. Every method names the route that it calls. */
export class Records<Types extends TypeMap> {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** `POST /v1/records`: writes down what happened, with one call. */
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

  /** `POST /v1/records`: commissions work of a gated type. */
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

  /** `POST /v1/records/{id}/activate`: takes the work on. */
  activate(
    id: string,
    request: api.PostRecordsByIdActivateBody = {},
    options?: StepOptions,
  ): Promise<api.LedgerRecord> {
    return this.#step(operations.postRecordsByIdActivate, id, request, options)
  }

  /** `POST /v1/records/{id}/completions`: delivers the work. */
  complete<Name extends TypeName<Types> = TypeName<Types>>(
    id: string,
    request: CompletionRequest<EvidenceOf<Types, Name>>,
    options?: StepOptions,
  ): Promise<api.LedgerRecord> {
    return this.#step(operations.postRecordsByIdCompletions, id, request, options)
  }

  /** `POST /v1/records/{id}/verdict`: accepts or rejects what was delivered. */
  verdict(
    id: string,
    request: api.PostRecordsByIdVerdictBody,
    options?: StepOptions,
  ): Promise<api.LedgerRecord> {
    return this.#step(operations.postRecordsByIdVerdict, id, request, options)
  }

  /** `POST /v1/records/{id}/revision`: asks for the work to be delivered again. */
  requestRevision(
    id: string,
    request: api.PostRecordsByIdRevisionBody,
    options?: StepOptions,
  ): Promise<api.LedgerRecord> {
    return this.#step(operations.postRecordsByIdRevision, id, request, options)
  }

  /** `POST /v1/records/{id}/cancel`: calls off what is not delivered. */
  cancel(
    id: string,
    request: api.PostRecordsByIdCancelBody,
    options?: StepOptions,
  ): Promise<api.LedgerRecord> {
    return this.#step(operations.postRecordsByIdCancel, id, request, options)
  }

  /** `POST /v1/records/{id}/overturn`: turns a rejection into an acceptance. */
  overturn(
    id: string,
    request: api.PostRecordsByIdOverturnBody,
    options?: StepOptions,
  ): Promise<api.LedgerRecord> {
    return this.#step(operations.postRecordsByIdOverturn, id, request, options)
  }

  /** `POST /v1/records/{id}/share`: shares a gated record with peers, for good. */
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
   * `GET /v1/records/{id}`. `wait`: for so many seconds at most, 20 or less, the server holds the answer back while the worker alone
   * can take the record's next step.
   */
  get(
    id: string,
    { peer, wait, ...options }: ReadOptions & { readonly wait?: number | undefined } = {},
  ): Promise<api.LedgerRecord> {
    return this.#http.json(operations.getRecordsById, {
      params: { id },
      query: { peer, wait },
      options,
      heldMs: 1_000 * (wait ?? 0),
    })
  }

  /**
   * The record as soon as it is in one of the states, as a principal waits for the worker's verification: the server answers when the
   * record moves. `timeoutMs` (by default 60 s) is for all of it. Throws TallystickError when the time is up, or when the
   * record can't come into any of them, because it has ended.
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
          `${id} has ended as ${record.state}, and never becomes ${states.join(' or ')}`,
        )
      const leftMs = deadline - Date.now()
      if (leftMs <= 0)
        throw new TallystickError(
          `${id} is still ${record.state} after ${timeoutMs} ms, not ${states.join(' or ')}; next can be: ${record.nextEvents.join(', ')}`,
          { retryable: true },
        )
      // Tenths of a second.
      const heldMs = Math.min(WAIT_MS_MAX, 100 * Math.ceil(leftMs / 100))
      const moved = await this.#http.jsonIfMoved<api.LedgerRecord>(operations.getRecordsById, {
        params: { id },
        query: { peer, wait: heldMs / 1_000 },
        options,
        knownVersion: record.version,
        heldMs,
      })
      if (moved === null) await sleep(PAUSE_MS, options.signal)
      record = moved ?? record
    }
  }

  /** `GET /v1/records`: newest first, unless `order` says otherwise. With `type`, payloads have its shape. */
  list<Name extends TypeName<Types>>(
    query: RecordsQuery & { readonly type: Name },
    options?: CallOptions,
  ): Listing<RecordOf<PayloadOf<Types, Name>>>
  list(query?: RecordsQuery, options?: CallOptions): Listing<api.LedgerRecord>
  list(query: RecordsQuery = {}, options?: CallOptions): Listing<api.LedgerRecord> {
    return this.#http.list(operations.getRecords, { query, options })
  }

  /** `GET /v1/records/{id}/entries`: the record's own entries, oldest first, with the documents of its steps. */
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

  /** `GET /v1/records/{id}/tree`: the record, its ancestors, and a page of its children. */
  tree(
    id: string,
    query: api.GetRecordsByIdTreeQuery = {},
    options?: CallOptions,
  ): Promise<api.GetRecordsByIdTreeAnswer> {
    return this.#http.json(operations.getRecordsByIdTree, { params: { id }, query, options })
  }

  /**
   * `GET /v1/records/{id}/proof`: proves the record's first entry, or the one at `seq`, to somebody who has nothing
   * else. Waits some seconds for a checkpoint that covers it.
   */
  proof(
    id: string,
    query: api.GetRecordsByIdProofQuery = {},
    options?: CallOptions,
  ): Promise<api.GetRecordsByIdProofAnswer> {
    return this.#http.json(operations.getRecordsByIdProof, { params: { id }, query, options })
  }

  /**
   * `GET /v1/records/{id}/receipt`: the entry with its COSE receipt, one file that verifies alone (`verify.receipt`). With
   * `statement: 'false'` the receipt alone. Waits some seconds for a checkpoint that covers it.
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

  /** `DELETE /v1/records/{id}/payload`: not to be undone. `remaining` of the answer names what else there is to erase. */
  erasePayload(
    id: string,
    request: api.DeleteRecordsByIdPayloadBody,
    options?: WriteOptions,
  ): Promise<api.DeleteRecordsByIdPayloadAnswer> {
    return this.#http.json(operations.deleteRecordsByIdPayload, { params: { id }, body: request, options })
  }

  /** `DELETE /v1/records/{id}/completions/{completion}/evidence`: not to be undone. */
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

  /** `DELETE /v1/records/{id}/completions/{completion}/values`: not to be undone. */
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

  /** `DELETE /v1/records/{id}/entries/{seq}/reason`: not to be undone. */
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
