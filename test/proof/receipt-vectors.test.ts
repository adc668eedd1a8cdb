import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fromHex, toHex } from '../../src/proof/bytes.ts'
import { toBeSigned } from '../../src/proof/envelope/cose.ts'
import {
  attachReceipt,
  detachReceipt,
  encodeConsistencyReceipt,
  encodeInclusionReceipt,
  parseConsistencyReceipt,
  parseInclusionReceipt,
} from '../../src/proof/receipt/receipt.ts'
import { addTreeHead, encodeTreeHeader } from '../../src/proof/receipt/tree-head.ts'
import { verifyConsistencyReceipt, verifyReceipt } from '../../src/proof/receipt/verify-receipt.ts'
import { parseVerifierKey } from '../../src/proof/tree/checkpoint.ts'
import { leafHash, merkleRoot } from '../../src/proof/tree/merkle.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'
import { vectors } from './vectors.ts'

/** Vectors made by an implementation in another language, from the ledger in vectors.json. Bytes are lower-case hex. */
type ReceiptVectors = {
  readonly noteKeySeed: string
  readonly noteVerifierKey: string
  readonly size: number
  readonly root: string
  readonly protected: string
  readonly toBeSigned: string
  readonly signature: string
  readonly noteLine: string
  readonly receipts: readonly {
    readonly seq: number
    readonly item: string | null
    readonly receipt: string
    readonly statement: string
  }[]
  readonly consistency: readonly { readonly from: number; readonly root: string; readonly receipt: string }[]
  readonly tiles: Readonly<Record<string, string>>
}

const { sha256 } = nativeProviders
const file = new URL('../vectors/receipts.json', import.meta.url)
const given: ReceiptVectors = JSON.parse(readFileSync(file, 'utf8'))
const { origin } = parseVerifierKey(given.noteVerifierKey, sha256)
const signer = makeEd25519Signer(sha256, fromHex(given.noteKeySeed))

test('the signed tree head of the vectors is rebuilt, and equals its line in the note', () => {
  const header = encodeTreeHeader({ issuer: 'https://ledger.example', origin, size: given.size }, signer.kid)
  const message = toBeSigned(header, fromHex(given.root))
  assert.deepEqual([toHex(header), toHex(message)], [given.protected, given.toBeSigned])
  assert.equal(toHex(signer.sign(message)), given.signature)
  const { note } = vectors.checkpoint
  assert.equal(addTreeHead(note, 'https://ledger.example', signer, sha256), note + given.noteLine)
})

test('receipts of the vectors verify, and are encoded byte for byte', () => {
  for (const { seq, item, receipt, statement } of given.receipts) {
    const found = verifyReceipt(
      fromHex(statement),
      { noteKey: given.noteVerifierKey, findKey: null },
      nativeProviders,
    )
    assert.deepEqual(
      [found.seq, found.size, toHex(found.root), found.item?.record ?? null],
      [seq, given.size, given.root, item],
    )
    const { envelope } = detachReceipt(fromHex(statement))
    const again = encodeInclusionReceipt(parseInclusionReceipt(fromHex(receipt)))
    assert.equal(toHex(again), receipt)
    assert.equal(toHex(attachReceipt(envelope, again)), statement)
  }
})

test('consistency receipts of the vectors verify, and are encoded byte for byte', () => {
  assert.equal(given.consistency.length, given.size)
  for (const { from, root, receipt } of given.consistency) {
    const kept = { origin, size: from, root: fromHex(root), chain: fromHex(root) }
    const found = verifyConsistencyReceipt(fromHex(receipt), kept, given.noteVerifierKey, nativeProviders)
    assert.deepEqual([found.size, toHex(found.root)], [given.size, given.root])
    assert.equal(toHex(encodeConsistencyReceipt(parseConsistencyReceipt(fromHex(receipt)))), receipt)
  }
})

test('the leaf tile of the vectors has the signed root, and the entry bundle matches the leaves', () => {
  const tile = Buffer.from(given.tiles[`0/000.p/${given.size}`]!, 'hex')
  const leaves = Array.from({ length: given.size }, (_, i) => tile.subarray(i * 32, i * 32 + 32))
  assert.equal(toHex(merkleRoot(sha256, leaves)), given.root)
  const bundle = Buffer.from(given.tiles[`entries/000.p/${given.size}`]!, 'hex')
  let at = 0
  for (const leaf of leaves) {
    const end = at + 2 + bundle.readUInt16BE(at)
    assert.equal(toHex(leafHash(sha256, bundle.subarray(at + 2, end))), toHex(leaf))
    at = end
  }
  assert.equal(at, bundle.length)
})
