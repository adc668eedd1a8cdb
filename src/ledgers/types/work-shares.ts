import { ApiError } from '../../errors.ts'
import {
  SCHEMA_WORK_AHEAD_MS_MAX,
  SCHEMA_WORK_LEDGERS_SWEPT_FROM,
  SCHEMA_WORK_SHARE,
  SCHEMA_WORK_WAITING_PER_LEDGER_MAX,
} from './limits.ts'

type Account = {
  /** Time up to which the ledger has used its share. Each ms of work moves this time by 1 / SCHEMA_WORK_SHARE ms. */
  paidUntilMs: number
  readonly waiting: (() => void)[]
}

/**
 * Limits the time that the types of one ledger take. Compiling and validating run on the event loop. Only long
 * validations run in threads. Each piece of work is short, because its steps are limited. But a ledger could start many
 * pieces. So the schemas of a ledger get a share of one core's time. If a ledger uses more, only its own requests wait.
 * A ledger that uses less than its share never waits.
 */
export class WorkShares {
  readonly #clock: () => number
  readonly #accounts = new Map<string, Account>()
  #figures = { waiting: 0, delayed: 0, refused: 0, ms: 0 }

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
  }

  /**
   * `waiting`: number of pieces of work that wait now. The other figures are totals since the process began: `delayed`
   * and `refused` are numbers of pieces of work, and `ms` is the time of all work.
   */
  get figures(): Readonly<Record<'waiting' | 'delayed' | 'refused' | 'ms', number>> {
    return this.#figures
  }

  /**
   * Runs `work`, at once or, if the ledger has used up its share, later. Throws `overloaded` if too much work of the
   * ledger is already waiting.
   */
  run<T>(ledger: string, work: () => T): T | Promise<T> {
    const account = this.#accountOf(ledger)
    if (account.waiting.length === 0 && this.#waitMs(account) <= 0) return this.#charged(account, work)
    if (account.waiting.length >= SCHEMA_WORK_WAITING_PER_LEDGER_MAX) {
      this.#figures.refused++
      throw new ApiError(
        'overloaded',
        'validations for this ledger took more than its share of the time: nothing was written',
        {
          retryable: true,
          retryAfterMs: 1000,
        },
      )
    }
    this.#figures.delayed++
    this.#figures.waiting++
    return new Promise<T>((resolve, reject) => {
      account.waiting.push(() => {
        this.#figures.waiting--
        try {
          resolve(this.#charged(account, work))
        } catch (error) {
          reject(error)
        }
      })
      if (account.waiting.length === 1) this.#wake(account)
    })
  }

  /** Charges the ledger for `ms` of work that has just ended elsewhere, for example in a thread. */
  charge(ledger: string, ms: number): void {
    this.#charge(this.#accountOf(ledger), this.#clock() - ms, ms)
  }

  #charged<T>(account: Account, work: () => T): T {
    const begunMs = this.#clock()
    try {
      return work()
    } finally {
      this.#charge(account, begunMs, this.#clock() - begunMs)
    }
  }

  #charge(account: Account, begunMs: number, ms: number): void {
    this.#figures.ms += ms
    account.paidUntilMs = Math.max(account.paidUntilMs, begunMs) + ms / SCHEMA_WORK_SHARE
  }

  #waitMs(account: Account): number {
    return account.paidUntilMs - this.#clock() - SCHEMA_WORK_AHEAD_MS_MAX
  }

  /**
   * Runs as many waiting pieces of work in one slice as the share allows. If only one piece ran in each slice, many
   * small pieces would wait too long when the event loop is busy.
   */
  #wake(account: Account): void {
    setTimeout(
      () => {
        while (account.waiting.length > 0 && this.#waitMs(account) <= 0) account.waiting.shift()!()
        if (account.waiting.length > 0) this.#wake(account)
      },
      Math.max(1, this.#waitMs(account)),
    )
  }

  #accountOf(ledger: string): Account {
    let account = this.#accounts.get(ledger)
    if (!account) {
      if (this.#accounts.size >= SCHEMA_WORK_LEDGERS_SWEPT_FROM) this.#sweep()
      account = { paidUntilMs: 0, waiting: [] }
      this.#accounts.set(ledger, account)
    }
    return account
  }

  #sweep(): void {
    const now = this.#clock()
    for (const [ledger, { paidUntilMs, waiting }] of this.#accounts)
      if (paidUntilMs <= now && waiting.length === 0) this.#accounts.delete(ledger)
  }
}
