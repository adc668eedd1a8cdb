import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import type { Signer } from '../../src/proof/crypto.ts'
import { keyThumbprint, parsePublicKey } from '../../src/proof/keys.ts'
import { hasLowS } from '../../src/proof/p256-low-s.ts'
import { nativeProviders } from '../../src/signing/native.ts'

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/**
 * Makes an ES256 signer as another project would. Our servers verify ES256, but sign with Ed25519. `privateKeyDer`:
 * PKCS #8 DER of a P-256 key.
 */
export function makeEs256Signer(privateKeyDer: Uint8Array): Signer {
  const privateKey = createPrivateKey({ key: Buffer.from(privateKeyDer), format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  const key = parsePublicKey('ES256', spki)
  return {
    kid: keyThumbprint(nativeProviders.sha256, key),
    key,
    sign: (message) => lowerS(sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' })),
  }
}

export function lowerS(signature: Uint8Array): Uint8Array {
  if (hasLowS(signature)) return signature
  const [r, s] = [signature.subarray(0, 32), Buffer.from(signature.subarray(32))]
  const lower = ORDER - BigInt(`0x${s.toString('hex')}`)
  return Buffer.concat([r, Buffer.from(lower.toString(16).padStart(64, '0'), 'hex')])
}
