import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { decode, encode, rfc8949EncodeOptions, Tagged } from 'cborg'
import fc from 'fast-check'
import { concat, fromBase64, fromHex, toHex, utf8Encode } from '../../../src/proof/bytes.ts'
import { toBeSigned } from '../../../src/proof/envelope/cose.ts'
import { ProofError } from '../../../src/proof/error.ts'
import { ENVELOPE_BYTES_MAX, RECEIPT_BYTES_MAX, RECEIPT_FILE_BYTES_MAX } from '../../../src/proof/limits.ts'
import { makeFindKey } from '../../../src/proof/offline/key-hints.ts'
import { encodeCoseKey, encodeCoseKeySet } from '../../../src/proof/receipt/cose-key.ts'
import {
  attachReceipt,
  detachReceipt,
  encodeConsistencyReceipt,
  encodeInclusionReceipt,
  type LeafPath,
  parseConsistencyReceipt,
  parseInclusionReceipt,
  parseReceiptHeader,
  type ReceiptItem,
} from '../../../src/proof/receipt/receipt.ts'
import { addTreeHead, encodeTreeHeader, findTreeHead } from '../../../src/proof/receipt/tree-head.ts'
import {
  verifyConsistencyReceipt,
  verifyReceipt,
  verifyReceiptOf,
} from '../../../src/proof/receipt/verify-receipt.ts'
import { itemBytes } from '../../../src/proof/statement/batch.ts'
import {
  formatVerifierKey,
  parseCheckpoint,
  signCheckpoint,
  verifyCheckpoint,
} from '../../../src/proof/tree/checkpoint.ts'
import { inclusionPath, leafHash, merkleRoot } from '../../../src/proof/tree/merkle.ts'
import { consistencyRanges } from '../../../src/proof/tree/tree-ranges.ts'
import { makeEd25519Signer, nativeProviders } from '../../../src/signing/native.ts'
import { runs } from '../../helpers/runs.ts'
import { refuses } from '../refuses.ts'

const { sha256, verifySignature } = nativeProviders

type Proof = {
  readonly ledger: { readonly issuer: string; readonly origin: string }
  readonly keys: readonly { readonly alg: 'EdDSA'; readonly spki: string }[]
  readonly entry: { readonly seq: number; readonly envelope: string }
  readonly item?: {
    readonly item: object
    readonly index: number
    readonly count: number
    readonly path: string[]
  }
}

/** Proofs of the entries in the vectors' ledger. The tests use their own note key. */
const file = new URL('../../vectors/proofs.json', import.meta.url)
const { proofs }: { proofs: readonly Proof[] } = JSON.parse(readFileSync(file, 'utf8'))
const bySeq = new Map(proofs.map(({ entry }) => [entry.seq, fromBase64(entry.envelope)]))
const ENVELOPES = Array.from({ length: bySeq.size }, (_, seq) => bySeq.get(seq)!)
const LEAVES = ENVELOPES.map((envelope) => leafHash(sha256, envelope))
const SIZE = LEAVES.length
const ROOT = merkleRoot(sha256, LEAVES)
const { issuer, origin } = proofs[0]!.ledger
const signer = makeEd25519Signer(sha256, new Uint8Array(32).fill(9))
const noteKey = formatVerifierKey(origin, signer.key.raw, sha256)
const findKey = makeFindKey(
  proofs.flatMap(({ keys }) => keys),
  nativeProviders,
)
const NOTE = addTreeHead(
  signCheckpoint({ origin, size: SIZE, root: ROOT, chain: ROOT }, signer, sha256),
  issuer,
  signer,
  sha256,
)

function headOf({ size = SIZE, root = ROOT, by = signer, about = { issuer, origin } } = {}) {
  const protectedBytes = encodeTreeHeader({ ...about, size }, by.kid)
  return { protectedBytes, signature: by.sign(toBeSigned(protectedBytes, root)) }
}

