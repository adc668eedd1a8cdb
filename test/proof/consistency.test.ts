import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { inclusionPath, merkleRoot, verifyConsistency, verifyInclusion } from '../../src/proof/tree/merkle.ts'
import { consistencyRanges } from '../../src/proof/tree/tree-ranges.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { runs } from '../helpers/runs.ts'
import { refuses } from './refuses.ts'

const { sha256 } = nativeProviders
const SIZE_MAX = 600
const LEAVES = Array.from({ length: SIZE_MAX }, (_, i) => sha256(Buffer.from(`leaf ${i}`)))

const rootAt = (size: number) => merkleRoot(sha256, LEAVES.slice(0, size))
const proofOf = (size1: number, size2: number) =>
  consistencyRanges(size1, size2).map(({ start, end }) => merkleRoot(sha256, LEAVES.slice(start, end)))

test('verifies a proof between any two sizes, and between no other sizes', () => {
  const anySize = fc.integer({ min: 1, max: SIZE_MAX })
  fc.assert(
    fc.property(anySize, anySize, anySize, fc.nat(), (a, b, other, c) => {
      const [size1, size2] = [Math.min(a, b), Math.max(a, b)]
      const path = proofOf(size1, size2)
      const [root1, root2] = [rootAt(size1), rootAt(size2)]
      const check = (hashes: Uint8Array[]) => verifyConsistency(sha256, size1, size2, hashes, root1, root2)
      check(path)
      refuses('merkle_path', () => check([...path, root1]))
      if (path.length > 0) {
        refuses('merkle_path', () => check(path.slice(0, -1)))
        refuses('merkle_path', () => check(path.slice(1)))
        refuses('merkle_path', () => check(path.map((hash, i) => (i === c % path.length ? root1 : hash))))
      }
      if (other === size1 || other === size2) return
      refuses('merkle_path', () => verifyConsistency(sha256, size1, size2, path, rootAt(other), root2))
      refuses('merkle_path', () => verifyConsistency(sha256, size1, size2, path, root1, rootAt(other)))
    }),
    { numRuns: runs(300) },
  )
})

test('detects a changed smaller tree, and a larger tree with another beginning', () => {
  for (const [size1, size2] of [
    [4, 8],
    [5, 8],
    [256, 257],
  ] as const) {
    const forged = LEAVES.slice(0, size2).map((leaf, i) => (i === size1 - 1 ? sha256(leaf) : leaf))
    const root2 = merkleRoot(sha256, forged)
    const path = consistencyRanges(size1, size2).map(({ start, end }) =>
      merkleRoot(sha256, forged.slice(start, end)),
    )
    verifyConsistency(sha256, size1, size2, path, merkleRoot(sha256, forged.slice(0, size1)), root2)
    refuses('merkle_path', () => verifyConsistency(sha256, size1, size2, path, rootAt(size1), root2))
  }
})

describe('with any bit of it flipped', () => {
  const flips = (path: readonly Uint8Array[]) =>
    path.flatMap((hash, at) =>
      Array.from({ length: 8 * hash.length }, (_, bit) => {
        const flipped = Uint8Array.from(hash)
        flipped[bit >> 3]! ^= 1 << (bit & 7)
        return path.map((other, i) => (i === at ? flipped : other))
      }),
    )

  test('a consistency proof is refused', () => {
    for (const [size1, size2] of [
      [1, 2],
      [6, 7],
      [255, 257],
      [256, 300],
    ] as const) {
      const [root1, root2] = [rootAt(size1), rootAt(size2)]
      const all = flips(proofOf(size1, size2))
      assert.ok(all.length >= 256)
      for (const path of all)
        refuses('merkle_path', () => verifyConsistency(sha256, size1, size2, path, root1, root2))
    }
  })

  test('an inclusion path is refused', () => {
    for (const [index, size] of [
      [0, 2],
      [6, 7],
      [255, 257],
      [256, 300],
    ] as const) {
      const leaves = LEAVES.slice(0, size)
      const root = rootAt(size)
      for (const path of flips(inclusionPath(sha256, leaves, index)))
        refuses('merkle_path', () => verifyInclusion(sha256, LEAVES[index]!, index, size, path, root))
    }
  })
})

describe('refuses', () => {
  for (const [size1, size2] of [
    [0, 3],
    [4, 3],
    [1.5, 3],
    [1, 2 ** 54],
    [Number.NaN, 3],
  ] as const) {
    test(`sizes ${size1} and ${size2}`, () => {
      refuses('merkle_range', () => verifyConsistency(sha256, size1, size2, [], LEAVES[0]!, LEAVES[0]!))
    })
  }

  test('an empty path between different sizes', () => {
    refuses('merkle_path', () => verifyConsistency(sha256, 3, 4, [], rootAt(3), rootAt(4)))
    refuses('merkle_path', () => verifyConsistency(sha256, 2, 4, [], rootAt(2), rootAt(4)))
  })

  test('two different roots of one size', () => {
    for (const size of [3, 4]) {
      verifyConsistency(sha256, size, size, [], rootAt(size), rootAt(size))
      refuses('merkle_path', () =>
        verifyConsistency(sha256, size, size, [], rootAt(size), sha256(rootAt(size))),
      )
      refuses('merkle_path', () =>
        verifyConsistency(sha256, size, size, [rootAt(size)], rootAt(size), rootAt(size)),
      )
    }
  })

  test('a hash of another length, which would move the boundary between left and right', () => {
    const path = proofOf(3, 4).map((hash) => hash.subarray(1))
    refuses('merkle_path', () => verifyConsistency(sha256, 3, 4, path, rootAt(3), rootAt(4)))
  })
})
