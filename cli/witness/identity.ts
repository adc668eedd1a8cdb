import { createPrivateKey, createPublicKey, randomBytes, sign } from 'node:crypto'
import { fromBase64, fromHex, toBase64 } from '../../src/proof/bytes.ts'
import type { Sha256, Signer } from '../../src/proof/crypto.ts'
import { keyThumbprint, parsePublicKey } from '../../src/proof/keys.ts'

/** Content of `witness.json`. `cosigned`: hashes of the origins of all logs with a cosigned checkpoint. */
export type Identity = {
  readonly name: string
  /** Private key (RFC 8032): 32 bytes in base64. */
  readonly seed: string
  readonly cosigned: readonly string[]
  /** Logs whose state was rolled back: the key has cosigned a larger checkpoint of the log than the folder contains. */
  readonly rolledBack: readonly string[]
}

const SEED_BYTES = 32
/** DER of an Ed25519 private key, before its seed (RFC 8410 §7). */
const PKCS8 = fromHex('302e020100300506032b657004220420')

export function newIdentity(name: string): Identity {
  return { name, seed: toBase64(randomBytes(SEED_BYTES)), cosigned: [], rolledBack: [] }
}

/** Parses `witness.json`. Throws an Error for content that neither `newIdentity` nor WitnessState writes. */
export function parseIdentity(text: string): Identity {
  const { name, seed, cosigned, rolledBack } = JSON.parse(text) as Partial<Identity>
  if (typeof name !== 'string' || typeof seed !== 'string' || fromBase64(seed).length !== SEED_BYTES)
    throw new Error('it does not have the name and key of a witness')
  if (!Array.isArray(cosigned) || !Array.isArray(rolledBack))
    throw new Error('it does not have the list of logs')
  return { name, seed, cosigned, rolledBack }
}

export function signerOf({ seed }: Identity, sha256: Sha256): Signer {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8, fromBase64(seed)]),
    format: 'der',
    type: 'pkcs8',
  })
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  const key = parsePublicKey('EdDSA', spki)
  return { kid: keyThumbprint(sha256, key), key, sign: (message) => sign(null, message, privateKey) }
}
