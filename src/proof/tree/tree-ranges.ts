import { equalBytes } from '../bytes.ts'
import { HASH_BYTES, type Sha256 } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { frontierRoot, merkleRoot, nodeHash, TILE_HASHES, TILE_LEVEL_BITS } from './merkle.ts'

/*
 * Computes proofs in large trees. Every hash of a path is the root over a range of leaves. A few stored hashes are
 * enough to compute such a root, however large the tree is. This file computes the ranges, the stored hashes that they
 * need, and the roots. The caller reads the hashes.
 */

/** Range of leaves from `start` (inclusive) to `end` (exclusive). */
export type LeafRange = { readonly start: number; readonly end: number }

/**
 * Slice of a tile: `count` hashes that start at `offset` (docs/formats/proofs.md). On level 0 the hashes are leaves.
 */
export type TileSlice = {
  readonly level: number
  readonly tile: number
  readonly offset: number
  readonly count: number
}
/** Slice of a tile with its hashes. `hashes`: hashes of 32 bytes, concatenated. */
export type ReadSlice = TileSlice & { readonly hashes: Uint8Array }

/**
 * Returns PATH of RFC 9162 §2.1.3.1 as ranges, from the leaf up. The roots of the ranges prove the leaf at `index`.
 * Throws `merkle_range`.
 */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  refuseUnordered(0, index, size - 1)
  const ranges: LeafRange[] = []
  let [start, end] = [0, size]
  while (end - start > 1) {
    const middle = start + powerOfTwoBelow(end - start)
    if (index < middle) {
      ranges.push({ start: middle, end })
      end = middle
    } else {
      ranges.push({ start, end: middle })
      start = middle
    }
  }
  return ranges.reverse()
}

/**
 * Returns PROOF of RFC 9162 §2.1.4.1 as ranges. The roots of the ranges join the trees of both sizes. Throws
 * `merkle_range`.
 */
export function consistencyRanges(size1: number, size2: number): LeafRange[] {
  refuseUnordered(1, size1, size2)
  const ranges: LeafRange[] = []
  let [start, end] = [0, size2]
  while (end !== size1) {
    const middle = start + powerOfTwoBelow(end - start)
    if (size1 <= middle) {
      ranges.push({ start: middle, end })
      end = middle
    } else {
      ranges.push({ start, end: middle })
      start = middle
    }
  }
  // A range that starts at 0 is the whole smaller tree, whose root the verifier already has.
  if (start > 0) ranges.push({ start, end })
  return ranges.reverse()
}

/** A perfect subtree of a tree. `siblings`: the ranges whose roots lead from the subtree's root to the tree's root. */
export type SubtreePath = { readonly subtree: LeafRange; readonly siblings: readonly LeafRange[] }

/**
 * Returns the perfect subtrees that together have a tile's first `count` hashes. A full tile is one subtree, a partial
 * tile at most eight. The paths of all these subtrees prove the whole tile. Throws `merkle_range` if the tree does not
 * have the tile.
 */
export function tilePaths({ level, tile, count }: Omit<TileSlice, 'offset'>, size: number): SubtreePath[] {
  const leaves = TILE_HASHES ** level
  const start = tile * TILE_HASHES * leaves
  const end = start + count * leaves
  refuseUnordered(1, end, size)
  return subtreesOf({ start, end }).map((subtree) => {
    const range = { start: subtree.index * 2 ** subtree.level, end: (subtree.index + 1) * 2 ** subtree.level }
    const siblings = inclusionRanges(range.start, size).filter(
      (other) => other.start >= range.end || other.end <= range.start,
    )
    return { subtree: range, siblings }
  })
}

/**
 * Throws `merkle_path` if the tile's hashes do not lead to `root`. `slices`: the slices that `slicesOf` returns for the
 * ranges of `paths`, with their hashes.
 */
export function verifyTile(
  sha256: Sha256,
  tile: Pick<ReadSlice, 'level' | 'hashes'>,
  paths: readonly SubtreePath[],
  slices: readonly ReadSlice[],
  root: Uint8Array,
): void {
  const leaves = TILE_HASHES ** tile.level
  const hashes = splitHashes(tile.hashes)
  let at = 0
  for (const { subtree, siblings } of paths) {
    const count = (subtree.end - subtree.start) / leaves
    let hash = merkleRoot(sha256, hashes.slice(at, at + count))
    at += count
    for (const [i, other] of rangeRoots(sha256, siblings, slices).entries())
      hash =
        siblings[i]!.start < subtree.start ? nodeHash(sha256, other, hash) : nodeHash(sha256, hash, other)
    if (!equalBytes(hash, root))
      throw new ProofError(
        'merkle_path',
        `leaves ${subtree.start} to ${subtree.end} lead to another root than expected`,
      )
  }
}

