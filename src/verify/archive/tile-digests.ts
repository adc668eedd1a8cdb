import { createHash } from 'node:crypto'
import { ownCopy } from '../../proof/bytes.ts'
import type { Frontier } from '../../proof/tree/merkle.ts'
import { TILE_HASHES, TILE_LEVEL_BITS } from '../../proof/tree/merkle.ts'
import { tileName } from './seal.ts'

/**
 * Computes the SHA-256 of each hash tile that an archive must contain, while its ledger is verified. Stores 32 bytes
 * for each tile.
 */
export class TileDigests {
  readonly #sizes: ReadonlySet<number>
  /** Hashes of the incomplete tile of each level. */
  readonly #growing: Uint8Array[][] = []
  readonly #full: number[] = []
  readonly #digests = new Map<string, string>()

  /** `sizes`: the sizes of the seals. At these sizes, incomplete tiles are archived too. */
  constructor(sizes: readonly number[]) {
    this.#sizes = new Set(sizes)
  }

  /** Adds a perfect subtree. Called for each subtree that LedgerVerifier completes (`onNode`). */
  node(level: number, _index: number, hash: Uint8Array): void {
    if (level % TILE_LEVEL_BITS === 0) this.#add(level / TILE_LEVEL_BITS, hash)
  }

  /** Adds an entry's leaf. The frontier is the tree's frontier after this entry. */
  leaf(leaf: Uint8Array, { size }: Frontier): void {
    this.#add(0, leaf)
    if (this.#sizes.has(size)) for (const level of this.#growing.keys()) this.#keep(level)
  }

  find(name: string): string | null {
    return this.#digests.get(name) ?? null
  }

  #add(level: number, hash: Uint8Array): void {
    this.#growing[level] ??= []
    this.#full[level] ??= 0
    this.#growing[level].push(ownCopy(hash))
    if (this.#growing[level].length < TILE_HASHES) return
    this.#keep(level)
    this.#growing[level] = []
    this.#full[level]++
  }

  #keep(level: number): void {
    const hashes = this.#growing[level]!
    if (hashes.length === 0) return
    const digest = createHash('sha256')
    for (const hash of hashes) digest.update(hash)
    this.#digests.set(
      tileName({ level, tile: this.#full[level]!, width: hashes.length }),
      digest.digest('hex'),
    )
  }
}
