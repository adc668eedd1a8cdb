/** Runs tasks one after another. If a task fails, only its own caller gets the error. */
export class SerialTasks {
  #last: Promise<unknown> = Promise.resolve()

  /** Resolves when all tasks that were passed to `do` so far have ended. */
  get over(): Promise<unknown> {
    return this.#last
  }

  do<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }
}
