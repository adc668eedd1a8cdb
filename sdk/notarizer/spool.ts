import type { TallystickError } from '../errors.ts'
import type { Problem } from '../generated/api.ts'
import type { Item } from './items.ts'

/**
 * Records of one request, with its idempotency key. Segments with the same key are parts of one request that a proxy
 * or firewall refused.
 */
export type Segment = { readonly idempotencyKey: string; readonly items: readonly Item[] }

/** Problem of a record that a proxy or firewall in front of the server refused. */
export type ForeignProblem = Pick<Problem, 'type' | 'title' | 'status' | 'detail'>

/** An item that the server will never accept, with the reason and the idempotency key of its request. */
export type Refused = {
  readonly item: Item
  readonly problem: Problem | ForeignProblem
  readonly idempotencyKey: string
}

/** The agent whose records the spool contains. */
export type SpoolOwner = { readonly ledger: string; readonly agent: string }

/**
 * Stores records until they are in the ledger: in memory, or on a disk (`openSpool` of `@tallystick/sdk/spool`).
 *
 * For a batch the calls are, in this order: `begin`, `append`, `seal`, `read`, possibly `replace`, and `remove`. When
 * `begin` or `append` has returned, the record MUST be stored as durably as the spool promises. If they throw, the
 * record was not accepted.
 */
export type Spool = {
  /** Maps handles of records to their ids, so that later records can name them as parents. */
  readonly handles: Handles
  /** True if the contents survive the process, so that another process may send them. */
  readonly isDurable: boolean
  /** True if an item of the largest size would be accepted. */
  readonly hasRoom: boolean
  /** Current size of the contents in bytes. The limit is `bytesMax`. */
  readonly usedBytes: number
  readonly bytesMax: number
  /**
   * Returns the batches that earlier processes left, oldest first. `errors` contains one error for each batch that
   * could not be read. Call it only once.
   */
  recover(): SpoolContents
  /**
   * Takes batches of other processes from the inbox, oldest first, while there is room. Absent if the spool has no
   * inbox.
   */
  adopt?(): Promise<SpoolContents>
  /**
   * Called before anything is sent. Rejects with SpoolError if the spool contains records of another owner. Absent if
   * the spool can never contain such records.
   */
  claim?(owner: SpoolOwner): Promise<void>
  begin(idempotencyKey: string, item: Item, bytes: number): SpooledBatch
  /** Stores refused records, so that people can read them. After a crash the same records may be stored twice. */
  refuse(refused: readonly Refused[]): Promise<void>
  /** Releases the spool for other processes. */
  close(): Promise<void>
}

export type SpoolContents = {
  readonly batches: readonly SpooledBatch[]
  readonly errors: readonly TallystickError[]
}

/** Maps handles to the ids of their records. Stores the HANDLES_MAX newest handles. */
export type Handles = {
  find(handle: string): string | undefined
  /**
   * Stores handles with their ids. Called before the batch is removed. If the process crashes before this call, the
   * next process sends the batch again and gets the same ids.
   */
  keep(found: readonly RecordHandle[]): Promise<void>
}

export type RecordHandle = readonly [handle: string, id: string]

export type SpooledBatch = {
  readonly records: number
  append(item: Item, bytes: number): void
  /** Called when the batch gets no more items. */
  seal(): void
  /** Returns the segments to send, in this order. After a crash it returns the same segments. */
  read(): Promise<readonly Segment[]>
  /** Replaces all segments of a batch atomically, after `read`. */
  replace(segments: readonly Segment[]): Promise<void>
  remove(): Promise<void>
}