/**
 * Returns the stored hashes from which the roots of `ranges` can be computed, as at most one slice of each tile. The
 * number of slices is at most the number of tile levels times the number of ends of ranges.
 */
export function slicesOf(ranges: readonly LeafRange[]): TileSlice[] {
  const slices = new Map<string, TileSlice>()
  for (const slice of ranges.flatMap((range) => subtreesOf(range).map(sliceOf))) {
    const known = slices.get(placeOf(slice)) ?? slice
    const offset = Math.min(known.offset, slice.offset)
    const end = Math.max(known.offset + known.count, slice.offset + slice.count)
    slices.set(placeOf(slice), { ...slice, offset, count: end - offset })
  }
  return [...slices.values()]
}

/** Returns the root of each range. Throws `merkle_range` if `slices` lack a hash that slicesOf requested. */
export function rangeRoots(
  sha256: Sha256,
  ranges: readonly LeafRange[],
  slices: readonly ReadSlice[],
): Uint8Array[] {
  const read = new Map(slices.map((slice) => [placeOf(slice), slice]))
  return ranges.map((range) => {
    const hashes = subtreesOf(range).map((subtree) => {
      const slice = sliceOf(subtree)
      return merkleRoot(sha256, hashesOf(slice, read.get(placeOf(slice))))
    })
    return frontierRoot(sha256, { size: range.end - range.start, hashes })
  })
}

/** A perfect subtree. It has 2^level leaves and begins at leaf index * 2^level. */
type Subtree = { readonly level: number; readonly index: number }

/**
 * Returns the perfect subtrees of a range, largest first. `start` is a multiple of the width of each subtree, because
 * RFC 9162 splits trees at powers of two.
 */
function subtreesOf({ start, end }: LeafRange): Subtree[] {
  const subtrees: Subtree[] = []
  for (let at = start; at < end; ) {
    let level = 0
    while (2 ** (level + 1) <= end - at) level++
    subtrees.push({ level, index: at / 2 ** level })
    at += 2 ** level
  }
  return subtrees
}

/**
 * Returns the stored hashes from which the subtree's root can be computed. They are on the highest stored level at or
 * below the root, and all in one tile.
 */
function sliceOf({ level, index }: Subtree): TileSlice {
  const count = 2 ** (level % TILE_LEVEL_BITS)
  const first = index * count
  return {
    level: Math.floor(level / TILE_LEVEL_BITS),
    tile: Math.floor(first / TILE_HASHES),
    offset: first % TILE_HASHES,
    count,
  }
}

function placeOf({ level, tile }: TileSlice): string {
  return `${level} ${tile}`
}

function hashesOf(wanted: TileSlice, read: ReadSlice | undefined): Uint8Array[] {
  const { level, tile, offset, count } = wanted
  const from = offset - (read?.offset ?? Number.POSITIVE_INFINITY)
  if (read === undefined || from < 0 || (from + count) * HASH_BYTES > read.hashes.length) {
    throw new ProofError('merkle_range', `tile ${tile} of level ${level} has no hashes from ${offset} on`)
  }
  return splitHashes(read.hashes.subarray(from * HASH_BYTES, (from + count) * HASH_BYTES))
}

export function splitHashes(hashes: Uint8Array): Uint8Array[] {
  return Array.from({ length: hashes.length / HASH_BYTES }, (_, i) =>
    hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES),
  )
}

/**
 * Returns the largest power of two below `size`, which must be at least 2. Uses a loop, because Math.log2 rounds
 * wrongly from 2^48 on.
 */
function powerOfTwoBelow(size: number): number {
  let power = 1
  while (2 * power < size) power *= 2
  return power
}

function refuseUnordered(least: number, middle: number, most: number): void {
  const isOrdered = least <= middle && middle <= most
  if (!isOrdered || !Number.isSafeInteger(middle) || !Number.isSafeInteger(most)) {
    throw new ProofError('merkle_range', `the size ${middle} must be a whole number from ${least} to ${most}`)
  }
}
