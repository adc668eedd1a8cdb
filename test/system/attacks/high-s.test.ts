import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { fromHex, toHex } from '../../../src/proof/bytes.ts'
import { encodeEnvelope, encodeProtected, toBeSigned } from '../../../src/proof/envelope/cose.ts'
import { parseEnvelope } from '../../../src/proof/envelope/parse-envelope.ts'
import { keyThumbprint, parsePublicKey } from '../../../src/proof/keys.ts'
import { leafHash } from '../../../src/proof/tree/merkle.ts'
import { sha256 } from '../../helpers/test-chain.ts'
import { ENGINES, isGood } from '../../signing/all-providers.ts'

const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/*
 * An ES256 signature (r, s) is also valid as (r, n - s). So anybody can make a second envelope of an entry without
 * having the key.
 */

test('of the two signatures s and n - s of ES256, every verifier accepts only one', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = parsePublicKey('ES256', new Uint8Array(publicKey.export({ format: 'der', type: 'spki' })))
  const statement = new TextEncoder().encode('{"what":"somebody did it"}')
  const header = encodeProtected({
    alg: 'ES256',
    kid: keyThumbprint(sha256, key),
    issuer: 'https://ledger.example',
    subject: 'rec_01jegv5gyme008000000000001',
    issuedAtSeconds: 1_763_640_000,
  })
  const message = toBeSigned(header, statement)
  const signature = new Uint8Array(sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' }))
  const s = BigInt(`0x${toHex(signature.subarray(32))}`)
  const twin = signature.slice()
  twin.set(fromHex((N - s).toString(16).padStart(64, '0')), 32)
  const envelopes = [signature, twin].map((one) => encodeEnvelope(header, statement, one))
  const [one, other] = envelopes.map((envelope) => toHex(leafHash(sha256, envelope)))
  assert.notEqual(one, other)
  for (const [name, engine] of Object.entries(ENGINES)) {
    if (name === 'the SDK alone') continue // The SDK alone refuses ES256 keys, with an error that names ES256.
    const good = await Promise.all(
      envelopes.map((envelope) => isGood(engine, key, message, parseEnvelope(envelope).signature)),
    )
    assert.equal(good.filter(Boolean).length, 1, `${name} takes both`)
  }
})
