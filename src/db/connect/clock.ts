import { CLOCK_ERROR_MS_MAX, CLOCK_MEASURE_EVERY_MS, CLOCK_SAMPLES, CLOCK_SKEW_WARN_MS } from '../limits.ts'
import type { Db } from './client.ts'

/**
 * Difference between another clock and this machine's clock. `aheadMs` is the time of the other clock minus the time of
 * this machine's clock. The true difference is within `errorMs` of `aheadMs`.
 */
export type ClockOffset = { readonly aheadMs: number; readonly errorMs: number }

/** Resolution of `Date.now()` in ms. `Date.now()` rounds down, so its value may be too small by up to this time. */
const TICK_MS = 1

/**
 * Reads the database's clock `samples` times, and returns the offset of the quickest reading.
 *
 * The error is at most half the round trip and half a tick. Throws the errors of the database.
 */
export async function measureClock(db: Db, now: () => number, samples: number): Promise<ClockOffset> {
  let best: ClockOffset | null = null
  for (let i = 0; i < samples; i++) {
    const sentMs = now() + TICK_MS / 2
    const beganAt = performance.now()
    const theirMs = await readClock(db)
    const tookMs = performance.now() - beganAt
    const errorMs = tookMs / 2 + TICK_MS / 2
    if (best === null || errorMs < best.errorMs) best = { aheadMs: theirMs - (sentMs + tookMs / 2), errorMs }
  }
  return best!
}

async function readClock(db: Db): Promise<number> {
  const { rows } = await db.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  )
  return rows[0]!.ms
}

type ClockLog = {
  warn(details: object, message: string): void
  info(details: object, message: string): void
}

/**
 * The database's time, measured every CLOCK_MEASURE_EVERY_MS.
 *
 * Between measurements the time advances with this machine's monotonic clock. So a wrong clock of this machine, or its
 * correction, does not change the times that the process signs and sends.
 */
export class DatabaseClock {
  readonly #db: Db
  readonly #log: ClockLog
  readonly #localNow: () => number
  /** The database's time in ms at the moment when `performance.now()` was 0. */
  #originMs = 0
  #isOff = false
  #timer: NodeJS.Timeout | null = null

  private constructor(db: Db, log: ClockLog, localNow: () => number) {
    this.#db = db
    this.#log = log
    this.#localNow = localNow
  }

  /**
   * Makes a clock and measures once. The clock measures again until `close` is called. Throws the error of the database
   * if the first measurement fails.
   */
  static async start(db: Db, log: ClockLog, localNow: () => number = Date.now): Promise<DatabaseClock> {
    const clock = new DatabaseClock(db, log, localNow)
    clock.#take(await clock.#measureOrigin())
    clock.#timer = setInterval(() => void clock.#measureAgain(), CLOCK_MEASURE_EVERY_MS)
    clock.#timer.unref()
    return clock
  }

  readonly now = (): number => Math.floor(this.#originMs + performance.now())

  /** The time of this machine's clock minus the database's time, in ms. */
  get skewMs(): number {
    return this.#localNow() - this.now()
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }

  #measureOrigin(): Promise<ClockOffset> {
    return measureClock(this.#db, () => performance.now(), CLOCK_SAMPLES)
  }

  /** Measures again. If the database is unreachable or slow, the previous measurement stays in use. */
  async #measureAgain(): Promise<void> {
    const measured = await this.#measureOrigin().catch(() => null)
    if (measured !== null && measured.errorMs <= CLOCK_ERROR_MS_MAX) this.#take(measured)
  }

  #take({ aheadMs }: ClockOffset): void {
    this.#originMs = aheadMs
    const isOff = Math.abs(this.skewMs) > CLOCK_SKEW_WARN_MS
    if (isOff === this.#isOff) return
    this.#isOff = isOff
    const details = { skewSeconds: Math.round(this.skewMs / 100) / 10 }
    if (isOff)
      this.#log.warn(
        details,
        "this machine's clock differs from the database's: set it. Until then the database's clock is used",
      )
    else this.#log.info(details, "this machine's clock agrees with the database's again")
  }
}
