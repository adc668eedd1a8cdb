import type { VolumeFacts } from '../../src/db/schema/preflight-volume.ts'
import { type Finding, fail, ok, skip, warn } from './finding.ts'
import { PREFLIGHT_DISK_FAIL_DAYS, PREFLIGHT_DISK_WARN_DAYS } from './limits.ts'
import { bytesText, countText } from './text.ts'

const DAY_MS = 86_400_000
/** With fewer records, the first pages of empty tables and indexes would be most of it. */
const RECORDS_MEASURED_MIN = 1_000
/**
 * Measured with payloads of 400 bytes, all tables and indexes: records of one request each take 1,919 bytes, 2,206 with an
 * idempotency key; those of batches of 100 take 781, of 1,000 take 756. What one plans with should be the most.
 */
export const RECORD_BYTES_PLANNED = 2_200
const YEARS_SHOWN_MAX = 100

export type Capacity = {
  readonly bytesPerRecord: number
  /** Whether this database was measured; otherwise planned. */
  readonly isMeasured: boolean
  readonly recordsPerDay: number | null
  readonly bytesPerDay: number | null
  readonly freeBytes: number | null
  /** Kept for the log, which grows up to max_wal_size. */
  readonly logBytes: number
  readonly daysToFull: number | null
  readonly fullAt: string | null
}

export type CapacityInput = {
  readonly volume: VolumeFacts | null
  readonly freeBytes: number | null
  readonly maxWalBytes: number
  /** Rate that the user plans with; null: the past rate. */
  readonly recordsPerDay: number | null
  readonly nowMs: number
}

/** docs/preflight.md has the formula. */
export function planCapacity(input: CapacityInput): Capacity {
  const { volume, freeBytes, maxWalBytes: logBytes, nowMs } = input
  const isMeasured = volume !== null && volume.records >= RECORDS_MEASURED_MIN
  const bytesPerRecord = isMeasured ? volume.bytes / volume.records : RECORD_BYTES_PLANNED
  const recordsPerDay = input.recordsPerDay ?? (volume === null ? null : recordsPerDayOf(volume))
  const bytesPerDay = recordsPerDay === null ? null : recordsPerDay * bytesPerRecord
  const daysToFull =
    freeBytes === null || bytesPerDay === null || bytesPerDay === 0
      ? null
      : Math.max(0, freeBytes - logBytes) / bytesPerDay
  const isNear = daysToFull !== null && daysToFull < YEARS_SHOWN_MAX * 365
  return {
    bytesPerRecord,
    isMeasured,
    recordsPerDay,
    bytesPerDay,
    freeBytes,
    logBytes,
    daysToFull,
    fullAt: isNear ? new Date(nowMs + daysToFull * DAY_MS).toISOString() : null,
  }
}

/** The higher one of day and week: a plan that errs should err to the early side. */
function recordsPerDayOf({ records, entries, entriesPerDay }: VolumeFacts): number | null {
  if (entriesPerDay === null) return null
  return Math.max(entriesPerDay.lastDay, entriesPerDay.lastWeek) * (records / entries)
}

export function judgeCapacity(capacity: Capacity, volume: VolumeFacts | null): Finding[] {
  return [judgeRecordSize(capacity, volume), judgeDisk(capacity)]
}

function judgeRecordSize({ bytesPerRecord, isMeasured }: Capacity, volume: VolumeFacts | null): Finding {
  const size = `${countText(bytesPerRecord)} bytes on disk`
  if (isMeasured && volume !== null) {
    const counted = `${volume.isCounted ? '' : 'about '}${countText(volume.records)}`
    return ok('record size', `${size} (${bytesText(volume.bytes)}, ${counted} records)`)
  }
  const why =
    volume === null ? 'what is stored here cannot be seen' : 'there are too few records here to measure'
  return ok('record size', `${size} planned, for payloads of 400 bytes: ${why}`)
}

function judgeDisk(capacity: Capacity): Finding {
  const { freeBytes, logBytes, recordsPerDay, bytesPerDay, daysToFull, fullAt } = capacity
  if (freeBytes === null)
    return skip('disk', 'how much of it is free cannot be seen from here', 'say it: --disk-free 100GiB')
  const free = `${bytesText(freeBytes)} free, ${bytesText(logBytes)} of it for the log`
  if (freeBytes <= logBytes) return fail('disk', free, 'the next burst fills it: make it larger')
  if (recordsPerDay === null || bytesPerDay === null)
    return skip(
      'disk',
      `${free}; how much is written a day is not known yet`,
      'say what will be: --records-per-day 1000000',
    )
  const rate = `${countText(recordsPerDay)} records (${bytesText(bytesPerDay)}) a day`
  if (daysToFull === null) return ok('disk', `${free}; ${rate}`)
  const when =
    fullAt === null
      ? `for more than ${YEARS_SHOWN_MAX} years`
      : `for ${days(daysToFull)}, until ${fullAt.slice(0, 10)}`
  const detail = `${free}; ${rate}: enough ${when}`
  const advice = 'make it larger: a full disk stops every write, and Postgres with it'
  if (daysToFull < PREFLIGHT_DISK_FAIL_DAYS) return fail('disk', detail, advice)
  if (daysToFull < PREFLIGHT_DISK_WARN_DAYS) return warn('disk', detail, advice)
  return ok('disk', detail)
}

function days(count: number): string {
  const rounded = count < 10 ? Number(count.toFixed(1)) : Math.floor(count)
  return `${rounded.toLocaleString('en')} ${rounded === 1 ? 'day' : 'days'}`
}
