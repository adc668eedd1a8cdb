import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  fromBase64,
  fromBase64Url,
  fromHex,
  toBase64,
  toHex,
  utf8Decode,
  utf8Encode,
} from '../../src/proof/bytes.ts'
import { parseEntryLine } from '../../src/proof/entry/entry-line.ts'
import { verifyEntry } from '../../src/proof/entry/verify-entry.ts'
import { encodeEnvelope, encodeProtected, parseEnvelope, toBeSigned } from '../../src/proof/envelope/cose.ts'
import { formatIdBytes, parseIdBytes } from '../../src/proof/ids.ts'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import { parseJsonText } from '../../src/proof/json/json-text.ts'
import { keyThumbprint, parsePublicKey, spkiOf } from '../../src/proof/keys.ts'
import { batchRoot, itemBytes, itemLeaf, verifyBatchItem } from '../../src/proof/statement/batch.ts'
import { documentDigest } from '../../src/proof/statement/document.ts'
import { buildStatement, parseStatement } from '../../src/proof/statement/statement.ts'
import { genesis, link } from '../../src/proof/tree/chain.ts'
import {
  formatVerifierKey,
  parseCheckpoint,
  parseVerifierKey,
  signCheckpoint,
  verifyCheckpoint,
} from '../../src/proof/tree/checkpoint.ts'
import {
  emptyFrontier,
  extendFrontier,
  frontierRoot,
  inclusionPath,
  leafHash,
  merkleRoot,
  verifyInclusion,
} from '../../src/proof/tree/merkle.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'
import { verifyEnvelope } from '../helpers/verify-envelope.ts'
import { refuses } from './refuses.ts'
import { vectors } from './vectors.ts'

const { sha256, verifySignature } = nativeProviders
const key = parsePublicKey('EdDSA', fromBase64(vectors.key.spki))
const signer = makeEd25519Signer(sha256, fromHex(vectors.key.seed))
const leaves = vectors.entries.map((entry) => fromHex(entry.leaf))

describe('the key of the vectors', () => {
  test('has the public key, DER and thumbprint of the vectors', () => {
    assert.equal(toHex(key.raw), vectors.key.publicKey)
    assert.equal(toBase64(spkiOf('EdDSA', key.raw)), vectors.key.spki)
    assert.equal(toHex(keyThumbprint(sha256, key)), vectors.key.kid)
  })

  test('is derived from the seed', () => {
    assert.deepEqual([...signer.key.spki], [...key.spki])
    assert.equal(toHex(signer.kid), vectors.key.kid)
  })
})

test('ids of the vectors decode to their UUIDs, and encode back', () => {
  for (const [prefix, text, uuid] of [
    ['led', vectors.ledger, vectors.ledgerUuid],
    ['agt', vectors.agent, vectors.agentUuid],
  ] as const) {
    const bytes = fromHex(uuid.replaceAll('-', ''))
    assert.deepEqual(parseIdBytes(prefix, text), bytes)
    assert.equal(formatIdBytes(prefix, bytes), text)
  }
})

for (const entry of vectors.entries) {
  describe(`entry ${entry.seq} of the vectors, ${entry.kind}`, () => {
    const envelope = fromHex(entry.envelope)

    test('parses, verifies, and has the content of the vector', () => {
      const parsed = verifyEnvelope(envelope, key, { verifySignature })
      assert.equal(utf8Decode(parsed.payload), entry.statement)
      assert.equal(toHex(parsed.protectedBytes), entry.protected)
      assert.equal(toHex(toBeSigned(parsed.protectedBytes, parsed.payload)), entry.toBeSigned)
      assert.equal(parsed.issuer, vectors.issuer)
      const statement = parseStatement(parsed.payload)
      assert.equal(statement.kind, entry.kind)
      assert.equal(statement.ledger, vectors.ledger)
      assert.equal(statement.subjects[0].name, parsed.subject)
      assert.equal(Math.floor(statement.recordedAtMs / 1000), parsed.issuedAtSeconds)
    })

    test('is rebuilt byte for byte', () => {
      const statement = parseStatement(utf8Encode(entry.statement))
      const { kind, subjects, predicate, recordedAtMs } = statement
      const payload = utf8Encode(buildStatement(kind, subjects, predicate))
      const protectedBytes = encodeProtected({
        alg: 'EdDSA',
        kid: signer.kid,
        issuer: vectors.issuer,
        subject: subjects[0].name,
        issuedAtSeconds: Math.floor(recordedAtMs / 1000),
      })
      const signature = signer.sign(toBeSigned(protectedBytes, payload))
      assert.equal(utf8Decode(payload), entry.statement)
      assert.equal(toHex(protectedBytes), entry.protected)
      assert.equal(toHex(encodeEnvelope(protectedBytes, payload, signature)), entry.envelope)
    })

    test('has the leaf, chain hash and root of the vector', () => {
      assert.equal(toHex(leafHash(sha256, envelope)), entry.leaf)
      const before =
        entry.seq === 0
          ? genesis(sha256, parseIdBytes('led', vectors.ledger))
          : fromHex(vectors.entries[entry.seq - 1]!.chain)
      assert.equal(toHex(link(sha256, before, fromHex(entry.leaf))), entry.chain)
      const upTo = leaves.slice(0, entry.seq + 1)
      assert.equal(toHex(merkleRoot(sha256, upTo)), entry.merkleRoot)
      const frontier = emptyFrontier()
      for (const leaf of upTo) extendFrontier(sha256, frontier, leaf)
      assert.equal(toHex(frontierRoot(sha256, frontier)), entry.merkleRoot)
    })

    for (const [i, { document, salt, jcs, digest, references }] of (entry.documents ?? []).entries()) {
      test(`document ${i} has the canonical form and digest of the vector, and the references of its item`, () => {
        const canonical = utf8Encode(canonicalize(document))
        assert.equal(toHex(canonical), jcs)
        assert.equal(toHex(documentDigest(sha256, fromBase64Url(salt), canonical)), digest)
        assert.equal(toHex(utf8Encode(canonicalize(parseJsonText(utf8Decode(canonical))))), jcs)
        const list = references && utf8Encode(canonicalize([...references]))
        const listed = list && toHex(documentDigest(sha256, fromBase64Url(salt), list))
        assert.equal(listed, entry.items?.[i]?.references)
      })
    }
  })
}

