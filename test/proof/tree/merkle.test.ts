import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { toHex } from '../../../src/proof/bytes.ts'
import {
  emptyFrontier,
  extendFrontier,
  frontierRoot,
  inclusionPath,
  leafHash,
  merkleRoot,
  nodeHash,
  verifyInclusion,
} from '../../../src/proof/tree/merkle.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import { runs } from '../../helpers/runs.ts'
import { refuses } from '../refuses.ts'

const { sha256 } = nativeProviders
const SIZE_MAX = 600
const LEAVES = Array.from({ length: SIZE_MAX }, (_, i) => sha256(Buffer.from(`leaf ${i}`)))

/** Computes MTH literally as RFC 9162 §2.1.1 defines it. */
function naiveRoot(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return sha256(new Uint8Array(0))
  if (leaves.length === 1) return leaves[0]!
  const k = largestPowerOfTwoBelow(leaves.length)
  return sha256(Buffer.concat([Buffer.from([1]), naiveRoot(leaves.slice(0, k)), naiveRoot(leaves.slice(k))]))
}

/** Computes PATH literally as RFC 9162 §2.1.3.1 defines it. */
function naivePath(leaves: readonly Uint8Array[], m: number): Uint8Array[] {
  if (leaves.length === 1) return []
  const k = largestPowerOfTwoBelow(leaves.length)
  return m < k
    ? [...naivePath(leaves.slice(0, k), m), naiveRoot(leaves.slice(k))]
    : [...naivePath(leaves.slice(k), m - k), naiveRoot(leaves.slice(0, k))]
}

function largestPowerOfTwoBelow(n: number): number {
  let k = 1
  while (2 * k < n) k *= 2
  return k
}

test('root and frontier match RFC 9162 for every size from 0 to 600', () => {
  const frontier = emptyFrontier()
  for (let size = 0; size <= SIZE_MAX; size++) {
    const expected = toHex(naiveRoot(LEAVES.slice(0, size)))
    assert.equal(toHex(merkleRoot(sha256, LEAVES.slice(0, size))), expected, `size ${size}`)
    assert.equal(frontier.size, size)
    assert.equal(toHex(frontierRoot(sha256, frontier)), expected, `frontier of ${size}`)
    if (size < SIZE_MAX) extendFrontier(sha256, frontier, LEAVES[size]!)
  }
})

test('every path of every size from 1 to 64 matches RFC 9162 and verifies', () => {
  for (let size = 1; size <= 64; size++) {
    const leaves = LEAVES.slice(0, size)
    const root = merkleRoot(sha256, leaves)
    for (let i = 0; i < size; i++) {
      const path = inclusionPath(sha256, leaves, i)
      assert.deepEqual(path.map(toHex), naivePath(leaves, i).map(toHex), `leaf ${i} of ${size}`)
      verifyInclusion(sha256, leaves[i]!, i, size, path, root)
    }
  }
})

test('paths of sizes up to 600 verify at their own index only', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: SIZE_MAX }), fc.nat(), fc.nat(), fc.nat(), (size, a, b, c) => {
      const leaves = LEAVES.slice(0, size)
      const root = merkleRoot(sha256, leaves)
      const index = a % size
      const path = inclusionPath(sha256, leaves, index)
      assert.deepEqual(path.map(toHex), naivePath(leaves, index).map(toHex))
      verifyInclusion(sha256, leaves[index]!, index, size, path, root)
      const elsewhere = b % size
      if (elsewhere !== index) {
        refuses('merkle_path', () => verifyInclusion(sha256, leaves[index]!, elsewhere, size, path, root))
      }
      refuses('merkle_path', () =>
        verifyInclusion(sha256, leaves[index]!, index, size, [...path, root], root),
      )
      if (path.length > 0) {
        const shorter = path.slice(0, -1)
        refuses('merkle_path', () => verifyInclusion(sha256, leaves[index]!, index, size, shorter, root))
        const changed = path.map((hash, i) => (i === c % path.length ? sha256(hash) : hash))
        refuses('merkle_path', () => verifyInclusion(sha256, leaves[index]!, index, size, changed, root))
      }
    }),
    { numRuns: runs(200) },
  )
})

test('a path in a tree of more than 2^32 leaves verifies', () => {
  const size = 2 ** 40 + 1
  const left = LEAVES[0]!
  const root = nodeHash(sha256, left, LEAVES[1]!)
  verifyInclusion(sha256, LEAVES[1]!, size - 1, size, [left], root)
})

test('reports each perfect subtree once, when complete', () => {
  const frontier = emptyFrontier()
  const nodes: string[] = []
  for (const [i, leaf] of LEAVES.slice(0, 300).entries()) {
    extendFrontier(sha256, frontier, leaf, (level, index, hash) => {
      const width = 2 ** level
      assert.equal((index + 1) * width, i + 1, 'it ends at this leaf')
      assert.equal(toHex(hash), toHex(naiveRoot(LEAVES.slice(index * width, (index + 1) * width))))
      nodes.push(`${level}/${index}`)
    })
  }
  assert.equal(new Set(nodes).size, nodes.length)
  assert.equal(nodes.length, 150 + 75 + 37 + 18 + 9 + 4 + 2 + 1)
  assert.equal(nodes[2], '2/0')
})

test('a leaf hash is prefixed with 0x00', () => {
  const bytes = Buffer.from('anything')
  assert.equal(toHex(leafHash(sha256, bytes)), toHex(sha256(Buffer.concat([Buffer.from([0]), bytes]))))
})

test('leafHash handles data larger than any envelope', () => {
  const bytes = new Uint8Array(40_000).fill(7)
  assert.equal(toHex(leafHash(sha256, bytes)), toHex(sha256(Buffer.concat([Buffer.from([0]), bytes]))))
})

describe('refuses', () => {
  const root = merkleRoot(sha256, LEAVES.slice(0, 3))
  for (const [index, size] of [
    [3, 3],
    [-1, 3],
    [0, 0],
    [0.5, 3],
    [0, 2 ** 54],
    [Number.NaN, 3],
  ] as const) {
    test(`leaf ${index} of ${size}`, () => {
      refuses('merkle_range', () => verifyInclusion(sha256, LEAVES[0]!, index, size, [], root))
    })
  }

  test('a path to an absent leaf', () => {
    refuses('merkle_range', () => inclusionPath(sha256, LEAVES.slice(0, 3), 3))
  })

  test('a hash of another length, which would move the boundary between left and right', () => {
    refuses('merkle_path', () => verifyInclusion(sha256, LEAVES[0]!, 0, 2, [LEAVES[1]!.subarray(1)], root))
  })

  test('a frontier whose number of hashes does not fit its size', () => {
    refuses('merkle_range', () => frontierRoot(sha256, { size: 3, hashes: [LEAVES[0]!] }))
    refuses('merkle_range', () => frontierRoot(sha256, { size: 0, hashes: [LEAVES[0]!] }))
  })
})
