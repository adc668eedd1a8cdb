import { equalBytes } from '../bytes.ts'
import { HASH_BYTES, type Sha256 } from '../crypto.ts'
import { ProofError } from '../error.ts'

/*
 * Merkle trees of RFC 9162 §2.1, over a ledger's envelopes and over a batch's items. Sizes go up to 2^53, so the code
 * halves numbers with Math.floor, never with shifts.
 */

const LEAF_PREFIX = 0x00
const NODE_PREFIX = 0x01

/** Size in bytes of the buffer for hashed bytes. Any envelope fits into it. A larger input gets a buffer of its own. */
const LEAF_SCRATCH_BYTES = 1 + 32_768
const leafScratch = new Uint8Array(LEAF_SCRATCH_BYTES)
leafScratch[0] = LEAF_PREFIX

const nodeScratch = new Uint8Array(1 + 2 * HASH_BYTES)
nodeScratch[0] = NODE_PREFIX

/** Returns H(0x00 ‖ bytes). */
export function leafHash(sha256: Sha256, bytes: Uint8Array): Uint8Array {
  const length = 1 + bytes.length
  if (length <= LEAF_SCRATCH_BYTES) {
    leafScratch.set(bytes, 1)
    return sha256(leafScratch.subarray(0, length))
  }
  const prefixed = new Uint8Array(length)
  prefixed.set(bytes, 1)
  return sha256(prefixed)
}

/** Returns H(0x01 ‖ left ‖ right). */
export function nodeHash(sha256: Sha256, left: Uint8Array, right: Uint8Array): Uint8Array {
  nodeScratch.set(left, 1)
  nodeScratch.set(right, 1 + HASH_BYTES)
  return sha256(nodeScratch)
}

/** Returns the root over leaf hashes. For zero leaves the root is H(""). */
export function merkleRoot(sha256: Sha256, leaves: readonly Uint8Array[]): Uint8Array {
  let level = leaves
  while (level.length > 1) level = parents(sha256, level)
  return level[0] ?? sha256(new Uint8Array(0))
}

/** Returns the sibling hashes from the leaf at `index` up to the root. Throws `merkle_range`. */
export function inclusionPath(sha256: Sha256, leaves: readonly Uint8Array[], index: number): Uint8Array[] {
  refuseOutside(index, leaves.length)
  const path: Uint8Array[] = []
  let level = leaves
  for (let at = index; level.length > 1; at = Math.floor(at / 2)) {
    const sibling = level[at % 2 === 0 ? at + 1 : at - 1]
    if (sibling) path.push(sibling)
    level = parents(sha256, level)
  }
  return path
}

/**
 * Returns the next level of the tree. If the last node has no sibling, it moves up unhashed. The result is the same
 * tree that RFC 9162 defines by splits at powers of two.
 */
function parents(sha256: Sha256, level: readonly Uint8Array[]): Uint8Array[] {
  const above: Uint8Array[] = []
  let i = 0
  for (; i + 1 < level.length; i += 2) above.push(nodeHash(sha256, level[i]!, level[i + 1]!))
  if (i < level.length) above.push(level[i]!)
  return above
}

/**
 * Verifies inclusion (RFC 9162 §2.1.3.2). Throws `merkle_range` if the tree has no such leaf. Throws `merkle_path` if
 * the path is too short, too long, or leads to another root.
 *
 * `size` MUST come from a signed value, because the same path and index are valid in trees of many sizes.
 */
export function verifyInclusion(
  sha256: Sha256,
  leaf: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
  root: Uint8Array,
): void {
  if (!equalBytes(inclusionRoot(sha256, leaf, index, size, path), root))
    throw new ProofError(
      'merkle_path',
      `the path from leaf ${index} of ${size} leads to another root than expected`,
    )
}

/**
 * Returns the root to which the path leads. The caller MUST compare this root with a trusted root, or verify a
 * signature over it. Throws the same codes as verifyInclusion.
 */
export function inclusionRoot(
  sha256: Sha256,
  leaf: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
): Uint8Array {
  refuseOutside(index, size)
  let at = index
  let last = size - 1
  let hash = leaf
  for (const sibling of path) {
    if (last === 0)
      throw new ProofError('merkle_path', `the path has ${path.length} hashes, too many for ${size} leaves`)
    if (sibling.length !== HASH_BYTES)
      throw new ProofError('merkle_path', `a hash of the path has ${sibling.length} bytes, not ${HASH_BYTES}`)
    if (at % 2 === 1 || at === last) {
      hash = nodeHash(sha256, sibling, hash)
      for (; at % 2 === 0; at /= 2) last /= 2 // skips levels on which the last node has no sibling
    } else hash = nodeHash(sha256, hash, sibling)
    at = Math.floor(at / 2)
    last = Math.floor(last / 2)
  }
  if (last !== 0)
    throw new ProofError('merkle_path', `the path has ${path.length} hashes, too few for ${size} leaves`)
  return hash
}

