import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fromHex, toHex } from '../../src/proof/bytes.ts'
import { type EntryProof, parseEntryProof } from '../../src/proof/offline/entry-proof.ts'
import { verifyProof } from '../../src/proof/offline/verify-proof.ts'
import { leafHash, merkleRoot, verifyConsistency, verifyInclusion } from '../../src/proof/tree/merkle.ts'
import { consistencyRanges, inclusionRanges, type LeafRange } from '../../src/proof/tree/tree-ranges.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { vectors } from './vectors.ts'

type ProofVectors = {
  readonly inclusion: readonly {
    readonly size: number
    readonly index: number
    readonly leaf: string
    readonly root: string
    readonly path: readonly string[]
  }[]
  readonly consistency: readonly {
    readonly from: number
    readonly to: number
    readonly root1: string
    readonly root2: string
    readonly path: readonly string[]
  }[]
  readonly proofs: readonly object[]
}

const { sha256 } = nativeProviders
const file = new URL('../vectors/proofs.json', import.meta.url)
const { inclusion, consistency, proofs }: ProofVectors = JSON.parse(readFileSync(file, 'utf8'))

/** Leaf i of the vectors' trees is the leaf hash of i as 8 bytes, big-endian. */
const LEAVES = Array.from({ length: 65_537 }, (_, i) => {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt32BE(i, 4)
  return leafHash(sha256, bytes)
})

const rootsOf = (ranges: readonly LeafRange[]) =>
  ranges.map(({ start, end }) => toHex(merkleRoot(sha256, LEAVES.slice(start, end))))

test('inclusion paths of the vectors are rebuilt and verify', () => {
  for (const { size, index, leaf, root, path } of inclusion) {
    assert.equal(toHex(LEAVES[index]!), leaf)
    assert.deepEqual(rootsOf(inclusionRanges(index, size)), path, `leaf ${index} of ${size}`)
    verifyInclusion(sha256, fromHex(leaf), index, size, path.map(fromHex), fromHex(root))
  }
})

test('consistency proofs of the vectors are rebuilt and verify', () => {
  for (const { from, to, root1, root2, path } of consistency) {
    assert.deepEqual(rootsOf(consistencyRanges(from, to)), path, `from ${from} to ${to}`)
    verifyConsistency(sha256, from, to, path.map(fromHex), fromHex(root1), fromHex(root2))
  }
})

test('proofs of the vectors match the ledger in vectors.json', () => {
  const trust = {
    kids: [vectors.key.kid],
    noteKey: vectors.checkpoint.verifierKey,
    storedCheckpoints: [vectors.checkpoint.note],
    consistency: null,
  }
  const parsed: EntryProof[] = proofs.map((proof) => parseEntryProof(JSON.stringify(proof)))
  for (const proof of parsed) {
    const { stored, item } = verifyProof(proof, trust, nativeProviders)
    assert.equal(stored!.size, vectors.entries.length)
    assert.equal(item === null, proof.item === null)
  }
  assert.equal(parsed.length, 10)
  assert.equal(parsed.filter(({ item }) => item !== null).length, 5)
})
