import type { OtherMembers } from '../../src/proof/statement/record-members.ts'
import { type TallystickError, UsageError } from '../errors.ts'
import type { Batch } from '../resources/batches.ts'
import { ITEM_BYTES_MAX } from './items.ts'
import type { Spool } from './spool.ts'

export type NotarizerOptions = {
  /** Storage for waiting records. Default: in memory, where they are lost when the process ends. */
  readonly spool?: Spool | undefined
  /** Maximum number of records in a batch, from 1 to 2000. Default: 1000. */
  readonly recordsPerBatchMax?: number | undefined
  /**
   * Milliseconds that a batch waits for more records after its first record. A batch waits longer while other batches
   * are under way. Default: 20.
   */
  readonly lingerMs?: number | undefined
  /**
   * Maximum number of batches under way at the same time. With more than 1, the ledger's order may differ from the
   * order of `record`. Default: 1.
   */
  readonly inFlightMax?: number | undefined
  /**
   * `bufferedRecordsMax` and `bufferedBytesMax` limit the number and the size of waiting records in memory. Defaults:
   * 20,000 records and 32 MiB.
   */
  readonly bufferedRecordsMax?: number | undefined
  readonly bufferedBytesMax?: number | undefined
  /**
   * `delayMsMin` and `delayMsMax` limit the delay in milliseconds before a retry. The number of retries is unlimited.
   * Defaults: 100 and 10,000.
   */
  readonly delayMsMin?: number | undefined
  readonly delayMsMax?: number | undefined
  /** Milliseconds before a retry after an error that only people can fix, such as a revoked key. Default: 30,000. */
  readonly blockedDelayMs?: number | undefined
  /** Time limit of one attempt in milliseconds. */
  readonly timeoutMs?: number | undefined
  /** Called when records are in the ledger. With a spool, it may be called again for the same records after a crash. */
  readonly onRecorded?: ((batch: RecordedBatch) => unknown) | undefined
  /**
   * Called when the server, or a proxy or firewall in front of it, will never accept this record. Default: writes to
   * the console.
   */
  readonly onRefused?: ((record: RefusedRecord, error: TallystickError) => unknown) | undefined
  /**
   * Called for failed attempts. Every record stays stored and is sent again. `error.retryable` is true if a later
   * attempt may succeed without help of people. Default: the first failure is written to the console.
   */
  readonly onError?: ((error: TallystickError) => unknown) | undefined
}

/** A batch that was recorded. `records` are in the order of `record`, each with its `tag`. */
export type RecordedBatch = Pick<Batch, 'batch' | 'entry'> & {
  readonly records: readonly (Batch['records'][number] & { readonly tag?: string | undefined })[]
}

/** The refused record as it was sent. */
export type RefusedRecord = OtherMembers & {
  readonly type: string
  readonly payload: object
  readonly metadata?: object
  readonly occurredAt: string
  readonly onBehalfOf?: string
  readonly parent?: string
  readonly references?: readonly string[]
  readonly traceparent?: string
  readonly tag?: string
}

export type NotarizerStats = {
  /** Number of accepted records that are neither recorded nor refused yet. */
  readonly buffered: number
  /** Bytes of waiting records, in memory or in the spool. */
  readonly bufferedBytes: number
  readonly inFlight: number
  /** Number of records that were recorded since this notarizer was made. */
  readonly recorded: number
  readonly refused: number
  readonly failures: number
  /**
   * The error that currently prevents the notarizer from recording the oldest batch. null if there is no such error.
   */
  readonly lastError: TallystickError | null
}

type Numbers = Required<{
  [Name in keyof NotarizerOptions as NonNullable<NotarizerOptions[Name]> extends number
    ? Name
    : never]: number
}>

/**
 * Default, minimum and maximum of each option.
 *
 * By default one batch is in flight, because then the ledger has the order of `record`. The notarizer then records
 * 16,390 records/s, with or without a spool. A plain load test records 17,090 records/s with one batch in flight and
 * 24,580 with two: with one batch, server and Postgres wait for each other. With two batches in flight, the notarizer
 * reaches 99 % of the plain load, and 83 % with a spool (docs/BENCHMARKS.md).
 */
const NUMBERS: { readonly [Name in Exclude<keyof Numbers, 'timeoutMs'>]: readonly [number, number, number] } =
  {
    recordsPerBatchMax: [1_000, 1, 2_000],
    lingerMs: [20, 0, 60_000],
    inFlightMax: [1, 1, 16],
    bufferedRecordsMax: [20_000, 1, 10_000_000],
    bufferedBytesMax: [32 * 1024 * 1024, ITEM_BYTES_MAX, 2 ** 32],
    delayMsMin: [100, 1, 3_600_000],
    delayMsMax: [10_000, 1, 3_600_000],
    blockedDelayMs: [30_000, 1, 3_600_000],
  }

export type Limits = Omit<Numbers, 'timeoutMs'>

/** Fills in the defaults. Throws UsageError for a value outside its range. */
export function parseLimits(options: NotarizerOptions): Limits {
  const limits: Record<string, number> = {}
  for (const [name, [usual, min, max]] of Object.entries(NUMBERS)) {
    const value = options[name as keyof Limits] ?? usual
    if (!(Number.isInteger(value) && value >= min && value <= max))
      throw new UsageError(`${name} must be a whole number from ${min} to ${max}`)
    limits[name] = value
  }
  return limits as Limits
}
