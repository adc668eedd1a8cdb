import type { OtherMembers } from '../../src/proof/statement/record-members.ts'
import { type TallystickError, UsageError } from '../errors.ts'
import type { Batch } from '../resources/batches.ts'
import { ITEM_BYTES_MAX } from './items.ts'
import type { Spool } from './spool.ts'

export type NotarizerOptions = {
  /** Absent: records wait in memory, and end with the process. */
  readonly spool?: Spool | undefined
  /** 1 to 2000, by default 1000. */
  readonly recordsPerBatchMax?: number | undefined
  /** How long a batch waits for more than its first record; 20 by default. Longer while others are under way. */
  readonly lingerMs?: number | undefined
  /**
   * Batches under way at a time. With more than one, the default, the ledger's order may differ from that of `record`.
   */
  readonly inFlightMax?: number | undefined
  /** Without a spool: how much waits in memory, 20 000 records and 32 MiB by default. */
  readonly bufferedRecordsMax?: number | undefined
  readonly bufferedBytesMax?: number | undefined
  /** Before a retry: 100 and 10 000 by default. The number of retries has no bound. */
  readonly delayMsMin?: number | undefined
  readonly delayMsMax?: number | undefined
  /** Before a retry of what only people can mend, such as a revoked key: 30 000 by default. */
  readonly blockedDelayMs?: number | undefined
  /** For the answer to one attempt. */
  readonly timeoutMs?: number | undefined
  /** Records are in the ledger. From a spool this may be said again after a crash. */
  readonly onRecorded?: ((batch: RecordedBatch) => unknown) | undefined
  /** The server, or something before it, will never take this record. Absent: it is written to the console. */
  readonly onRefused?: ((record: RefusedRecord, error: TallystickError) => unknown) | undefined
  /**
   * Hears of failures. Everything is kept, and tried again; `error.retryable`: without anybody's help. Absent: the first is
   * written to the console.
   */
  readonly onError?: ((error: TallystickError) => unknown) | undefined
}

/** `records` in the order of `record`; `tag` as given there. */
export type RecordedBatch = Pick<Batch, 'batch' | 'entry'> & {
  readonly records: readonly (Batch['records'][number] & { readonly tag?: string | undefined })[]
}

/** As it was sent. */
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
  /** Taken, and neither recorded nor refused yet. */
  readonly buffered: number
  /** Bytes in memory, or in the spool. */
  readonly bufferedBytes: number
  /** Batches under way. */
  readonly inFlight: number
  /** Since this notarizer began. */
  readonly recorded: number
  readonly refused: number
  /** Attempts that failed. */
  readonly failures: number
  /** Error that keeps the oldest batch from being recorded at the moment. */
  readonly lastError: TallystickError | null
}

type Numbers = Required<{
  [Name in keyof NotarizerOptions as NonNullable<NotarizerOptions[Name]> extends number
    ? Name
    : never]: number
}>

/**
 * Name → default, least, most.
 *
 * One batch in flight keeps the ledger in the order of `record`, which is what a ledger is read in; so it is the default. It reaches 96 % of a
 * load that only sends with one batch in flight too (16,390 records/s of 17,090, the same with a spool), and 67 % of one with two
 * (24,580): server and Postgres then wait for each other. Two in flight: 99 %, with a spool 83 % (docs/BENCHMARKS.md).
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

/** Throws UsageError for what is outside of its range. */
export function parseLimits(options: NotarizerOptions): Limits {
  const limits: Record<string, number> = {}
  for (const [name, [usual, min, max]] of Object.entries(NUMBERS)) {
    const value = options[name as keyof Limits] ?? usual
    if (!(Number.isInteger(value) && value >= min && value <= max))
      throw new UsageError(`${name} is a whole number from ${min} to ${max}`)
    limits[name] = value
  }
  return limits as Limits
}
