import type { Sha256 } from '../crypto.ts'
import { ProofError } from '../error.ts'
import type { Checkpoint } from '../tree/checkpoint.ts'
import { extendFrontier, type Frontier, frontierRoot, verifyInclusion } from '../tree/merkle.ts'
import { inclusionRanges } from '../tree/tree-ranges.ts'
import type { BundleRange } from './bundle-lines.ts'

/**
 * A range of entries under a signed root. The perfect subtrees before it and its leaves give those before its last leaf, which are just
 * the hashes of that leaf's path that lie before it; with the others the path leads to the root. So no leaf can be left out, added or
 * exchanged, and neither can a hash.
 */
export class RangeTree {
  readonly #sha256: Sha256
  readonly #range: BundleRange
  readonly #frontier: Frontier
  #last: Uint8Array | null = null

  /** Throws `merkle_range`, `merkle_path`. */
  constructor(range: BundleRange, sha256: Sha256) {
    this.#sha256 = sha256
    this.#range = range
    this.#frontier = { size: range.from, hashes: [...range.left] }
    // Whether there are as many as such a tree has.
    frontierRoot(sha256, this.#frontier)
  }

  /** Throws `checkpoint_too_old`. */
  verifyCovered({ size }: Checkpoint): void {
    const { to } = this.#range
    if (to >= size)
      throw new ProofError('checkpoint_too_old', `a range up to ${to}, in a checkpoint of ${size} entries`)
  }

  /** Any entry of the bundle, before all else: throws `seq_not_dense` where the next one of the range belongs. */
  verifyTurn(seq: number): void {
    const next = this.#next()
    if (next <= this.#range.to && seq > next)
      throw new ProofError('seq_not_dense', `seq ${seq} stands where ${next} belongs`)
  }

  /** The leaf of the next entry, which has had its turn. */
  append(leaf: Uint8Array): void {
    if (this.#last !== null) extendFrontier(this.#sha256, this.#frontier, this.#last)
    this.#last = leaf
  }

  /** Throws `bundle_incomplete`, `merkle_path`. */
  finish({ size, root }: Checkpoint): void {
    const { to, right } = this.#range
    const next = this.#next()
    if (next <= to)
      throw new ProofError('bundle_incomplete', `it ends before entry ${next}, and should at ${to}`)
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
