import type { TileGrowth } from '../../db/chain/checkpoints.ts'
import { HASH_BYTES, type Sha256 } from '../../proof/crypto.ts'
import { extendFrontier, type Frontier, TILE_HASHES, TILE_LEVEL_BITS } from '../../proof/tree/merkle.ts'

/**
 * Adds new leaves to `frontier` in place. Returns the additions to the stored tiles: every complete tile of leaves, and
 * each hash of a higher level whose subtree is complete now.
 *
 * `leaves`: 32 bytes for each leaf. The first leaf is the first leaf of the frontier's last tile, so that this tile can
 * be stored whole.
 */
export function growTree(sha256: Sha256, frontier: Frontier, leaves: Buffer): TileGrowth[] {
  const start = frontier.size - (frontier.size % TILE_HASHES)
  const growths = new Map<string, { level: number; index: number; hashes: Uint8Array[] }>()
  const onNode = (level: number, index: number, hash: Uint8Array) => {
    if (level % TILE_LEVEL_BITS !== 0) return
    const tile = { level: level / TILE_LEVEL_BITS, index: Math.floor(index / TILE_HASHES) }
    const key = `${tile.level} ${tile.index}`
    const growth = growths.get(key) ?? { ...tile, hashes: [] }
    growth.hashes.push(hash)
    growths.set(key, growth)
  }
  for (let at = (frontier.size - start) * HASH_BYTES; at < leaves.length; at += HASH_BYTES) {
    extendFrontier(sha256, frontier, leaves.subarray(at, at + HASH_BYTES), onNode)
  }
  const upper = [...growths.values()].map((g) => ({ ...g, hashes: Buffer.concat(g.hashes) }))
  return [...leafTiles(start, leaves), ...upper]
}

function leafTiles(start: number, leaves: Buffer): TileGrowth[] {
  const tiles: TileGrowth[] = []
  const tileBytes = TILE_HASHES * HASH_BYTES
  for (let at = 0; at + tileBytes <= leaves.length; at += tileBytes) {
    tiles.push({
      level: 0,
      index: (start + at / HASH_BYTES) / TILE_HASHES,
      hashes: leaves.subarray(at, at + tileBytes),
    })
  }
  return tiles
}

export function packFrontier(frontier: Frontier): Buffer {
  return Buffer.concat(frontier.hashes)
}

export function unpackFrontier(size: number, packed: Buffer): Frontier {
  const hashes: Uint8Array[] = []
  for (let at = 0; at < packed.length; at += HASH_BYTES) hashes.push(packed.subarray(at, at + HASH_BYTES))
  return { size, hashes }
}
