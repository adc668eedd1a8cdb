import type { SpoolError } from '../errors.ts'
import type { Problem } from '../generated/api.ts'
import type { Item } from './items.ts'

/** Records that are sent in one request, and the key with which that can be repeated. */
export type Segment = { readonly idempotencyKey: string; readonly items: readonly Item[] }

/** What the server will never take, why, and in which request it was. */
export type Refused = { readonly item: Item; readonly problem: Problem; readonly idempotencyKey: string }

/** Whose records a spool holds. */
export type SpoolOwner = { readonly ledger: string; readonly agent: string }

/**
 * Where records wait until they are recorded: in memory, or on a disk (`openSpool` of `@tallystick/sdk/spool`).
 *
 * A batch is begun, appended to, sealed, read, perhaps replaced, and removed, in this order. What `begin` and `append` return from
 * MUST survive whatever the spool promises to survive; where they throw, nothing was taken.
 */
export type Spool = {
  /** What it holds survives the process: another one may send it. */
  readonly isDurable: boolean
  /** Whether an item of the largest size is sure to be taken. */
  readonly hasRoom: boolean
  /** How much it holds, and may hold. */
  readonly usedBytes: number
  readonly bytesMax: number
  /** What earlier processes left behind, oldest first. The first call takes it over; errors are about what could not be. */
  recover(): { readonly batches: readonly SpooledBatch[]; readonly errors: readonly SpoolError[] }
  /** Before anything is sent: rejects with SpoolError when it holds what is another's. Absent: it never can. */
  claim?(owner: SpoolOwner): Promise<void>
  /** A new batch, with its first item. */
  begin(idempotencyKey: string, item: Item, bytes: number): SpooledBatch
  /** Keeps what was refused, for people; after a crash it may stand there twice. */
  refuse(refused: readonly Refused[]): Promise<void>
  /** Lets another process have it. */
  close(): Promise<void>
}

export type SpooledBatch = {
  /** Items that it holds. */
  readonly records: number
  append(item: Item, bytes: number): void
  /** No more items come. */
  seal(): void
  /** What is to be sent, one segment after the other: from here on it is the same after a crash. */
  read(): Promise<readonly Segment[]>
  /** Of a batch that was read: other segments instead, all of them or none. */
  replace(segments: readonly Segment[]): Promise<void>
  remove(): Promise<void>
}
