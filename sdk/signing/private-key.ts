import { concat, fromBase64Url, fromHex } from '../../src/proof/bytes.ts'
import type { PublicKey, SignatureAlgorithm } from '../../src/proof/crypto.ts'
import { parsePublicKey, spkiOf } from '../../src/proof/keys.ts'
import { lowS } from '../../src/proof/p256-low-s.ts'
import { asBytes, type Bytes, requireBytes } from '../bytes.ts'
import { UsageError } from '../errors.ts'

/** A private key of WebCrypto. Node 20, Bun, Deno and browsers have WebCrypto. */
export type PrivateKey = {
  readonly key: PublicKey
  sign(message: Uint8Array): Promise<Uint8Array>
}

type ImportedKey = Awaited<ReturnType<typeof globalThis.crypto.subtle.importKey>>

/** First bytes of an Ed25519 key in PKCS #8 (RFC 8410 §7). The 32 bytes of the seed follow them. */
const ED25519_PKCS8 = fromHex('302e020100300506032b657004220420')

const ALGORITHMS = {
  EdDSA: { key: { name: 'Ed25519' }, signature: { name: 'Ed25519' } },
  ES256: { key: { name: 'ECDSA', namedCurve: 'P-256' }, signature: { name: 'ECDSA', hash: 'SHA-256' } },
} as const

/**
 * Reads a private key. Throws UsageError for an invalid key.
 *
 * - `pkcs8`: an Ed25519 or P-256 key, as DER or PEM.
 * - `seed`: the 32 bytes of an Ed25519 private key (RFC 8032).
 */
export async function readPrivateKey(from: {
  readonly pkcs8?: Bytes | string | undefined
  readonly seed?: Bytes | undefined
}): Promise<PrivateKey> {
  const der = from.seed ? concat([ED25519_PKCS8, requireBytes(from.seed, 'a seed')]) : derOf(from.pkcs8)
  for (const alg of ['EdDSA', 'ES256'] as const) {
    const found = await importAs(alg, der)
    if (found) return found
  }
  throw new UsageError(
    'the key is not an Ed25519 or P-256 key in PKCS #8, or the WebCrypto of this runtime does not support it',
  )
}

/** Makes a key. Returns the key in PKCS #8 as PEM. */
export async function makePrivateKey(alg: SignatureAlgorithm): Promise<string> {
  const { subtle } = globalThis.crypto
  const pair = await subtle.generateKey(ALGORITHMS[alg].key, true, ['sign', 'verify'])
  const der = new Uint8Array(
    await subtle.exportKey('pkcs8', (pair as { readonly privateKey: ImportedKey }).privateKey),
  )
  const base64 = btoa(String.fromCharCode(...der))
  return `-----BEGIN PRIVATE KEY-----\n${base64.replace(/.{64}(?=.)/g, '$&\n')}\n-----END PRIVATE KEY-----\n`
}

function derOf(pkcs8: Bytes | string | undefined): Uint8Array {
  const bytes = asBytes(pkcs8)
  if (bytes !== null) return bytes
  const pem = /^-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----\s*$/.exec(
    `${pkcs8 ?? ''}`,
  )
  if (!pem) throw new UsageError('give a private key as `pkcs8` (PEM or DER), or as `seed`')
  return Uint8Array.from(atob(pem[1]!.replaceAll(/\s/g, '')), (char) => char.charCodeAt(0))
}

async function importAs(alg: SignatureAlgorithm, der: Uint8Array): Promise<PrivateKey | null> {
  const { subtle } = globalThis.crypto
  const { key: algorithm, signature } = ALGORITHMS[alg]
  try {
    const bytes = der as Uint8Array<ArrayBuffer>
    const readable = await subtle.importKey('pkcs8', bytes, algorithm, true, ['sign'])
    const key = publicKeyOf(alg, await subtle.exportKey('jwk', readable))
    // The key is not extractable, so no code in the process can read its bytes.
    const secret = await subtle.importKey('pkcs8', bytes, algorithm, false, ['sign'])
    return {
      key,
      async sign(message) {
        const made = await subtle.sign(signature, secret, message as Uint8Array<ArrayBuffer>)
        return alg === 'ES256' ? lowS(new Uint8Array(made)) : new Uint8Array(made)
      },
    }
  } catch {
    return null
  }
}

function publicKeyOf(
  alg: SignatureAlgorithm,
  { x, y }: { readonly x?: string; readonly y?: string },
): PublicKey {
  const raw =
    alg === 'EdDSA' ? fromBase64Url(x!) : concat([new Uint8Array([4]), fromBase64Url(x!), fromBase64Url(y!)])
  return parsePublicKey(alg, spkiOf(alg, raw))
}
