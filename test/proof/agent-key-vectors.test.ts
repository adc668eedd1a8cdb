import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { agentSigner } from '../../sdk/signing/index.ts'
import { fromBase64, fromHex, toHex, utf8Decode, utf8Encode } from '../../src/proof/bytes.ts'
import type { SignatureAlgorithm } from '../../src/proof/crypto.ts'
import { verifySignedStatement } from '../../src/proof/entry/verify-entry.ts'
import { formatId, parseId } from '../../src/proof/ids.ts'
import { keyThumbprint, parsePublicKey } from '../../src/proof/keys.ts'
import { agentKeyText } from '../../src/proof/statement/agent-key.ts'
import { completionIdOf } from '../../src/proof/statement/completion-ids.ts'
import { nativeProviders } from '../../src/signing/native.ts'

/** Vectors made with Python's `cryptography` and `cbor2`, from docs/formats alone. */
const vectors = JSON.parse(readFileSync(new URL('../vectors/agent-keys.json', import.meta.url), 'utf8')) as {
  readonly ledger: string
  readonly agent: string
  readonly statement: string
  readonly seed: string
  readonly keys: readonly {
    readonly alg: SignatureAlgorithm
    readonly kid: string
    readonly spki: string
    readonly text: string
    readonly proof: string
    readonly envelope: string
  }[]
  readonly endorsement: { readonly kid: string; readonly signature: string }
  readonly completion: { readonly record: string; readonly version: number; readonly id: string }
}
const { sha256, verifySignature } = nativeProviders
const { ledger, agent } = vectors

for (const { alg, kid, spki, text, proof, envelope } of vectors.keys) {
  test(`another implementation's ${alg} key is registered, and signs an entry`, () => {
    const key = parsePublicKey(alg, fromBase64(spki))
    assert.equal(toHex(keyThumbprint(sha256, key)), kid)
    assert.equal(utf8Decode(agentKeyText({ ledger, agent, kid, required: true })), text)
    assert.ok(verifySignature(key, utf8Encode(text), fromBase64(proof)))
    const own = { ...key, agent: { ledger, agent } }
    const signed = verifySignedStatement(fromBase64(envelope), () => own, nativeProviders)
    assert.equal(utf8Decode(signed.envelope.payload), vectors.statement)
    assert.equal(signed.statement.actor, agent)
  })
}

test('the library makes the same signatures as the vectors', async () => {
  const [first, second] = vectors.keys
  const signer = await agentSigner({ seed: fromHex(vectors.seed) })
  assert.deepEqual([signer.kid, signer.spki], [first!.kid, first!.spki])
  const { proof } = await signer.registration({ ledger, agent }, { required: true })
  assert.equal(proof, first!.proof)
  const { kid, signature } = vectors.endorsement
  assert.equal(kid, first!.kid)
  const endorsing = parsePublicKey('EdDSA', fromBase64(first!.spki))
  assert.ok(verifySignature(endorsing, utf8Encode(second!.text), fromBase64(signature)))
})

test('the library derives the same completion id as the vectors', () => {
  const { record, version, id } = vectors.completion
  assert.equal(formatId('cmp', completionIdOf(sha256, parseId('rec', record), version)), id)
})