function receiptOf(
  index: number,
  item: ReceiptItem | null = null,
  inclusion: Partial<LeafPath> = {},
): Uint8Array {
  const path = inclusionPath(sha256, LEAVES, index)
  return encodeInclusionReceipt({ ...headOf(), inclusion: { size: SIZE, index, path, ...inclusion }, item })
}

const fileOf = (index: number, receipt = receiptOf(index)) => attachReceipt(ENVELOPES[index]!, receipt)
const verify = (bytes: Uint8Array, trust: object = {}) =>
  verifyReceipt(bytes, { noteKey, findKey, ...trust }, nativeProviders)

function itemOf({ item }: Proof): ReceiptItem {
  const { item: said, index, count, path } = item!
  return { item: utf8Encode(itemBytes(said as never)), at: { size: count, index, path: path.map(fromHex) } }
}

const BATCH = proofs.find(({ item }) => item !== undefined && item.index === 1)!
const BATCH_FILE = fileOf(BATCH.entry.seq, receiptOf(BATCH.entry.seq, itemOf(BATCH)))

test('every entry and item has a valid receipt, and detaching returns the envelope unchanged', () => {
  assert.ok(SIZE > 5)
  for (const [seq, envelope] of ENVELOPES.entries()) {
    const found = verify(fileOf(seq))
    assert.deepEqual([found.seq, found.size, toHex(found.root), found.item], [seq, SIZE, toHex(ROOT), null])
    assert.deepEqual(detachReceipt(fileOf(seq)), { envelope, receipt: receiptOf(seq) })
    assert.equal(verify(fileOf(seq), { findKey: null }).statement.kind, found.statement.kind)
  }
  for (const proof of proofs.filter(({ item }) => item !== undefined)) {
    const { item } = verify(fileOf(proof.entry.seq, receiptOf(proof.entry.seq, itemOf(proof))))
    assert.deepEqual(item, proof.item!.item)
  }
})

test('the bytes follow RFC 9942', () => {
  const receipt = decode(receiptOf(2), { useMaps: true, tags: Tagged.preserve(18) }) as Tagged
  const [protectedBytes, unprotected, payload, signature] = receipt.value as [
    Uint8Array,
    Map<number, never>,
    null,
    Uint8Array,
  ]
  const claims = new Map<number, unknown>([
    [1, issuer],
    [2, origin],
  ])
  assert.deepEqual(
    decode(protectedBytes, { useMaps: true }),
    new Map<number, unknown>([
      [1, -8],
      [4, new Uint8Array(signer.kid)],
      [15, claims],
      [395, 1],
      [-65_537, SIZE],
    ]),
  )
  assert.deepEqual([payload, signature.length, unprotected.size], [null, 64, 1])
  const [proof, ...others] = (unprotected.get(396)! as Map<number, Uint8Array[]>).get(-1)!
  assert.deepEqual(others, [])
  const path = inclusionPath(sha256, LEAVES, 2).map((hash) => new Uint8Array(hash))
  assert.deepEqual(decode(proof!), [SIZE, 2, path])
})

test('the key of receipts is a COSE Key of RFC 9053', () => {
  const key = new Map<number, unknown>([
    [1, 1],
    [2, new Uint8Array(signer.kid)],
    [3, -8],
    [-1, 6],
    [-2, new Uint8Array(signer.key.raw)],
  ])
  assert.deepEqual(decode(encodeCoseKey(signer), { useMaps: true }), key)
  assert.deepEqual(decode(encodeCoseKeySet([signer, signer]), { useMaps: true }), [key, key])
})

