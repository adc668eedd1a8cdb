import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { growTree } from '../../../src/followers/checkpoints/grow-tree.ts'
import { toHex } from '../../../src/proof/bytes.ts'
import {
  emptyFrontier,
  inclusionPath,
  merkleRoot,
  TILE_HASHES,
  verifyConsistency,
  verifyInclusion,
} from '../../../src/proof/tree/merkle.ts'
import {
  consistencyRanges,
  inclusionRanges,
  type LeafRange,
  type ReadSlice,
  rangeRoots,
  slicesOf,
  tilePaths,
  verifyTile,
} from '../../../src/proof/tree/tree-ranges.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import { runs } from '../../helpers/runs.ts'
import { refuses } from '../refuses.ts'

const { sha256 } = nativeProviders
/** Size with two complete tiles of level 1 and a rest: 2 * 65,536 + 700 leaves. */
const SIZE_MAX = 131_772
const LEAVES = Array.from({ length: SIZE_MAX }, (_, i) => sha256(Buffer.from(`leaf ${i}`)))
const TILES = new Map(
  growTree(sha256, emptyFrontier(), Buffer.concat(LEAVES)).map((t) => [`${t.level} ${t.index}`, t.hashes]),
)

/** Reads from a tree that is stored as tiles. Leaves that are not in a tile yet are read separately. */
function read(ranges: readonly LeafRange[]): ReadSlice[] {
  return slicesOf(ranges).map((slice) => {
    const { level, tile, offset, count } = slice
    const first = tile * TILE_HASHES
    const hashes = TILES.get(`${level} ${tile}`) ?? Buffer.concat(LEAVES.slice(first, first + TILE_HASHES))
    return { ...slice, hashes: hashes.subarray(offset * 32, (offset + count) * 32) }
  })
}

const roots = (ranges: readonly LeafRange[]) => rangeRoots(sha256, ranges, read(ranges))
const rootAt = (size: number) => roots([{ start: 0, end: size }])[0]!

/** Computes PROOF literally as RFC 9162 §2.1.4.1 defines it. */
function naiveProof(size1: number, leaves: readonly Uint8Array[], isWhole = true): Uint8Array[] {
  if (size1 === leaves.length) return isWhole ? [] : [merkleRoot(sha256, leaves)]
  let k = 1
  while (2 * k < leaves.length) k *= 2
  return size1 <= k
    ? [...naiveProof(size1, leaves.slice(0, k), isWhole), merkleRoot(sha256, leaves.slice(k))]
    : [...naiveProof(size1 - k, leaves.slice(k), false), merkleRoot(sha256, leaves.slice(0, k))]
}

const NAIVE_SIZE_MAX = 1_000
const EDGES = [1, 2, 3, 254, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537, SIZE_MAX]

test('roots computed from tiles equal the tree’s, at every size around tile edges', () => {
  for (const size of EDGES)
    assert.equal(toHex(rootAt(size)), toHex(merkleRoot(sha256, LEAVES.slice(0, size))), `size ${size}`)
})

test('inclusion paths from tiles match RFC 9162, at every size around tile edges', () => {
  for (const size of EDGES) {
    const indexes = new Set([0, 1, 255, 256, 65_535, 65_536, size >> 1, size - 1].filter((i) => i < size))
    for (const index of indexes) {
      const path = roots(inclusionRanges(index, size))
      // Compares the path with a naive path only in small trees, because naive computation is slow: a naive root costs
      // as much as thirty paths. In larger trees `verifyInclusion` checks the path against the root, which proves as
      // much.
      if (size < NAIVE_SIZE_MAX)
        assert.deepEqual(
          path.map(toHex),
          inclusionPath(sha256, LEAVES.slice(0, size), index).map(toHex),
          `${index} of ${size}`,
        )
      verifyInclusion(sha256, LEAVES[index]!, index, size, path, rootAt(size))
    }
  }
})

test('consistency proofs from tiles match RFC 9162 for all pairs of sizes up to 40', () => {
  for (let size2 = 1; size2 <= 40; size2++) {
    for (let size1 = 1; size1 <= size2; size1++) {
      const path = roots(consistencyRanges(size1, size2))
      assert.deepEqual(path.map(toHex), naiveProof(size1, LEAVES.slice(0, size2)).map(toHex))
      verifyConsistency(sha256, size1, size2, path, rootAt(size1), rootAt(size2))
    }
  }
})

test('consistency proofs between all sizes around the edges of tiles verify', () => {
  for (const size2 of EDGES) {
    for (const size1 of EDGES.filter((size) => size <= size2)) {
      const path = roots(consistencyRanges(size1, size2))
      verifyConsistency(sha256, size1, size2, path, rootAt(size1), rootAt(size2))
    }
  }
})

