import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { RangeTree } from '../../src/proof/bundle/range.ts'
import { fromHex, toHex } from '../../src/proof/bytes.ts'
import type { ProofErrorCode } from '../../src/proof/error.ts'
import { leafHash } from '../../src/proof/tree/merkle.ts'
import { inclusionRanges } from '../../src/proof/tree/tree-ranges.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { verifyTexts } from '../helpers/test-bundle.ts'
import { refuses } from './refuses.ts'

/** Vectors made by an implementation in another language, from the ledger in vectors.json. */
type BundleVectors = {
  readonly noteVerifierKey: string
  readonly firstKid: string
  readonly bundles: readonly {
    readonly about: string
    readonly entries: number
    readonly records: number | null
    readonly text: string
  }[]
  readonly refused: readonly {
    readonly about: string
    readonly code: ProofErrorCode
    readonly text: string
  }[]
  /** Leaf i of the tree is the leaf hash of the number i as 8 bytes, big-endian. */
  readonly ranges: readonly {
    readonly size: number
    readonly from: number
    readonly to: number
    readonly root: string
    readonly left: readonly string[]
    readonly right: readonly string[]
  }[]
}

const { sha256 } = nativeProviders
const file = new URL('../vectors/bundles.json', import.meta.url)
const given: BundleVectors = JSON.parse(readFileSync(file, 'utf8'))
const linesOf = (text: string) => text.trimEnd().split('\n')

test('bundles of the vectors verify', () => {
  for (const { about, entries, records, text } of given.bundles) {
    const found = verifyTexts(linesOf(text), { kids: [given.firstKid], noteKey: given.noteVerifierKey })
    assert.deepEqual(
      [found.entries, found.records, found.completeness, found.keys],
      [entries, records, about.startsWith('range') ? 'complete' : 'selection', 'given'],
      about,
    )
  }
})

test('refuses each invalid bundle of the vectors with its code', () => {
  for (const { code, text } of given.refused) refuses(code, () => verifyTexts(linesOf(text)))
})

test('ranges of the vectors have the given roots', () => {
  for (const { size, from, to, root, left, right } of given.ranges) {
    const tree = new RangeTree({ from, to, left: left.map(fromHex), right: right.map(fromHex) }, sha256)
    for (let i = from; i <= to; i++) {
      const bytes = Buffer.alloc(8)
      bytes.writeUInt32BE(i, 4)
      tree.append(leafHash(sha256, bytes))
    }
    tree.finish({ origin: '', size, root: fromHex(root), chain: fromHex(root) })
    const ranges = inclusionRanges(to, size)
    assert.equal(right.length, ranges.filter(({ start }) => start > to).length, toHex(fromHex(root)))
  }
})
