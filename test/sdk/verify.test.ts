import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { UsageError } from '../../sdk/errors.ts'
import type { PublishedKey } from '../../sdk/generated/api.ts'
import * as verify from '../../sdk/verify/index.ts'
import { fromBase64 } from '../../src/proof/bytes.ts'
import { makeChain, makeId, makeSigner } from '../helpers/test-chain.ts'
import { makeGated } from '../helpers/test-gated.ts'
import { consistencyOf, proofOf, receiptFileOf, recordOf, verifierKeyOf } from '../helpers/test-proof.ts'
import { refusesVerification } from './refuses-verification.ts'
import { pretend, RUNTIMES } from './runtimes.ts'

const chain = makeChain()
const notarized = chain.notarize({}, makeId('rec'), { tool: 'search', n: 1.5 })
const batch = chain.notarizeBatch(3)
const gated = makeGated(chain)
gated.activate()
gated.submit()
gated.verify()
const verdict = gated.judge()
const keys = chain.keys() as PublishedKey[]
const noteKey = verifierKeyOf(chain)

describe('an envelope', () => {
  test('gives its kind, signer, actor and subjects, and the settlement signal of a verdict', async () => {
    const found = await verify.envelope(verdict.envelope, { keys, ledger: chain.ledger })
    const { ledger, kind, recordedAt, leaf, kid, issuer, actor, key } = found
    assert.deepEqual(
      [ledger, kind, recordedAt, leaf],
      [chain.ledger, 'verdict-rendered', verdict.recordedAt, verdict.leaf],
    )
    assert.deepEqual(
      [kid, issuer, actor, key],
      [chain.firstSigner.kidHex, chain.issuer, chain.agent, chain.key],
    )
    assert.deepEqual([found.version, found.signal?.decision], [5, 'SETTLE'])
    assert.equal(found.subjects[0]!.name, gated.record)
    const bytes = await verify.envelope(fromBase64(notarized.envelope), { keys })
    assert.deepEqual([bytes.version, bytes.signal, bytes.predicate['type']], [null, null, 'generic/1'])
  })

  for (const [name, runtime] of Object.entries(RUNTIMES)) {
    test(`is refused if one bit is changed, ${name}`, async (t) => {
      pretend(t, runtime)
      assert.ok(await verify.envelope(verdict.envelope, { keys }))
      const bytes = fromBase64(verdict.envelope)
      bytes[bytes.length - 90]! ^= 1
      await refusesVerification('signature_invalid', () => verify.envelope(bytes, { keys }))
    })
  }

  test('is refused under a key that is unknown, misnamed, of another use, or compromised', async () => {
    const refuses = (code: verify.VerificationErrorCode, changes: Partial<PublishedKey>) =>
      refusesVerification(code, () =>
        verify.envelope(verdict.envelope, { keys: [{ ...keys[0]!, ...changes }] }),
      )
    const other = makeSigner()
    await refuses('key_unknown', { kid: other.kidHex })
    await refuses('key_unknown', { use: 'http' as 'envelope' })
    await refuses('kid_mismatch', { spki: Buffer.from(other.key.spki).toString('base64') })
    await refuses('key_compromised', { compromisedAt: '2026-11-20T12:00:00.000Z' })
    await refusesVerification('key_unknown', () => verify.envelope(verdict.envelope, { keys: [] }))
    await assert.rejects(verify.envelope(verdict.envelope, { keys: undefined as never }), UsageError)
  })

  test('is refused if it is of another ledger of the server, or malformed', async () => {
    const ledger = makeId('led')
    await refusesVerification('ledger_foreign', () => verify.envelope(verdict.envelope, { keys, ledger }))
    await refusesVerification('bad_base64', () => verify.envelope('!', { keys }))
    await refusesVerification('cbor_malformed', () => verify.envelope(new Uint8Array(3).fill(0xff), { keys }))
  })
})