test('a receipt verifies for its own bytes of any kind, not for other bytes or a batch record', () => {
  const foreign = utf8Encode('no entry of ours')
  const leaves = [...LEAVES, leafHash(sha256, foreign)]
  const root = merkleRoot(sha256, leaves)
  const size = leaves.length
  const inclusion = { size, index: SIZE, path: inclusionPath(sha256, leaves, SIZE) }
  const receipt = encodeInclusionReceipt({ ...headOf({ size, root }), inclusion, item: null })
  const check = (bytes: Uint8Array, shown = receipt) =>
    verifyReceiptOf(bytes, shown, noteKey, nativeProviders)
  assert.deepEqual(check(foreign), { leaf: leaves[SIZE], seq: SIZE, size, root })
  refuses('signature_invalid', () => check(utf8Encode('no entry of ourz')))
  const { seq } = BATCH.entry
  refuses('receipt_syntax', () => check(ENVELOPES[seq]!, receiptOf(seq, itemOf(BATCH))))
})

describe('a receipt is refused', () => {
  const seq = BATCH.entry.seq - 1
  test('for another leaf, index or size', () => {
    refuses('signature_invalid', () => verify(fileOf(seq, receiptOf(seq + 1))))
    refuses('signature_invalid', () => verify(fileOf(seq, receiptOf(seq, null, { index: seq - 1 }))))
    refuses('proof_contradicts_entry', () => verify(fileOf(seq, receiptOf(seq, null, { size: SIZE - 1 }))))
    refuses('merkle_range', () => verify(fileOf(seq, receiptOf(seq, null, { index: SIZE }))))
    refuses('merkle_path', () => verify(fileOf(seq, receiptOf(seq, null, { path: [] }))))
  })

  test('if its path fits a smaller size, because the size is signed', () => {
    // The last leaf in a tree of three has the same path as the second leaf in a tree of two. If receipts did not
    // bind the size, entry 2 could be presented as entry 1.
    const [a, b, c] = LEAVES as [Uint8Array, Uint8Array, Uint8Array]
    const root = merkleRoot(sha256, [a, b, c])
    const path = inclusionPath(sha256, [a, b, c], 2)
    const head = headOf({ size: 3, root })
    const shown = (size: number, index: number) =>
      attachReceipt(
        ENVELOPES[2]!,
        encodeInclusionReceipt({ ...head, inclusion: { size, index, path }, item: null }),
      )
    assert.equal(verify(shown(3, 2)).seq, 2)
    refuses('proof_contradicts_entry', () => verify(shown(2, 1)))
  })

  test('for another ledger or key', () => {
    const other = makeEd25519Signer(sha256, new Uint8Array(32).fill(8))
    const withHead = (head: ReturnType<typeof headOf>) =>
      fileOf(
        seq,
        encodeInclusionReceipt({
          ...head,
          inclusion: { size: SIZE, index: seq, path: inclusionPath(sha256, LEAVES, seq) },
          item: null,
        }),
      )
    const elsewhere = 'ledger.example/led_01jegv5gyme00r000000000009'
    const theirs = formatVerifierKey(elsewhere, signer.key.raw, sha256)
    const foreign = withHead(headOf({ about: { issuer, origin: elsewhere } }))
    refuses('checkpoint_foreign', () => verify(foreign))
    refuses('ledger_foreign', () => verify(foreign, { noteKey: theirs }))
    refuses('ledger_foreign', () => verify(withHead(headOf({ about: { issuer: 'https://x', origin } }))))
    refuses('kid_mismatch', () => verify(withHead(headOf({ by: other }))))
    refuses('kid_mismatch', () =>
      verify(fileOf(seq), { noteKey: formatVerifierKey(origin, other.key.raw, sha256) }),
    )
    refuses('verifier_key', () => verify(fileOf(seq), { noteKey: 'x' }))
    refuses('key_unknown', () => verify(fileOf(seq), { findKey: () => null }))
  })

  test('if its item is changed or not shown as hashed', () => {
    const { item, at } = itemOf(BATCH)
    const shown = (changed: Partial<ReceiptItem>) =>
      fileOf(BATCH.entry.seq, receiptOf(BATCH.entry.seq, { item, at, ...changed }))
    assert.ok(verify(shown({})).item)
    refuses('batch_contradicts_statement', () => verify(shown({ at: { ...at, size: at.size + 1 } })))
    refuses('merkle_path', () => verify(shown({ at: { ...at, index: at.index - 1 } })))
    refuses('batch_item', () => verify(shown({ item: utf8Encode('{}') })))
    refuses('batch_item', () => verify(shown({ item: concat([item, utf8Encode(' ')]) })))
    refuses('json_syntax', () => verify(shown({ item: utf8Encode('{') })))
    refuses('bad_utf8', () => verify(shown({ item: new Uint8Array([0xff]) })))
    refuses('batch_contradicts_statement', () => verify(fileOf(seq, receiptOf(seq, { item, at }))))
  })
})

