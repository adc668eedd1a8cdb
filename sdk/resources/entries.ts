import { UsageError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import { type CallInfo, wrongServer } from '../http/answers.ts'
import { Retries, sleep } from '../http/retries.ts'
import { linesOf, wholeExport } from '../http/streams.ts'
import type { CallOptions, Transport } from '../http/transport.ts'
import { COSE, RECEIPT_QUERY } from './receipts.ts'

export type EntryProof = api.GetEntriesBySeqProofAnswer

export type EntryStreamOptions = CallOptions & {
  /** Seq after which the stream begins. Default: the stream begins with the first entry. */
  readonly after?: number | undefined
  /** Maximum number of entries. Default: all entries. */
  readonly limit?: number | undefined
  /**
   * If true, the stream waits for new entries at the end of the ledger, until `signal` aborts. Default: the stream ends
   * there.
   */
  readonly follow?: boolean | undefined
}

export type ExportRequest = api.PostExportsBody

const POLL_MS_MIN = 250
const POLL_MS_MAX = 2_000
const NDJSON = 'application/x-ndjson'

export class Entries {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * Streams entries in order, each once: `GET /v1/entries`.
   *
   * After a lost connection the stream resumes after the last entry that it yielded. `retriesMax` limits the number of
   * consecutive failures. Nothing is verified here; `verify` checks entries. Throws UsageError for invalid options, and
   * the last error when no retries are left.
   */
  async *stream({
    after = -1,
    limit = Number.POSITIVE_INFINITY,
    follow = false,
    ...options
  }: EntryStreamOptions = {}): AsyncGenerator<api.EntryLine, void, undefined> {
    if (!(Number.isSafeInteger(after) && after >= -1 && limit >= 0))
      throw new UsageError(
        '`after` must be a seq, or -1 for all entries, and `limit` must be a number of entries',
      )
    const retries = new Retries(this.#http.retriesOf(options), options.signal)
    const end = after + 1 + limit
    let seq = after + 1
    for (let pollMs = POLL_MS_MIN; seq < end; ) {
      const from = seq
      try {
        for await (const entry of this.#read(seq, end, options)) {
          seq++
          retries.reset()
          yield entry
        }
        retries.reset()
      } catch (error) {
        await retries.before(error)
        continue
      }
      if (!follow || seq >= end) return
      pollMs = seq > from ? POLL_MS_MIN : Math.min(POLL_MS_MAX, pollMs * 1.5)
      await sleep(pollMs, options.signal)
    }
  }

  /** Yields the entries of one answer. */
  async *#read(from: number, end: number, options: CallOptions): AsyncGenerator<api.EntryLine> {
    const query = {
      after: from === 0 ? undefined : from - 1,
      limit: Number.isFinite(end) ? end - from : undefined,
    }
    // `stream` does the retries.
    const once = { ...options, retriesMax: 0 }
    const lines = await this.#http.stream(operations.getEntries, NDJSON, { query, options: once })
    let seq = from
    for await (const line of linesOf(lines, ASKED)) {
      const entry = parseEntry(line)
      if (entry?.seq !== seq)
        throw wrongServer(`${ASKED.name} answered with something else than entry ${seq}`)
      yield entry
      seq++
      if (seq >= end) return
    }
  }

  /**
   * Returns the seq of the first of `size` entries that was recorded at `ms` (milliseconds since 1970) or later.
   * Returns `size` if there is no such entry. Reads about log2(size) entries. The clocks of servers may differ by a
   * minute, so entries near `ms` may be on the wrong side of the result.
   */
  async firstSince(ms: number, size: number, options: CallOptions = {}): Promise<number> {
    let [low, high] = [0, size]
    while (low < high) {
      const middle = low + Math.floor((high - low) / 2)
      let recordedAtMs = 0
      for await (const { recordedAt } of this.stream({ ...options, after: middle - 1, limit: 1 }))
        recordedAtMs = Date.parse(recordedAt)
      if (recordedAtMs < ms) low = middle + 1
      else high = middle
    }
    return low
  }

  /**
   * Returns the proof of an entry: `GET /v1/entries/{seq}/proof`. Waits some seconds for a checkpoint that covers the
   * entry.
   */
  proof(seq: number, query: api.GetEntriesBySeqProofQuery = {}, options?: CallOptions): Promise<EntryProof> {
    return this.#http.json(operations.getEntriesBySeqProof, { params: { seq }, query, options })
  }

  /** Returns a COSE receipt like `records.receipt`, but names the entry by its seq: `GET /v1/entries/{seq}/receipt`. */
  receipt(
    seq: number,
    query: api.GetEntriesBySeqReceiptQuery = {},
    options?: CallOptions,
  ): Promise<Uint8Array> {
    return this.#http.bytes(operations.getEntriesBySeqReceipt, COSE, {
      params: { seq },
      query: { ...RECEIPT_QUERY, ...query },
      options,
    })
  }
}

const ASKED: CallInfo = { name: 'GET /v1/entries', idempotencyKey: null, repeatable: true }

function parseEntry(line: string): api.EntryLine | null {
  try {
    return JSON.parse(line) as api.EntryLine | null
  } catch {
    return null
  }
}

/** Exports of the whole ledger, for `verify` and for archives. */
export class Exports {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * Records who exports what, before the export is read: `POST /v1/exports`. The command line does this. Without this
   * call, an export leaves no entry. Throws if the ledger accepts no entries. Such a ledger can still be exported
   * without this call.
   */
  announce(request: ExportRequest, options?: CallOptions): Promise<api.PostExportsAnswer> {
    return this.#http.json(operations.postExports, { body: request, options, unretried: ['ledger_moving'] })
  }

  /**
   * Streams the export as NDJSON (docs/formats/export.md): `GET /v1/export`. If the connection breaks, the stream ends
   * with an error, and the export must be started again.
   */
  async stream(options?: CallOptions): Promise<ReadableStream<Uint8Array>> {
    const stream = await this.#http.stream(operations.getExport, NDJSON, { options })
    return stream.pipeThrough(wholeExport({ ...ASKED, name: 'GET /v1/export' }))
  }
}
