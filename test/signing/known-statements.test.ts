import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toHex } from '../../src/proof/bytes.ts'
import type { Signer } from '../../src/proof/crypto.ts'
import type { FindKey, SignedLine } from '../../src/proof/entry/verify-entry.ts'
import type { Uuid } from '../../src/proof/ids.ts'
import { buildStatement } from '../../src/proof/statement/statement.ts'
import { verifySigned } from '../../src/records/gated/verify-state.ts'
import { EnvelopeKeys } from '../../src/signing/envelope-keys.ts'
import { KnownStatements, leafOf } from '../../src/signing/known-statements.ts'
import { KNOWN_STATEMENTS_BYTES_MAX } from '../../src/signing/limits.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'
import { signEntry } from '../../src/signing/sign-entry.ts'

const OURS = makeEd25519Signer(nativeProviders.sha256, new Uint8Array(32).fill(1))
const THEIRS = makeEd25519Signer(nativeProviders.sha256, new Uint8Array(32).fill(2))
const RECORD = 'rec_01h455vb4pex5vsknk084sn02q'
const RECORDED_AT = '2026-11-22T13:00:00.000Z'

test('a verified envelope is not verified again, but its line is compared each time', async () => {
  const keys = keysOf()
  const line = lineOf(signed(OURS))
  const first = await verifySigned(keys, line)
  keys.asked = 0
  assert.equal(await verifySigned(keys, line), first)
  assert.equal(keys.asked, 0)
  for (const wrong of [
    { kind: 'record-created' },
    { recordedAt: '2026-11-22T13:00:00.001Z' },
    { leaf: 'ab' },
  ])
    await assert.rejects(verifySigned(keys, { ...line, ...wrong }), { code: 'line_contradicts_envelope' })
})

test('an envelope with changed bytes is not taken for a known one, whatever its leaf', async () => {
  const keys = keysOf()
  const envelope = signed(OURS)
  const line = lineOf(envelope)
  await verifySigned(keys, line)
  const forged = Uint8Array.from(envelope)
  forged[forged.length - 1]! ^= 1
  for (const leaf of [line.leaf, leafOf(forged)])
    await assert.rejects(verifySigned(keys, { ...line, leaf, envelope: forged }), {
      code: 'signature_invalid',
    })
})

test('an envelope that was only read does not count as verified', async () => {
  const keys = keysOf()
  const foreign = signed(THEIRS)
  assert.equal(keys.known.read(foreign).kind, 'record-activated')
  await assert.rejects(verifySigned(keys, lineOf(foreign)), { code: 'key_unknown' })
  await assert.rejects(verifySigned(keys, lineOf(foreign)), { code: 'key_unknown' })
})

test('stored bytes are a copy, without the buffer that they came in', () => {
  const known = new KnownStatements()
  const envelope = signed(OURS)
  const received = new Uint8Array(65_536).subarray(100, 100 + envelope.length)
  received.set(envelope)
  known.addSigned(leafOf(received), received, null)
  const kept = known.findEnvelope(leafOf(received))!
  assert.deepEqual(kept, envelope)
  assert.equal(kept.buffer.byteLength, envelope.length)
})

test('the oldest envelopes are dropped first, by the total of their bytes', () => {
  const known = new KnownStatements()
  const [first, last] = [signed(OURS, 2), signed(OURS, 3)]
  known.addSigned(leafOf(first), first, null)
  assert.notEqual(known.findSigned(leafOf(first), first), null)
  known.addSigned('other', new Uint8Array(KNOWN_STATEMENTS_BYTES_MAX - first.length), null)
  assert.notEqual(known.findSigned(leafOf(first), first), null, 'there is room for both')
  known.addSigned(leafOf(last), last, null)
  assert.equal(known.findSigned(leafOf(first), first), null)
  assert.notEqual(known.findSigned(leafOf(last), last), null)
})

class CountedKeys extends EnvelopeKeys {
  asked = 0

  override finderFor(kids: Iterable<string>, ledgerId: Uuid | null = null): Promise<FindKey> {
    this.asked++
    return super.finderFor(kids, ledgerId)
  }
}

function keysOf(): CountedKeys {
  return new CountedKeys({
    findKey: async () => (kid) => (kid === toHex(OURS.kid) ? OURS.key : null),
    findRegistration: async () => null,
  })
}

function signed(signer: Signer, version = 2): Uint8Array {
  const statement = buildStatement('record-activated', [{ name: RECORD, sha256: 'ab'.repeat(32) }], {
    ledger: 'led_01h455vb4pex5vsknk084sn02q',
    actor: 'system',
    recordedAt: RECORDED_AT,
    record: RECORD,
    version,
    previous: 'cd'.repeat(32),
    from: 'CREATED',
    to: 'ACTIVE',
  })
  const about = { issuer: 'https://example.com', subject: RECORD, recordedAtMs: Date.parse(RECORDED_AT) }
  return signEntry(signer, about, statement).envelope
}

function lineOf(envelope: Uint8Array): SignedLine {
  return { kind: 'record-activated', recordedAt: RECORDED_AT, leaf: leafOf(envelope), envelope }
}
