import { fromBase64 } from '../../src/proof/bytes.ts'
import type { PublicKey } from '../../src/proof/crypto.ts'
import { parsePublicKey, spkiOf } from '../../src/proof/keys.ts'
import { UsageError } from '../errors.ts'

/** One key, or several keys during a rotation. */
export type OneOrMore = string | readonly string[]

export type WebhookKeys = {
  readonly secrets: readonly Uint8Array[]
  readonly publicKeys: readonly PublicKey[]
}

/** Maximum number of keys. The number is limited because each key is tried with each signature. */
const KEYS_MAX = 16
/** Minimum length of a secret in bytes according to Standard Webhooks. Tallystick's secrets have 32 bytes. */
const SECRET_BYTES_MIN = 24
const SECRET_BYTES_MAX = 64

/** Parses the keys of an endpoint. Throws UsageError for an invalid key. The error's text never contains a key. */
export function parseKeys(given: {
  readonly secret?: OneOrMore | undefined
  readonly publicKey?: OneOrMore | undefined
}): WebhookKeys {
  const secrets = listOf(given.secret, 'secret').map(parseSecret)
  const publicKeys = listOf(given.publicKey, 'publicKey').map(parseWebhookKey)
  if (secrets.length + publicKeys.length === 0)
    throw new UsageError(
      'set the option `secret`, the option `publicKey`, or both, to the values shown for the endpoint',
    )
  return { secrets, publicKeys }
}

function listOf(given: OneOrMore | undefined, name: string): readonly string[] {
  if (given === undefined) return []
  const list = typeof given === 'string' ? [given] : given
  // An empty list is refused. Otherwise a configuration that lost its keys by mistake would disable the check.
  if (!Array.isArray(list) || list.length === 0 || list.length > KEYS_MAX)
    throw new UsageError(`the option \`${name}\` must be a string, or a list of 1 to ${KEYS_MAX} strings`)
  return list
}

function parseSecret(text: string): Uint8Array {
  const bytes = decode(text, 'whsec_')
  if (bytes === null || bytes.length < SECRET_BYTES_MIN || bytes.length > SECRET_BYTES_MAX)
    throw new UsageError('`secret` must be whsec_ and the base64 of a key, and nothing else')
  return bytes
}

function parseWebhookKey(text: string): PublicKey {
  const raw = decode(text, 'whpk_')
  try {
    if (raw !== null) return parsePublicKey('EdDSA', spkiOf('EdDSA', raw))
  } catch {
    // The key has a wrong length, is not canonical, or has small order.
  }
  throw new UsageError('`publicKey` must be whpk_ and the base64 of an Ed25519 key, and nothing else')
}

function decode(text: string, prefix: string): Uint8Array | null {
  if (typeof text !== 'string' || !text.startsWith(prefix)) return null
  try {
    return fromBase64(text.slice(prefix.length))
  } catch {
    return null
  }
}
