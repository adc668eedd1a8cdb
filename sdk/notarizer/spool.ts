import type { TallystickError } from '../errors.ts'
import type { Problem } from '../generated/api.ts'
import type { Item } from './items.ts'

/**
 * Records that are sent in one request, and the key with which that can be repeated. Segments with the same key are parts of one
 * that something before the server refused.
 */
export type Segment = { readonly idempotencyKey: string; readonly items: readonly Item[] }

/** Problem of a record that something before the server refused. */
export type ForeignProblem = Pick<Problem, 'type' | 'title' | 'status' | 'detail'>

/** Item that will never be taken, why, and in which request it was. */
export type Refused = {
  readonly item: Item
  readonly problem: Problem | ForeignProblem
  readonly idempotencyKey: string
}

/** Owner of a spool's records. */
export type SpoolOwner = { readonly ledger: string; readonly agent: string }

/**
 * Where records wait until they are recorded: in memory, or on a disk (`openSpool` of `@tallystick/sdk/spool`).
 *
 * A batch is begun, appended to, sealed, read, perhaps replaced, and removed, in this order. A record for which `begin`
 * or `append` has returned MUST survive all that the spool promises to survive. If they throw, nothing was taken.
 */
export type Spool = {
  /** Ids of records that others name as parents by their handles. */
  readonly handles: Handles
  /** Whether its contents survive the process: another one may send them. */
  readonly isDurable: boolean
  /** Whether an item of the largest size is sure to be taken. */
  readonly hasRoom: boolean
  /** How much it holds, and may hold. */
  readonly usedBytes: number
  readonly bytesMax: number
  /**
   * Takes over what earlier processes left behind, oldest first, with the first call; errors are about what could not be taken
   * over.
   */
  recover(): Found
  /** Moves batches of other processes out of its inbox, oldest first, as far as there is room. Absent: it has none. */
  adopt?(): Promise<Found>
  /** Before anything is sent: rejects with SpoolError when it holds what is another's. Absent: it never can. */
  claim?(owner: SpoolOwner): Promise<void>
  /** A new batch, with its first item. */
  begin(idempotencyKey: string, item: Item, bytes: number): SpooledBatch
  /** Keeps what was refused, for people; after a crash it may stand there twice. */
  refuse(refused: readonly Refused[]): Promise<void>
  /** Lets another process have it. */
  close(): Promise<void>
}

export type Found = { readonly batches: readonly SpooledBatch[]; readonly errors: readonly TallystickError[] }

/** Ids of the newest HANDLES_MAX records with a handle. */
export type Handles = {
  find(handle: string): string | undefined
  /** Before their batch is removed: after a crash it is sent again, and answered with the same ids. */
  keep(found: readonly RecordHandle[]): Promise<void>
}

export type RecordHandle = readonly [handle: string, id: string]

export type SpooledBatch = {
  /** Items that it holds. */
  readonly records: number
  append(item: Item, bytes: number): void
  /** No more items come. */
  seal(): void
  /** Segments to send, one after the other: from here on they are the same after a crash. */
  read(): Promise<readonly Segment[]>
  /** Replaces the segments of a batch that was read, all of them or none. */
  replace(segments: readonly Segment[]): Promise<void>
  remove(): Promise<void>
}