describe('malformed receipts', () => {
  const { protectedBytes, signature } = headOf()
  const hash = new Uint8Array(32)
  const proof = encode([SIZE, 0, [hash]], rfc8949EncodeOptions)
  const sign1 = (...parts: unknown[]) => encode(new Tagged(18, parts), rfc8949EncodeOptions)
  const map = (...members: [unknown, unknown][]) => new Map(members)
  const withVdp = (vdp: unknown, ...more: [unknown, unknown][]) =>
    sign1(protectedBytes, map([396, vdp], ...more), null, signature)
  const withProof = (value: unknown) => withVdp(map([-1, [encode(value, rfc8949EncodeOptions)]]))
  const item = (value: unknown) => withVdp(map([-1, [proof]]), [-65_538, value])

  test('are refused for a wrong structure', () => {
    const good = withVdp(map([-1, [proof]]))
    assert.deepEqual(parseInclusionReceipt(good).inclusion, { size: SIZE, index: 0, path: [hash] })
    for (const bytes of [
      withVdp(map()),
      withVdp([]),
      withVdp(map([-2, [proof]])),
      withVdp(map([-1, [proof]], [-2, [proof]])),
      withVdp(map([-1, []])),
      withVdp(map([-1, [proof, proof]])),
      withVdp(map([-1, proof])),
      withVdp(map([-1, ['x']])),
      withVdp(map([-1, [proof]]), [1, 1]),
      sign1(protectedBytes, map(), null, signature),
      ...[
        [],
        [1, 2],
        [1, 2, [], 4],
        [-1, 0, []],
        [1, -1, []],
        [1.5, 0, []],
        ['1', 0, []],
        [1, 0, [hash.subarray(1)]],
      ].map(withProof),
      ...[[1, 0, 'x'], [1, 0, [1]], [1, 0, Array(55).fill(hash)], 5, map(), [2 ** 53, 0, []]].map(withProof),
      ...['x', [], [hash], [hash, 'x'], ['x', proof], [hash, proof, proof], [hash, hash]].map(item),
      item(undefined),
    ])
      refuses(/receipt_syntax|cbor_/, () => parseInclusionReceipt(bytes))
    for (const bytes of [
      sign1(protectedBytes, map(), hash, signature),
      sign1(protectedBytes, map(), null, signature.subarray(1)),
      sign1(protectedBytes, map(), null, 'x'),
      sign1(protectedBytes, [], null, signature),
      sign1('x', map(), null, signature),
      sign1(protectedBytes, map(), 5, signature),
      sign1(protectedBytes, map(), null),
      encode([protectedBytes, map(), null, signature], rfc8949EncodeOptions),
      encode(5),
    ])
      refuses('cose_structure', () => parseInclusionReceipt(bytes))
    refuses('receipt_syntax', () => parseInclusionReceipt(new Uint8Array(RECEIPT_BYTES_MAX + 1)))
    refuses('cbor_malformed', () => parseInclusionReceipt(new Uint8Array(0)))
    // The head of this map is longer than necessary.
    const long = Buffer.from(toHex(good).replace('19018c', '1a0000018c'), 'hex')
    refuses('cbor_not_deterministic', () => parseInclusionReceipt(new Uint8Array(long)))
    refuses('receipt_syntax', () => parseConsistencyReceipt(good))
  })

  test('are refused for a wrong protected header', () => {
    const members: [unknown, unknown][] = [
      [1, -8],
      [4, signer.kid],
      [15, map([1, issuer], [2, origin])],
      [395, 1],
      [-65_537, SIZE],
    ]
    const header = (label: unknown, value: unknown) => {
      const kept = members.filter(([one]) => one !== label)
      return encode(new Map(value === undefined ? kept : [...kept, [label, value]]), rfc8949EncodeOptions)
    }
    assert.equal(parseReceiptHeader(header(1, -8)).size, SIZE)
    for (const [label, value] of [
      [4, undefined],
      [4, 'x'],
      [4, hash.subarray(1)],
      [15, undefined],
      [15, 'x'],
      [15, map([1, issuer])],
      [15, map([1, issuer], [2, 5])],
      [15, map([1, 5], [2, origin])],
      [15, map([1, issuer], [2, origin], [6, 1])],
      [395, 2],
      [-65_537, -1],
      [-65_537, 'x'],
      [16, 'x'],
    ] as const)
      refuses('receipt_syntax', () => parseReceiptHeader(header(label, value)))
    const withoutClaims = members.map(([label, value]) => [label === 15 ? 14 : label, value] as const)
    refuses('receipt_syntax', () => parseReceiptHeader(encode(new Map(withoutClaims), rfc8949EncodeOptions)))
    refuses('cose_algorithm', () => parseReceiptHeader(header(1, -7)))
    refuses('cose_crit', () => parseReceiptHeader(header(2, [395])))
    const odd = members
      .filter(([label]) => label !== 4)
      .map(([label, value]) => [label, label === 1 ? -7 : value] as const)
    refuses('receipt_syntax', () => parseReceiptHeader(encode(new Map(odd), rfc8949EncodeOptions)))
    refuses('receipt_syntax', () => parseReceiptHeader(encode([1])))
  })

  test('are refused as a file: a wrong receipt header, structure or size', () => {
    const [, , payload] = (decode(ENVELOPES[0]!, { useMaps: true, tags: Tagged.preserve(18) }) as Tagged)
      .value
    const statement = (unprotected: unknown, said: unknown = payload, by: unknown = signature) =>
      sign1(protectedBytes, unprotected, said, by)
    const receipts = map([394, [receiptOf(0)]])
    assert.deepEqual(detachReceipt(statement(receipts)).receipt, receiptOf(0))
    for (const bytes of [
      ENVELOPES[0]!,
      statement(map([394, []])),
      statement(map([394, [receiptOf(0), receiptOf(0)]])),
      statement(map([394, [receiptOf(0)]], [1, 1])),
      new Uint8Array(RECEIPT_FILE_BYTES_MAX + 1),
    ])
      refuses('receipt_syntax', () => detachReceipt(bytes))
    for (const bytes of [statement(receipts, null), statement(receipts, payload, signature.subarray(1))])
      refuses('cose_structure', () => detachReceipt(bytes))
    // A file with a receipt may have 40,960 bytes, so this file is short enough. But the envelope in it is longer than
    // an envelope may be.
    refuses('envelope_too_large', () =>
      detachReceipt(statement(receipts, new Uint8Array(ENVELOPE_BYTES_MAX))),
    )
  })
})