describe('a proof', () => {
  const proof = proofOf(chain, verdict)

  test('reports its entry, signal and trusted keys, as text or as an object', async () => {
    const found = await verify.proof(proof)
    assert.deepEqual(await verify.proof(JSON.stringify(proof, null, 2)), found)
    assert.deepEqual([found.seq, found.kind, found.subject], [verdict.seq, 'verdict-rendered', gated.record])
    assert.deepEqual([found.version, found.signal?.decision, found.entry.leaf], [5, 'SETTLE', verdict.leaf])
    assert.deepEqual([found.keys, found.noteKey, found.checkpoint], ['self-asserted', 'self-asserted', 'own'])
    const trusted = await verify.proof(proof, {
      kids: [chain.firstSigner.kidHex.toUpperCase()],
      noteKey,
      checkpoints: [chain.checkpoint()],
    })
    assert.deepEqual([trusted.keys, trusted.noteKey, trusted.checkpoint], ['given', 'given', 'given'])
  })

  for (const [name, runtime] of Object.entries(RUNTIMES)) {
    test(`of a batch record verifies for that record and for no other, ${name}`, async (t) => {
      pretend(t, runtime)
      const ofItem = proofOf(chain, batch, { item: 1 })
      const record = recordOf(chain, batch, 1)
      assert.equal((await verify.proof(ofItem, { record })).record, 'same')
      const { subject } = await verify.proof(ofItem, { record: JSON.stringify(record) })
      assert.equal(subject, record.id)
      const other = () => verify.proof(ofItem, { record: { ...record, payload: { i: 2 } } })
      await refusesVerification('document_digest', other)
      const forged = chain.checkpoint(undefined, { signer: makeSigner() })
      await refusesVerification('note_unsigned', () => verify.proof({ ...ofItem, checkpoint: forged }))
      const flipped = ofItem.checkpoint.replace(
        /.{8}\n$/,
        (end) => (end[0] === 'A' ? 'B' : 'A') + end.slice(1),
      )
      await refusesVerification('signature_invalid', () => verify.proof({ ...ofItem, checkpoint: flipped }))
    })
  }

  test('is linked to a kept checkpoint by a consistency proof', async () => {
    const checkpoints = [chain.checkpoint(4)]
    await refusesVerification('consistency_missing', () => verify.proof(proof, { checkpoints }))
    const consistency = consistencyOf(chain, 4, chain.lines.length)
    const { notices } = await verify.proof(proof, { checkpoints, consistency })
    assert.match(notices[0]!, /of 4 entries is older than the entry/)
    await assert.rejects(verify.proof(proof, { consistency }), UsageError)
  })

  test('is refused if malformed, or if none of the given keys signed the ledger', async () => {
    await refusesVerification('json_syntax', () => verify.proof('{'))
    await refusesVerification('proof_syntax', () => verify.proof({ ...proof, more: 1 }))
    await refusesVerification('trusted_key_absent', () => verify.proof(proof, { kids: ['00'.repeat(32)] }))
    await assert.rejects(verify.proof(null as never), UsageError)
    await assert.rejects(verify.proof(proof, { kids: ['a kid'] }), UsageError)
  })
})

