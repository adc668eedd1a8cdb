import { contradiction } from '../db/evidence/contradiction.ts'
import { concat, ownCopy, toHex } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import { type Frontier, TILE_HASHES, TILE_LEVEL_BITS } from '../proof/tree/merkle.ts'

type Level = { readonly tiles: string[]; growing: Uint8Array[] }

/**
 * Computes the hash tiles that a database must contain for a tree of `treeSize` entries, while the ledger is verified
 * (migrations/0006-checkpoints-and-audits.sql).
 *
 * Stores one hash for each full tile. These hashes take 1.3 MB for ten million entries.
 */
export class TreeCollector {
  readonly #sha256: Sha256
  readonly #treeSize: number
  readonly #levels: Level[] = []
  /** Packed frontier of the tree at `treeSize`; null until the ledger reaches this size. */
  frontier: Uint8Array | null = null

  constructor(sha256: Sha256, treeSize: number) {
    this.#sha256 = sha256
    this.#treeSize = treeSize
    if (treeSize === 0) this.frontier = new Uint8Array(0)
  }

  /** Adds a perfect subtree. Called for each subtree that LedgerVerifier completes (`onNode`). */
  node(level: number, index: number, hash: Uint8Array): void {
    if (level % TILE_LEVEL_BITS === 0 && (index + 1) * 2 ** level <= this.#treeSize) {
      this.#add(level / TILE_LEVEL_BITS, hash)
    }
  }

  /** Adds an entry's leaf. `frontier`: the tree's frontier after the entry. */
  leaf(leaf: Uint8Array, frontier: Frontier): void {
    if (frontier.size <= this.#treeSize) this.#add(0, leaf)
    if (frontier.size === this.#treeSize) this.frontier = concat(frontier.hashes)
  }

  #add(at: number, hash: Uint8Array): void {
    this.#levels[at] ??= { tiles: [], growing: [] }
    const level = this.#levels[at]
    level.growing.push(ownCopy(hash))
    if (level.growing.length === TILE_HASHES) {
      level.tiles.push(toHex(this.#sha256(concat(level.growing))))
      level.growing = []
    }
  }

  /** Throws unless `tiles` are exactly the tiles of the tree. `tiles` must be ordered by level and index. */
  async verifyTiles(
    tiles: AsyncIterable<{ level: number; tileIndex: number; hashes: Uint8Array }>,
  ): Promise<void> {
    const expected = this.#expected()
    for await (const { level, tileIndex, hashes } of tiles) {
      const next = expected.next()
      const found = `level ${level}, index ${tileIndex}`
      if (next.done || next.value.name !== found)
        throw contradiction(`tree_tiles: the tile at ${found} is not expected, or an earlier one is missing`)
      if (next.value.digest !== toHex(this.#sha256(hashes)))
        throw contradiction(`tree_tiles: the tile at ${found} has other hashes`)
    }
    const missing = expected.next()
    if (!missing.done) throw contradiction(`tree_tiles: the tile at ${missing.value.name} is missing`)
  }

  /**
   * Yields the expected tiles. A tile of leaves is stored only when it is full. Tiles of higher levels are stored with
   * each new hash.
   */
  *#expected(): Generator<{ name: string; digest: string }> {
    for (const [level, { tiles, growing }] of this.#levels.entries()) {
      for (const [index, digest] of tiles.entries()) yield { name: `level ${level}, index ${index}`, digest }
      if (level > 0 && growing.length > 0) {
        yield { name: `level ${level}, index ${tiles.length}`, digest: toHex(this.#sha256(concat(growing))) }
      }
    }
  }
}