/**
 * Verifies that the tree of `root2` begins with the leaves of the tree of `root1` (RFC 9162 §2.1.4.2). Throws
 * `merkle_range` if `size1` is 0 or larger than `size2`. Throws `merkle_path` if the path does not join the two roots.
 *
 * Sizes and roots MUST come from signed values, because anybody can make a tree that begins with any leaves.
 */
export function verifyConsistency(
  sha256: Sha256,
  size1: number,
  size2: number,
  path: readonly Uint8Array[],
  root1: Uint8Array,
  root2: Uint8Array,
): void {
  if (!equalBytes(consistencyRoot(sha256, size1, size2, path, root1), root2))
    throw new ProofError(
      'merkle_path',
      `the path from ${size1} to ${size2} leaves leads to another root than expected`,
    )
}

/**
 * Returns the root of a tree of `size2` leaves that begins with the leaves of `root1`. The caller MUST compare the
 * returned root with a trusted root, or verify a signature over it. Throws the same codes as verifyConsistency, also if
 * the path does not lead to `root1`.
 */
export function consistencyRoot(
  sha256: Sha256,
  size1: number,
  size2: number,
  path: readonly Uint8Array[],
  root1: Uint8Array,
): Uint8Array {
  refuseOutside(size1 - 1, size2)
  const ends = `from ${size1} to ${size2} leaves`
  if (path.some((hash) => hash.length !== HASH_BYTES))
    throw new ProofError('merkle_path', `a hash of the path does not have ${HASH_BYTES} bytes`)
  let at = size1 - 1
  let last = size2 - 1
  for (; at % 2 === 1; at = Math.floor(at / 2)) last = Math.floor(last / 2)
  // The path does not contain the smaller root in two cases: the smaller tree is one perfect subtree (at === 0), or
  // both trees are equal.
  const isRootKnown = at === 0 || size1 === size2
  const start = isRootKnown ? root1 : path[0]
  if (start === undefined) throw new ProofError('merkle_path', `a path ${ends} needs at least one hash`)
  let [hash1, hash2] = [start, start]
  if (size1 === size2) last = 0
  for (const sibling of isRootKnown ? path : path.slice(1)) {
    if (last === 0)
      throw new ProofError('merkle_path', `the path ${ends} has ${path.length} hashes, which are too many`)
    if (at % 2 === 1 || at === last) {
      hash1 = nodeHash(sha256, sibling, hash1)
      hash2 = nodeHash(sha256, sibling, hash2)
      for (; at % 2 === 0; at /= 2) last /= 2 // skips levels on which the last node has no sibling
    } else hash2 = nodeHash(sha256, hash2, sibling)
    at = Math.floor(at / 2)
    last = Math.floor(last / 2)
  }
  if (last !== 0)
    throw new ProofError('merkle_path', `the path ${ends} has ${path.length} hashes, which are too few`)
  if (!equalBytes(hash1, root1))
    throw new ProofError('merkle_path', `the path ${ends} does not start at the smaller root`)
  return hash2
}

function refuseOutside(index: number, size: number): void {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) {
    throw new ProofError('merkle_range', `leaf ${index} is not one of ${size} leaves`)
  }
}

/**
 * Number of hashes in a tile. Stored hashes have the layout of C2SP tlog-tiles. There is one level of tiles for every 8
 * levels of the tree.
 */
export const TILE_HASHES = 256
export const TILE_LEVEL_BITS = 8

/** Frontier of a growing tree: the roots of its perfect subtrees, largest first. */
export type Frontier = { size: number; hashes: Uint8Array[] }

export function emptyFrontier(): Frontier {
  return { size: 0, hashes: [] }
}

/**
 * Adds a leaf hash to the frontier in place. Calls `onNode` for every perfect subtree of level ≥ 1 that the leaf
 * completes, lowest level first. `index` is the subtree's position among the subtrees of its level.
 */
export function extendFrontier(
  sha256: Sha256,
  frontier: Frontier,
  leaf: Uint8Array,
  onNode?: (level: number, index: number, hash: Uint8Array) => void,
): void {
  let hash = leaf
  let level = 0
  for (let index = frontier.size; index % 2 === 1; ) {
    hash = nodeHash(sha256, frontier.hashes.pop()!, hash)
    index = (index - 1) / 2
    onNode?.(++level, index, hash)
  }
  frontier.hashes.push(hash)
  frontier.size++
}

/**
 * Returns the root that merkleRoot returns for the same leaves. Throws `merkle_range` if the number of hashes does not
 * fit the size.
 */
export function frontierRoot(sha256: Sha256, frontier: Frontier): Uint8Array {
  const { size, hashes } = frontier
  if (hashes.length !== onesOf(size))
    throw new ProofError(
      'merkle_range',
      `a tree of ${size} leaves has ${onesOf(size)} perfect subtrees, not ${hashes.length}`,
    )
  let root = hashes.at(-1) ?? sha256(new Uint8Array(0))
  for (let i = hashes.length - 2; i >= 0; i--) root = nodeHash(sha256, hashes[i]!, root)
  return root
}

function onesOf(size: number): number {
  let ones = 0
  for (let left = size; left >= 1; left = Math.floor(left / 2)) ones += left % 2
  return ones
}
