import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { formatId, parseId, type Uuid } from '../proof/ids.ts'
import { type MacKey, makeRowMac, type RowMac } from '../signing/row-mac.ts'

/**
 * An API key consists of `tly_` ‖ the ledger's id (26 characters) ‖ a secret (40 hex digits, 160 bits) ‖ a checksum (8
 * hex digits, the CRC-32 of everything before).
 *
 * The ledger's id is in the key, so that a database that is distributed by ledger can find the key by its primary key.
 * With the checksum, scanners recognize leaked keys, and the server refuses a misspelt key without a query. The
 * checksum is no protection, because anybody can compute it
 * (docs/decisions/0003-keys-and-database-logins.md#form-of-an-api-key). Only the SHA-256 of the whole key is stored. A
 * slow hash is not needed, because the secret has 160 random bits.
 */
const PREFIX = 'tly_'
const KEY_PATTERN = /^tly_([0-7][0-9a-hjkmnp-tv-z]{25})([0-9a-f]{40})([0-9a-f]{8})$/
const SECRET_BYTES = 20
const OPERATOR_KEY_BYTES = 32

export function makeApiKey(ledgerId: Uuid): string {
  const body = `${PREFIX}${formatId('led', ledgerId).slice(4)}${randomBytes(SECRET_BYTES).toString('hex')}`
  return body + checksum(body)
}

/** Returns the ledger in an API key, or null if the text is not an API key. */
export function findLedgerOfKey(key: string): Uuid | null {
  const match = KEY_PATTERN.exec(key)
  if (!match || checksum(key.slice(0, -8)) !== match[3]) return null
  return parseId('led', `led_${match[1]}`) // The pattern guarantees a valid id.
}

export function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

/** Returns a function that compares a given key with the expected keys, in constant time. */
export function makeKeyTest(expected: readonly string[]): (presented: string) => boolean {
  const hashes = expected.map(hashKey)
  return (presented) => {
    const presentedHash = hashKey(presented)
    return hashes.some((one) => timingSafeEqual(presentedHash, one))
  }
}

export type GrantedKey = {
  readonly ledger: string
  readonly key: string
  readonly agent: string
  readonly scopes: readonly string[]
  readonly expiresAtMs: number | null
  readonly secretHash: Uint8Array
}

/** MAC of a key's row. It authenticates all rights that the row grants. */
export type KeyMac = RowMac<GrantedKey>

export function makeKeyMac(masterKey: MacKey): KeyMac {
  return makeRowMac(masterKey, 'api key', textOf)
}

function textOf({ ledger, key, agent, scopes, expiresAtMs, secretHash }: GrantedKey): string {
  const hash = Buffer.from(secretHash).toString('hex')
  return JSON.stringify([ledger, key, agent, [...scopes].sort(), expiresAtMs, hash])
}

/** Makes an operator key. It consists of hex digits, which src/run/config.ts accepts in operator keys. */
export function makeOperatorKey(): string {
  return `tlo_${randomBytes(OPERATOR_KEY_BYTES).toString('hex')}`
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0')
}
