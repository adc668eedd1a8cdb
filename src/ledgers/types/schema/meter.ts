/** Thrown when a validation has used up its steps. Only `validate` catches it. */
export class TooCostly extends Error {}

/**
 * Counts the steps of one validation. A step is about 10 ns of work (5 to 18 ns were measured). A loop over a value or
 * a schema MUST spend a proportional number of steps, before or while it runs, because an attacker may have written the
 * value and the schema.
 */
export class Meter {
  #left: number

  constructor(steps: number) {
    this.#left = steps
  }

  /** Spends steps. Throws TooCostly if too few steps are left. */
  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new TooCostly()
  }

  get left(): number {
    return this.#left
  }
}
