/** Does what it is given one after another. A failure is told to its caller alone. */
export class InTurn {
  #last: Promise<unknown> = Promise.resolve()

  /** Fulfilled when nothing that was given so far is under way. */
  get over(): Promise<unknown> {
    return this.#last
  }

  do<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }
}
