/** Thrown when a validation has used up its steps; `validate` catches it, nobody else sees it. */
export class TooCostly extends Error {}

/**
 * Counts the steps of one validation. A step is about 10 ns of work (5 to 18 measured). A loop over a value or a schema
 * MUST spend before or while it runs, in proportion, because both may be an attacker's.
 */
export class Meter {
  #left: number

  constructor(steps: number) {
    this.#left = steps
  }

  /** Throws TooCostly. */
  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new TooCostly()
  }

  get left(): number {
    return this.#left
  }
}
