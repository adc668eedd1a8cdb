import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import type { DsseSigner } from '../sdk/verify/dsse.ts'
import { PEM_BYTES_MAX, readText } from './read-text.ts'
import { UsageError } from './run.ts'

/**
 * A private key of the user in a PEM file, Ed25519 or P-256, that signs DSSE. Without `keyid` the name is that of securesystemslib, by
 * which in-toto finds keys.
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
    // as below
  }
  throw new UsageError(`${path} is no private key of Ed25519 or P-256 in PEM, without a passphrase`)
}

/** SHA-256 over the key in the canonical JSON of securesystemslib, which escapes only quotes and backslashes. */
function keyidOf(key: KeyObject, isEd25519: boolean): string {
  const text = isEd25519
    ? `{"keytype":"ed25519","keyval":{"public":"${rawOf(key)}"},"scheme":"ed25519"}`
    : `{"keytype":"ecdsa","keyval":{"public":"${key.export({ format: 'pem', type: 'spki' })}"},"scheme":"ecdsa-sha2-nistp256"}`
  return createHash('sha256').update(text).digest('hex')
}

/** Hex. */
function rawOf(key: KeyObject): string {
  return Buffer.from(key.export({ format: 'jwk' }).x!, 'base64url').toString('hex')
}
