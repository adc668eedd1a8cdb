/**
 * Requests that may be under way at a time, of all lanes of a process.
 *
 * A lane may never have more of them than are left. Else endpoints that answer well but late, a hundred of one tenant, took all of
 * them, and who has one gets the next one, because it asks first.
 */
export class Permits {
  readonly #most: number
  #left: number

  constructor(most: number) {
    this.#most = most
    this.#left = most
  }

  get taken(): number {
    return this.#most - this.#left
  }

  /** `held`: by the lane that asks. */
  tryTake(held: number): boolean {
    if (held >= this.#left) return false
    this.#left--
    return true
  }

  release(): void {
    this.#left++
  }
}
