import assert from 'node:assert/strict'
import { generateKeyPairSync, webcrypto } from 'node:crypto'
import { test } from 'node:test'
import { chooseEngine, makeSyncEngine, portableProviders } from '../../sdk/verify/providers.ts'
import { makeWebEngine, type Subtle } from '../../sdk/verify/web-crypto.ts'
import { concat, fromHex, utf8Encode } from '../../src/proof/bytes.ts'
import type { PublicKey } from '../../src/proof/crypto.ts'
import { ProofError } from '../../src/proof/error.ts'
import { parsePublicKey } from '../../src/proof/keys.ts'
import { findNodeCrypto, makeNodeProviders } from '../../src/signing/node-crypto.ts'
import { makeSigner } from '../helpers/test-chain.ts'
import { NOT_CANONICAL_POINTS, SMALL_ORDER_POINTS } from '../proof/ed25519-edge-cases.ts'
import { ENGINES, isGood } from '../signing/all-providers.ts'
import { pretend } from './runtimes.ts'

const MESSAGE = utf8Encode('a message')
const signer = makeSigner()
const signature = signer.sign(MESSAGE)
const node = findNodeCrypto()!

/*
 * Engines that accept every signature. The following cases must be refused by the checks before a signature is
 * verified.
 */
const credulous = {
  'node:crypto': makeSyncEngine(makeNodeProviders({ ...node, verify: () => true })),
  WebCrypto: makeWebEngine(
    { importKey: async () => ({}), verify: async () => true } as unknown as Subtle,
    portableProviders,
  ),
}

for (const [name, engine] of Object.entries(credulous)) {
  test(`signatures that libraries judge differently are refused before ${name} verifies them`, async () => {
    const asked = (key: PublicKey, given: Uint8Array) => isGood(engine, key, MESSAGE, given)
    assert.ok(await asked(signer.key, signature))
    for (const [, hex] of [...SMALL_ORDER_POINTS, ...NOT_CANONICAL_POINTS]) {
      assert.ok(!(await asked({ ...signer.key, raw: fromHex(hex) }, signature)), `the key ${hex}`)
      assert.ok(!(await asked(signer.key, concat([fromHex(hex), signature.subarray(32)]))), `the R ${hex}`)
    }
    assert.ok(!(await asked(signer.key, signature.slice().fill(0xff, 32))), 'an S of all ones')
    const es256 = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
    const key = parsePublicKey('ES256', es256.export({ format: 'der', type: 'spki' }))
    assert.ok(await asked(key, signature.with(32, 0)))
    assert.ok(!(await asked(key, signature.with(32, 0xff))), 'a high s')
    for (const one of [signer.key, key]) {
      assert.ok(!(await asked(one, signature.subarray(1))))
      assert.ok(!(await asked(one, concat([signature, new Uint8Array(1)]))))
    }
  })
}

test('without Ed25519 in WebCrypto, JavaScript verifies; other WebCrypto errors are thrown', async () => {
  const without = {
    importKey: () => Promise.reject(new DOMException('no such algorithm', 'NotSupportedError')),
    verify: () => Promise.reject(new Error('not to be asked')),
  } as unknown as Subtle
  const engine = makeWebEngine(without, portableProviders)
  assert.ok(await isGood(engine, signer.key, MESSAGE, signature))
  assert.ok(!(await isGood(engine, signer.key, MESSAGE, signature.with(40, signature[40]! ^ 1))))
  const verify = () => Promise.reject(new Error('out of memory'))
  const { subtle } = webcrypto
  const failing = { importKey: subtle.importKey.bind(subtle), verify } as unknown as Subtle
  await assert.rejects(
    isGood(makeWebEngine(failing, portableProviders), signer.key, MESSAGE, signature),
    /out of memory/,
  )
})

test('an invalid signature is reported before any later fault, and faults are passed on', async () => {
  const forged = signature.with(3, signature[3]! ^ 1)
  for (const engine of Object.values(ENGINES)) {
    const verify = (second: Uint8Array) =>
      engine.run(({ verifySignature }) => {
        for (const given of [signature, second]) {
          if (!verifySignature(signer.key, MESSAGE, given))
            throw new ProofError('signature_invalid', 'second')
        }
        throw new ProofError('line_syntax', 'third')
      })
    await assert.rejects(verify(forged), /signature_invalid/)
    await assert.rejects(verify(signature), /line_syntax/)
  }
})

test('all providers give the same SHA-256, also without the one-shot hash of node:crypto', () => {
  const { hash: _, ...older } = node
  for (const { sha256 } of [portableProviders, makeNodeProviders(node), makeNodeProviders(older)])
    assert.equal(Buffer.from(sha256(MESSAGE)).toString('hex').slice(0, 8), 'f53c09ca')
})

test('ES256 is refused with cose_algorithm if no provider can verify it', async (t) => {
  pretend(t, { node: false, web: false })
  const key: PublicKey = { ...signer.key, alg: 'ES256' }
  await assert.rejects(isGood(chooseEngine(), key, MESSAGE, signature), /cose_algorithm/)
})