test('a receipt with any byte changed, cut or added is refused with a ProofError', () => {
  const files = [fileOf(0), BATCH_FILE]
  const change = fc.record({
    file: fc.constantFrom(...files),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    with: fc.uint8Array({ maxLength: 4 }),
    cut: fc.nat(4),
  })
  fc.assert(
    fc.property(change, ({ file, at, with: bytes, cut }) => {
      const from = Math.floor(at * file.length)
      const changed = concat([file.subarray(0, from), bytes, file.subarray(from + cut)])
      if (Buffer.compare(changed, file) === 0) return
      assert.throws(() => verify(changed), ProofError)
    }),
    { numRuns: runs(20_000) },
  )
  for (let at = 0; at < BATCH_FILE.length; at += process.env['CI'] === undefined ? 7 : 1) {
    const changed = BATCH_FILE.slice()
    changed[at]! ^= 1
    assert.throws(() => verify(changed), ProofError, `byte ${at}`)
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      for (const parse of [verify, parseInclusionReceipt, parseConsistencyReceipt, parseReceiptHeader])
        assert.throws(() => parse(bytes), ProofError)
    }),
    { numRuns: runs(5_000) },
  )
})

describe('the tree head in a checkpoint', () => {
  test('is a signature line that note verifiers ignore', () => {
    const { checkpoint, signatures } = parseCheckpoint(NOTE)
    assert.equal(signatures.length, 2)
    assert.deepEqual(verifyCheckpoint(NOTE, { origin, key: signer.key }, sha256, verifySignature), checkpoint)
    assert.equal(toHex(findTreeHead(NOTE, signer.key, sha256)!), toHex(headOf().signature))
  })

  test('is null if its line is missing, of another key, or of another length', () => {
    const bare = signCheckpoint({ origin, size: SIZE, root: ROOT, chain: ROOT }, signer, sha256)
    const other = makeEd25519Signer(sha256, new Uint8Array(32).fill(8))
    assert.equal(findTreeHead(bare, signer.key, sha256), null)
    assert.equal(findTreeHead(NOTE, other.key, sha256), null)
    const line = NOTE.trimEnd().split('\n').at(-1)!
    const [dash, name, encoded] = line.split(' ') as [string, string, string]
    const short = Buffer.from(encoded, 'base64').subarray(0, -1).toString('base64')
    assert.equal(findTreeHead(NOTE.replace(line, `${dash} ${name} ${short}`), signer.key, sha256), null)
  })
})

