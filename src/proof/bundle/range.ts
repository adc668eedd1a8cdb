import type { Sha256 } from '../crypto.ts'
import { ProofError } from '../error.ts'
import type { Checkpoint } from '../tree/checkpoint.ts'
import { extendFrontier, type Frontier, frontierRoot, verifyInclusion } from '../tree/merkle.ts'
import { inclusionRanges } from '../tree/tree-ranges.ts'
import type { BundleRange } from './bundle-lines.ts'

/**
 * Verifies that entries are exactly a range of a signed tree.
 *
 * The hashes of the perfect subtrees before the range (`left`), together with all leaves of the range except the last,
 * give a frontier. The frontier contains those hashes of the last leaf's inclusion path that lie to the left of this
 * leaf. `right` contains the hashes to its right. Both together lead from the last leaf to the root. So no leaf and no
 * hash can be left out, added or exchanged.
 */
export class RangeTree {
  readonly #sha256: Sha256
  readonly #range: BundleRange
  readonly #frontier: Frontier
  #last: Uint8Array | null = null

  constructor(range: BundleRange, sha256: Sha256) {
    this.#sha256 = sha256
    this.#range = range
    this.#frontier = { size: range.from, hashes: [...range.left] }
    // Throws if the number of hashes in `left` does not fit a tree of `from` entries.
    frontierRoot(sha256, this.#frontier)
  }

  verifyCovered({ size }: Checkpoint): void {
    const { to } = this.#range
    if (to >= size)
      throw new ProofError(
        'checkpoint_too_old',
        `the range ends at entry ${to}, but the checkpoint covers only ${size} entries`,
      )
  }

  /**
   * Throws `seq_not_dense` if `seq` skips the next entry of the range. The caller must call this method for every entry
   * of the bundle, before all other checks.
   */
  verifyOrder(seq: number): void {
    const next = this.#next()
    if (next <= this.#range.to && seq > next)
      throw new ProofError('seq_not_dense', `the next entry must have seq ${next}, but has seq ${seq}`)
  }

  /** Adds the leaf of the next entry. verifyOrder must have accepted that entry. */
  append(leaf: Uint8Array): void {
    if (this.#last !== null) extendFrontier(this.#sha256, this.#frontier, this.#last)
    this.#last = leaf
  }

  finish({ size, root }: Checkpoint): void {
    const { to, right } = this.#range
    const next = this.#next()
    if (next <= to)
      throw new ProofError(
        'bundle_incomplete',
        `the bundle ends before entry ${next}, but must have all entries up to entry ${to}`,
      )
    const before = [...this.#frontier.hashes]
    const after = [...right]
    const path = inclusionRanges(to, size).flatMap(({ start }) => {
      const hash = start < to ? before.pop() : after.shift()
      return hash ? [hash] : []
    })
    verifyInclusion(this.#sha256, this.#last!, to, size, [...path, ...after], root)
  }

  #next(): number {
    return this.#frontier.size + (this.#last === null ? 0 : 1)
  }
}
