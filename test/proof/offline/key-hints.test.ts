import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toBase64 } from '../../../src/proof/bytes.ts'
import { findNamedKey, makeFindKey } from '../../../src/proof/offline/key-hints.ts'
import { makeSigner, sha256 } from '../../helpers/test-chain.ts'
import { refuses } from '../refuses.ts'

const [signer, other] = [makeSigner(), makeSigner()]
const hint = { kid: signer.kidHex, alg: 'EdDSA', spki: toBase64(signer.key.spki) }

test('finds a key by its computed thumbprint only, whatever kid the hint has', () => {
  const findKey = makeFindKey([{ ...hint, kid: other.kidHex } as typeof hint], { sha256 })
  assert.deepEqual(findKey(signer.kidHex)?.raw, signer.key.raw)
  assert.equal(findKey(other.kidHex), null)
})

test('ignores hints that are not valid keys', () => {
  const odd = [
    { alg: 'RS256', spki: hint.spki },
    { alg: 'EdDSA', spki: '!' },
    { alg: 'ES256', spki: hint.spki },
  ]
  const findKey = makeFindKey([...odd, hint], { sha256 })
  assert.ok(findKey(signer.kidHex))
})

test('findNamedKey finds a key by its kid, and refuses a wrong kid with kid_mismatch', () => {
  assert.deepEqual(findNamedKey([hint], signer.kidHex, sha256)?.raw, signer.key.raw)
  assert.equal(findNamedKey([hint], other.kidHex, sha256), null)
  refuses('kid_mismatch', () => findNamedKey([{ ...hint, kid: other.kidHex }], other.kidHex, sha256))
  refuses('bad_key', () => findNamedKey([{ ...hint, alg: 'RS256' }], signer.kidHex, sha256))
  refuses('bad_key', () => findNamedKey([{ ...hint, spki: 'AAAA' }], signer.kidHex, sha256))
})