describe('a consistency receipt', () => {
  const kept = (size: number) => ({
    origin,
    size,
    root: merkleRoot(sha256, LEAVES.slice(0, size)),
    chain: ROOT,
  })
  const receipt = (from: number, size = SIZE, head = headOf()) => {
    const path = consistencyRanges(from, size).map(({ start, end }) =>
      merkleRoot(sha256, LEAVES.slice(start, end)),
    )
    return encodeConsistencyReceipt({ ...head, consistency: { from, to: size, path } })
  }
  const check = (bytes: Uint8Array, checkpoint = kept(3), key = noteKey) =>
    verifyConsistencyReceipt(bytes, checkpoint, key, nativeProviders)

  test('connects every smaller size with the signed size', () => {
    for (let from = 1; from <= SIZE; from++)
      assert.deepEqual(check(receipt(from), kept(from)), { size: SIZE, root: ROOT })
  })

  test('is refused for another checkpoint, ledger, key or size', () => {
    refuses('consistency_missing', () => check(receipt(4)))
    refuses('merkle_path', () => check(receipt(3), { ...kept(3), root: ROOT }))
    refuses('checkpoint_foreign', () => check(receipt(3), { ...kept(3), origin: 'x/y' }))
    refuses('checkpoint_foreign', () =>
      check(receipt(3), kept(3), formatVerifierKey('x/y', signer.key.raw, sha256)),
    )
    refuses('proof_contradicts_entry', () => check(receipt(3, SIZE - 1)))
    refuses('signature_invalid', () => check(receipt(3, SIZE, headOf({ root: LEAVES[0]! }))))
    // An operator who truncates and forks the ledger can sign the new root. But the operator cannot prove that the new
    // root is consistent with the old root.
    const forked = [...LEAVES.slice(0, 2), ...LEAVES.slice(3)]
    const root = merkleRoot(sha256, forked)
    const path = consistencyRanges(3, forked.length).map(({ start, end }) =>
      merkleRoot(sha256, forked.slice(start, end)),
    )
    const head = headOf({ size: forked.length, root })
    const shown = encodeConsistencyReceipt({ ...head, consistency: { from: 3, to: forked.length, path } })
    refuses('merkle_path', () => check(shown))
  })
})
