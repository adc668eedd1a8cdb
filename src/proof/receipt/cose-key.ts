import { encode, rfc8949EncodeOptions } from 'cborg'
import type { Signer } from '../crypto.ts'
import { EDDSA } from '../envelope/cose-labels.ts'

/* Encodes keys of receipts as COSE Keys (RFC 9052 §7). Keys of receipts are always Ed25519. */

type ReceiptKey = Pick<Signer, 'kid' | 'key'>

// RFC 9052 §7.1, RFC 9053 §7.2
const KTY = 1
const KEY_KID = 2
const KEY_ALG = 3
const CRV = -1
const X = -2
const OKP = 1
const ED25519 = 6

export function encodeCoseKey(key: ReceiptKey): Uint8Array {
  return encode(coseKey(key), rfc8949EncodeOptions)
}

export function encodeCoseKeySet(keys: readonly ReceiptKey[]): Uint8Array {
  return encode(keys.map(coseKey), rfc8949EncodeOptions)
}

function coseKey({ kid, key }: ReceiptKey): Map<number, unknown> {
  return new Map<number, unknown>([
    [KTY, OKP],
    [KEY_KID, kid],
    [KEY_ALG, EDDSA],
    [CRV, ED25519],
    [X, key.raw],
  ])
}
