import type { TallystickError } from '../errors.ts'
import type { Problem } from '../generated/api.ts'
import type { Item } from './items.ts'

/**
 * Records of one request, with its idempotency key. Segments with the same key are parts of one request that a proxy
 * or firewall refused.
 */
export type Segment = { readonly idempotencyKey: string; readonly items: readonly Item[] }

/** Problem of a record that something before the server refused. */
export type ForeignProblem = Pick<Problem, 'type' | 'title' | 'status' | 'detail'>

/** An item that will never be accepted, with the reason and the key of its request. */
export type Refused = {
  readonly item: Item
  readonly problem: Problem | ForeignProblem
  readonly idempotencyKey: string
}

/** The agent whose records the spool contains. */
export type SpoolOwner = { readonly ledger: string; readonly agent: string }

/**
 * Stores records until they are recorded: in memory, or on a disk (`openSpool` of `@tallystick/sdk/spool`).
 *
 * The calls for a batch are `begin`, `append`, `seal`, `read`, perhaps `replace`, and `remove`, in this order. After
 * `begin` or `append` has returned, the record MUST survive everything that the spool promises to survive. If they
 * throw, the record was not accepted.
 */
export type Spool = {
  /** Ids of records that others name as parents by their handles. */
  readonly handles: Handles
  /** The contents survive the process, so that another process may send them. */
  readonly isDurable: boolean
  /** An item of the largest size would be accepted. */
  readonly hasRoom: boolean
  /** Current size and limit. */
  readonly usedBytes: number
  readonly bytesMax: number
  /**
   * Returns batches that earlier processes left, oldest first. Only the first call is allowed. `errors`: what could
   * not be taken over.
   */
  recover(): SpoolContents
  /**
   * Takes batches of other processes from the inbox, oldest first, as far as there is room. Absent: the spool has no
   * inbox.
   */
  adopt?(): Promise<SpoolContents>
  /**
   * Called before anything is sent. Rejects with SpoolError if the spool contains records of another owner. Absent:
   * it never can.
   */
  claim?(owner: SpoolOwner): Promise<void>
  begin(idempotencyKey: string, item: Item, bytes: number): SpooledBatch
  /** Stores refused records for people. After a crash they may be stored twice. */
  refuse(refused: readonly Refused[]): Promise<void>
  /** Releases the spool for other processes. */
  close(): Promise<void>
}

export type SpoolContents = {
  readonly batches: readonly SpooledBatch[]
  readonly errors: readonly TallystickError[]
}

/** Ids of the newest HANDLES_MAX records with a handle. */
export type Handles = {
  find(handle: string): string | undefined
  /** Called before the batch is removed. After a crash the batch is sent again and gets the same ids. */
  keep(found: readonly RecordHandle[]): Promise<void>
}

export type RecordHandle = readonly [handle: string, id: string]

export type SpooledBatch = {
  readonly records: number
  append(item: Item, bytes: number): void
  /** Called when no more items come. */
  seal(): void
  /** Returns the segments to send, one after another. They are the same after a crash. */
  read(): Promise<readonly Segment[]>
  /** Replaces all segments of a batch atomically, after `read`. */
  replace(segments: readonly Segment[]): Promise<void>
  remove(): Promise<void>
}