describe('checkpoints', () => {
  const [from, to] = [chain.checkpoint(4), chain.checkpoint(7)]
  const proof = consistencyOf(chain, 4, 7)

  test('one note gives origin, size, root and chain hash; a forged note is refused', async () => {
    const { origin, size, root, chain: link } = await verify.checkpoint(to, { noteKey })
    assert.deepEqual([origin, size, link], [chain.origin, 7, chain.lines[6]!.chain])
    assert.match(root, /^[0-9a-f]{64}$/)
    const forged = chain.checkpoint(7, { signer: makeSigner() })
    await refusesVerification('note_unsigned', () => verify.checkpoint(forged, { noteKey }))
    await refusesVerification('verifier_key', () => verify.checkpoint(to, { noteKey: 'a+b+c' }))
  })

  test('two notes show that the later ledger begins with the earlier one', async () => {
    const found = { origin: chain.origin, from: 4, to: 7 }
    assert.deepEqual(await verify.consistency(proof, { from, to, noteKey }), found)
    assert.deepEqual(await verify.consistency(JSON.stringify(proof), { from, to, noteKey }), found)
    const rewritten = chain.checkpoint(4, { root: new Uint8Array(32) })
    const refuses = (code: verify.VerificationErrorCode, given: object, changed: object = proof) =>
      refusesVerification(code, () => verify.consistency(changed, { from, to, noteKey, ...given }))
    await refuses('merkle_path', { from: rewritten })
    await refuses('consistency_missing', { from: chain.checkpoint(5) })
    await refuses('consistency_missing', {}, consistencyOf(chain, 4, 8))
    await refuses('note_unsigned', { from: chain.checkpoint(4, { signer: makeSigner() }) })
  })

  test('two notes of one size must be equal, chain hash included', async () => {
    const same = { from: to, to, noteKey }
    const nothing = { from: 7, to: 7, path: [] }
    assert.equal((await verify.consistency(nothing, same)).to, 7)
    const forked = chain.checkpoint(7, { chain: new Uint8Array(32) })
    await refusesVerification('checkpoint_mismatch', () =>
      verify.consistency(nothing, { ...same, from: forked }),
    )
  })
})

describe('a document', () => {
  const { salt, digest, document } = notarized.documents[0]!
  const given = { salt: salt!, digest }

  test('verifies if it is the one that was signed', async () => {
    const { subjects } = await verify.envelope(notarized.envelope, { keys })
    await verify.document({ n: 1.5, tool: 'search' }, { salt: salt!, digest: subjects[0]!.sha256 })
    await verify.document(document, given)
    await refusesVerification('document_digest', () => verify.document({ tool: 'search', n: 2 }, given))
    await refusesVerification('document_digest', () => verify.document(document, { ...given, digest: '' }))
    await refusesVerification('bad_base64url', () => verify.document(document, { ...given, salt: '!' }))
  })

  test('throws UsageError for a value that JSON would change', async () => {
    await assert.rejects(verify.document({ n: Number.NaN }, given), UsageError)
  })
})

describe('a receipt', () => {
  const file = receiptFileOf(chain, batch, { item: 1 })
  const record = recordOf(chain, batch, 1)

  for (const [name, runtime] of Object.entries(RUNTIMES)) {
    test(`verifies a batch record in the tree that the note key signed, ${name}`, async (t) => {
      pretend(t, runtime)
      const found = await verify.receipt(file, { noteKey, keys, record })
      assert.deepEqual(
        [found.seq, found.size, found.subject, found.keys, found.record],
        [batch.seq, chain.lines.length, record.id, 'given', 'same'],
      )
      assert.equal(found.entry.leaf, batch.leaf)
      const changed = file.slice()
      changed[changed.length - 90]! ^= 1
      await refusesVerification('signature_invalid', () => verify.receipt(changed, { noteKey }))
    })
  }

  test('reports the signal of a verdict, and whether envelope keys were given', async () => {
    const { entry, keys } = await verify.receipt(receiptFileOf(chain, verdict), { noteKey })
    assert.deepEqual([entry.signal?.decision, entry.version, keys], ['SETTLE', 5, 'not given'])
  })

  test('is refused under a compromised key, and for another record', async () => {
    const compromised = keys.map((key) => ({ ...key, compromisedAt: '2026-11-20T12:00:00.000Z' }))
    await refusesVerification('key_compromised', () => verify.receipt(file, { noteKey, keys: compromised }))
    await refusesVerification('record_contradicts_proof', () =>
      verify.receipt(file, { noteKey, record: recordOf(chain, batch, 0) }),
    )
  })

  test('throws UsageError unless it is bytes and the note key is given', async () => {
    await assert.rejects(verify.receipt('x' as never, { noteKey }), UsageError)
    await assert.rejects(verify.receipt(file, {} as never), UsageError)
    await assert.rejects(verify.consistencyReceipt('x' as never, { from: '', noteKey }), UsageError)
  })
})
