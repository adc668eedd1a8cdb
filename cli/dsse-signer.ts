import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import type { DsseSigner } from '../sdk/verify/dsse.ts'
import { PEM_BYTES_MAX, readText } from '../src/verify/read-text.ts'
import { UsageError } from './run.ts'

/**
 * Returns a DSSE signer with the user's private key from a PEM file, Ed25519 or P-256. Throws UsageError for any other
 * key. The default `keyid` is calculated as in securesystemslib, because in-toto finds keys by this id.
 */
export async function readDsseSigner(path: string, keyid: string | undefined): Promise<DsseSigner> {
  const key = parsePrivateKey(await readText(path, PEM_BYTES_MAX), path)
  const digest = key.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  return {
    keyid: keyid ?? keyidOf(createPublicKey(key), digest === null),
    sign: (message) => sign(digest, message, key),
  }
}

function parsePrivateKey(pem: string, path: string): KeyObject {
  try {
    const key = createPrivateKey(pem)
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
    if (type === 'ed25519' || (type === 'ec' && details?.namedCurve === 'prime256v1')) return key
  } catch {
    // A text that is not a private key is reported by the UsageError below.
  }
  throw new UsageError(`${path} is not a private key of Ed25519 or P-256 in PEM, without a passphrase`)
}

/**
 * Returns the SHA-256 of the public key in the canonical JSON of securesystemslib, which escapes only quotes and
 * backslashes.
 */
function keyidOf(key: KeyObject, isEd25519: boolean): string {
  const text = isEd25519
    ? `{"keytype":"ed25519","keyval":{"public":"${rawOf(key)}"},"scheme":"ed25519"}`
    : `{"keytype":"ecdsa","keyval":{"public":"${usualPem(key)}"},"scheme":"ecdsa-sha2-nistp256"}`
  return createHash('sha256').update(text).digest('hex')
}

/**
 * Returns a P-256 key in the form of securesystemslib: named curve, uncompressed point. The file itself may contain
 * the curve's parameters, or a compressed point.
 */
function usualPem(key: KeyObject): string {
  const { x, y } = key.export({ format: 'jwk' }) as { x: string; y: string }
  const usual = createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y } })
  return usual.export({ format: 'pem', type: 'spki' }) as string
}

function rawOf(key: KeyObject): string {
  return Buffer.from(key.export({ format: 'jwk' }).x!, 'base64url').toString('hex')
}
