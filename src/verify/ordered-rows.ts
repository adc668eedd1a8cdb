import { contradiction } from '../db/evidence/contradiction.ts'
import type { ProofError } from '../proof/error.ts'

/** Rows of one table in the order of the entries that explain them, taken entry by entry. */
export class OrderedRows<T extends { seq: number }> {
  readonly #table: string
  readonly #rows: AsyncIterator<T>
  #next: T | null = null
  #started = false

  constructor(table: string, rows: AsyncIterable<T>) {
    this.#table = table
    this.#rows = rows[Symbol.asyncIterator]()
  }

  /** Whether the entry at `seq` has none, as far as is known without waiting. */
  isBehind(seq: number): boolean {
    return this.#started && (this.#next === null || this.#next.seq > seq)
  }

  /** The rows of the entry at `seq`. Throws if a row before it was nobody's: no entry explains it. */
  async take(seq: number): Promise<T[]> {
    if (!this.#started) await this.#advance()
    const taken: T[] = []
    while (this.#next && this.#next.seq <= seq) {
      if (this.#next.seq < seq) throw this.#unexplained(this.#next)
      taken.push(this.#next)
      await this.#advance()
    }
    return taken
  }

  /** Throws if there is a row left. */
  async finish(): Promise<void> {
    if (!this.#started) await this.#advance()
    if (this.#next) throw this.#unexplained(this.#next)
  }

  async #advance(): Promise<void> {
    this.#started = true
    const { value, done } = await this.#rows.next()
    this.#next = done ? null : value
  }

  #unexplained(row: T): ProofError {
    return contradiction(`${this.#table}: a row says that it is of seq ${row.seq}, where there is no entry`)
  }
}
