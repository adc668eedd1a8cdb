import { contradiction } from '../db/evidence/contradiction.ts'
import type { ProofError } from '../proof/error.ts'

/** Reads the rows of one table in the order of their entries. */
export class OrderedRows<T extends { seq: number }> {
  readonly #table: string
  readonly #rows: AsyncIterator<T>
  #next: T | null = null
  #started = false

  constructor(table: string, rows: AsyncIterable<T>) {
    this.#table = table
    this.#rows = rows[Symbol.asyncIterator]()
  }

  /**
   * Returns true if the entry at `seq` certainly has no rows. Returns false if the next row was not read yet or may
   * belong to the entry.
   */
  isBehind(seq: number): boolean {
    return this.#started && (this.#next === null || this.#next.seq > seq)
  }

  /**
   * Returns the rows of the entry at `seq`. Throws if there is a row of an earlier entry that was not taken, because no
   * entry explains that row.
   */
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

  /** Throws if a row is left, because no entry explains that row. */
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
    return contradiction(`${this.#table}: a row belongs to seq ${row.seq}, but there is no such entry`)
  }
}