test('the chain of the vectors begins with their genesis', () => {
  assert.equal(toHex(genesis(sha256, parseIdBytes('led', vectors.ledger))), vectors.genesis)
})

describe('the batch of the vectors', () => {
  const entry = vectors.entries.find((e) => e.items)!
  const itemLeaves = entry.items!.map((item) => itemLeaf(sha256, itemBytes(item)))
  const root = parseStatement(utf8Encode(entry.statement)).subjects[0].sha256

  test('has the item leaves, the root and the paths of the vector', () => {
    assert.deepEqual(itemLeaves.map(toHex), entry.itemLeaves)
    assert.equal(toHex(batchRoot(sha256, itemLeaves)), root)
    for (const i of itemLeaves.keys()) {
      assert.deepEqual(inclusionPath(sha256, itemLeaves, i).map(toHex), entry.paths![i])
    }
  })

  test('each item verifies at its own index only', () => {
    const count = itemLeaves.length
    for (const [i, item] of entry.items!.entries()) {
      const path = entry.paths![i]!.map(fromHex)
      assert.deepEqual(verifyBatchItem(sha256, item, i, count, path, root), item)
      refuses('merkle_path', () => verifyBatchItem(sha256, item, (i + 1) % count, count, path, root))
      verifyInclusion(sha256, itemLeaves[i]!, i, count, path, fromHex(root))
    }
  })
})

describe('refuses a batch of the vectors', () => {
  for (const { about, code, line } of vectors.refusedBatches) {
    test(about, () =>
      refuses(code, () => verifyEntry(parseEntryLine(JSON.stringify(line)), () => key, nativeProviders)),
    )
  }
})

describe('the checkpoint of the vectors', () => {
  const { noteKeySeed, verifierKey, note } = vectors.checkpoint
  const noteSigner = makeEd25519Signer(sha256, fromHex(noteKeySeed))

  test('verifies under the verifier key of the vectors', () => {
    const checkpoint = verifyCheckpoint(note, parseVerifierKey(verifierKey, sha256), sha256, verifySignature)
    const last = vectors.entries.at(-1)!
    assert.equal(checkpoint.origin, vectors.origin)
    assert.equal(checkpoint.size, vectors.entries.length)
    assert.equal(toHex(checkpoint.root), last.merkleRoot)
    assert.equal(toHex(checkpoint.chain), last.chain)
  })

  test('is rebuilt byte for byte, with its verifier key', () => {
    assert.equal(signCheckpoint(parseCheckpoint(note).checkpoint, noteSigner, sha256), note)
    assert.equal(formatVerifierKey(vectors.origin, noteSigner.key.raw, sha256), verifierKey)
  })
})

describe('the JSON texts of the vectors', () => {
  for (const text of vectors.refusedJson) {
    test(`refuses ${text}`, () => {
      refuses(/^json_/, () => parseJsonText(text))
    })
  }
  for (const text of vectors.acceptedJson) {
    test(`accepts ${text}`, () => {
      assert.deepEqual(parseJsonText(text), JSON.parse(text))
    })
  }
})

test('a changed byte anywhere in an envelope is refused', () => {
  const envelope = fromHex(vectors.entries[1]!.envelope)
  for (let at = 0; at < envelope.length; at++) {
    const changed = envelope.slice()
    changed[at]! ^= 1
    refuses(/./, () => verifyEnvelope(changed, key, { verifySignature }))
  }
  assert.ok(parseEnvelope(envelope))
})