test('paths and proofs in trees of any size verify, and read at most four slices of a level', () => {
  const anySize = fc.integer({ min: 1, max: SIZE_MAX })
  fc.assert(
    fc.property(anySize, fc.nat(), (size, a) => {
      const index = a % size
      const inclusion = inclusionRanges(index, size)
      verifyInclusion(sha256, LEAVES[index]!, index, size, roots(inclusion), rootAt(size))
      const size1 = index + 1
      const consistency = consistencyRanges(size1, size)
      verifyConsistency(sha256, size1, size, roots(consistency), rootAt(size1), rootAt(size))
      for (const ranges of [inclusion, consistency]) {
        for (const level of [0, 1, 2])
          assert.ok(slicesOf(ranges).filter((slice) => slice.level === level).length <= 4)
      }
    }),
    { numRuns: runs(300) },
  )
})

test('a path in a tree of 2^48 leaves reads at most one slice of each level', () => {
  const size = 2 ** 48 + 1
  const slices = slicesOf(inclusionRanges(2 ** 40, size))
  assert.ok(slices.length <= 8, `${slices.length}`)
  assert.ok(slices.every(({ offset, count }) => offset + count <= TILE_HASHES))
  assert.equal(Math.max(...slices.map(({ level }) => level)), 5)
  assert.deepEqual(consistencyRanges(2 ** 48, size), [{ start: 2 ** 48, end: size }])
})

test('refuses leaves and sizes outside the tree', () => {
  for (const [index, size] of [
    [3, 3],
    [-1, 3],
    [0, 0],
    [0.5, 3],
    [0, 2 ** 54],
    [Number.NaN, 3],
  ] as const) {
    refuses('merkle_range', () => inclusionRanges(index, size))
  }
  for (const [size1, size2] of [
    [0, 3],
    [4, 3],
    [1.5, 3],
    [1, 2 ** 54],
    [1, Number.NaN],
  ] as const) {
    refuses('merkle_range', () => consistencyRanges(size1, size2))
  }
})

test('refuses missing or incomplete slices', () => {
  const ranges = inclusionRanges(300, 1000)
  const whole = read(ranges)
  const changed = (change: (slice: ReadSlice) => ReadSlice[]) => whole.flatMap((s, i) => (i ? s : change(s)))
  for (const slices of [
    changed(() => []),
    changed((slice) => [{ ...slice, offset: slice.offset + 1, hashes: slice.hashes.subarray(32) }]),
    changed((slice) => [{ ...slice, hashes: slice.hashes.subarray(0, -1) }]),
  ]) {
    refuses('merkle_range', () => rangeRoots(sha256, ranges, slices))
  }
})

function tileOf(level: number, tile: number, count: number): Buffer {
  const stored =
    TILES.get(`${level} ${tile}`) ?? Buffer.concat(LEAVES.slice(tile * TILE_HASHES, (tile + 1) * TILE_HASHES))
  return Buffer.from(stored.subarray(0, count * 32))
}

function proveTile(
  level: number,
  tile: number,
  count: number,
  size: number,
  hashes = tileOf(level, tile, count),
): void {
  const paths = tilePaths({ level, tile, count }, size)
  const slices = read(paths.flatMap(({ siblings }) => siblings))
  verifyTile(sha256, { level, hashes }, paths, slices, rootAt(size))
}

test('every full or partial tile verifies at its own position only', () => {
  for (const size of EDGES) {
    for (const level of [0, 1, 2]) {
      const hashes = Math.floor(size / TILE_HASHES ** level)
      const last = Math.floor(hashes / TILE_HASHES)
      for (const tile of new Set([0, last >> 1, last])) {
        const most = Math.min(TILE_HASHES, hashes - tile * TILE_HASHES)
        for (const count of new Set([1, 2, 7, 200, 255, most].filter((one) => one > 0 && one <= most))) {
          proveTile(level, tile, count, size)
          const changed = tileOf(level, tile, count)
          changed[(count - 1) * 32 + 5]! ^= 1
          refuses('merkle_path', () => proveTile(level, tile, count, size, changed))
        }
      }
    }
  }
})

test('refuses a tile outside the tree with merkle_range', () => {
  refuses('merkle_range', () => tilePaths({ level: 0, tile: 0, count: 4 }, 3))
  refuses('merkle_range', () => tilePaths({ level: 1, tile: 0, count: 1 }, 255))
  refuses('merkle_range', () => tilePaths({ level: 0, tile: 0, count: 0 }, 3))
  refuses('merkle_range', () => tilePaths({ level: 63, tile: 9, count: 256 }, 1_000))
})
