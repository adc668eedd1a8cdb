import { readLeaves } from '../../db/chain/checkpoints.ts'
import { readTileSlices } from '../../db/chain/tree-tiles.ts'
import type { Db } from '../../db/connect/client.ts'
import type { Uuid } from '../../proof/ids.ts'
import { parseCheckpoint } from '../../proof/tree/checkpoint.ts'
import { TILE_HASHES, verifyConsistency, verifyInclusion } from '../../proof/tree/merkle.ts'
import {
  consistencyRanges,
  inclusionRanges,
  type LeafRange,
  type ReadSlice,
  rangeRoots,
  slicesOf,
  type TileSlice,
  tilePaths,
  verifyTile,
} from '../../proof/tree/tree-ranges.ts'
import { nativeProviders } from '../../signing/native.ts'

/*
 * Builds Merkle paths from stored tiles. Stored tiles are not trusted. An attacker whose login can write to their table
 * could make this server issue invalid proofs, and a verifier would report that the ledger was tampered with. So each
 * path is first verified against the root of a signed checkpoint. If the verification fails, an error is thrown and
 * logged as a fault of the server.
 */

const { sha256 } = nativeProviders

/**
 * Returns the inclusion path of the leaf at `index` in the tree of `note`. `note`: a checkpoint that covers the leaf.
 */
export async function proveInclusion(
  db: Db,
  ledgerId: Uuid,
  leaf: Uint8Array,
  index: number,
  note: string,
): Promise<Uint8Array[]> {
  const { size, root } = parseCheckpoint(note).checkpoint
  const ranges = inclusionRanges(index, size)
  const path = rangeRoots(sha256, ranges, await readSlices(db, ledgerId, slicesOf(ranges), size))
  verifyInclusion(sha256, leaf, index, size, path, root)
  return path
}

/**
 * Returns the consistency proof between two sizes. `note`: a checkpoint of at least `size2` entries. If the checkpoint
 * is larger than `size2`, no signed root of `size2` exists. In that case the computed root is first proved against the
 * checkpoint.
 */
export async function proveConsistency(
  db: Db,
  ledgerId: Uuid,
  size1: number,
  size2: number,
  note: string,
): Promise<Uint8Array[]> {
  const { size, root } = parseCheckpoint(note).checkpoint
  const proof = consistencyRanges(size1, size2)
  const toSigned = consistencyRanges(size2, size)
  const trees = [wholeTree(size1), wholeTree(size2)]
  const all = [...proof, ...toSigned, ...trees]
  const slices = await readSlices(db, ledgerId, slicesOf(all), size)
  const path = rangeRoots(sha256, proof, slices)
  const [root1, root2] = rangeRoots(sha256, trees, slices) as [Uint8Array, Uint8Array]
  verifyConsistency(sha256, size2, size, rangeRoots(sha256, toSigned, slices), root2, root)
  verifyConsistency(sha256, size1, size2, path, root1, root2)
  return path
}

/** Returns the first `count` hashes of a tile in the tree of `note`. `note` MUST cover these hashes. */
export async function proveTile(
  db: Db,
  ledgerId: Uuid,
  tile: Pick<TileSlice, 'level' | 'tile' | 'count'>,
  note: string,
): Promise<Uint8Array> {
  const { size, root } = parseCheckpoint(note).checkpoint
  const slice = { ...tile, offset: 0 }
  const paths = tilePaths(tile, size)
  const beside = slicesOf(paths.flatMap((path) => path.siblings))
  const [own, others] = await Promise.all([
    readSlices(db, ledgerId, [slice], size),
    readSlices(db, ledgerId, beside, size),
  ])
  const hashes = own[0]?.hashes ?? new Uint8Array(0)
  verifyTile(sha256, { ...slice, hashes }, paths, others, root)
  return hashes
}

const wholeTree = (size: number): LeafRange => ({ start: 0, end: size })

/**
 * Reads slices of the tree with at most two queries: one for stored tiles, one for the leaves of the last tile. `size`:
 * the size of a checkpoint. Only complete tiles are stored. When the checkpoint was published, all tiles except the
 * last were complete. The last tile may have become complete since then.
 */
async function readSlices(
  db: Db,
  ledgerId: Uuid,
  slices: readonly TileSlice[],
  size: number,
): Promise<ReadSlice[]> {
  const lastTile = Math.floor(size / TILE_HASHES)
  const isLeaves = ({ level, tile }: TileSlice) => level === 0 && tile === lastTile
  const [tiles, ...leaves] = await Promise.all([
    readTileSlices(
      db,
      ledgerId,
      slices.filter((slice) => !isLeaves(slice)),
    ),
    ...slices.filter(isLeaves).map((slice) => readLeafSlice(db, ledgerId, slice)),
  ])
  return [...tiles, ...leaves]
}

async function readLeafSlice(db: Db, ledgerId: Uuid, slice: TileSlice): Promise<ReadSlice> {
  const from = slice.tile * TILE_HASHES + slice.offset
  return { ...slice, hashes: await readLeaves(db, ledgerId, from, from + slice.count) }
}
