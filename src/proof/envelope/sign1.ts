import { SIGNATURE_BYTES } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { type CborForm, decodeCbor, Tag18 } from './cbor.ts'

export type CoseMap = ReadonlyMap<unknown, unknown>

/** Parts of a COSE_Sign1 (RFC 9052 §4.2). `payload`: null if the payload is detached. `signature`: 64 bytes. */
export type Sign1 = {
  /** The protected header as received, because the signature covers these bytes. */
  readonly protectedBytes: Uint8Array
  readonly unprotected: CoseMap
  readonly payload: Uint8Array | null
  readonly signature: Uint8Array
}

/**
 * Parses a COSE_Sign1. Does not check the labels; the caller must do this. Throws `cbor_malformed`,
 * `cbor_not_deterministic` or `cose_structure`.
 */
export function parseSign1(bytes: Uint8Array, form: CborForm): Sign1 {
  const value = decodeCbor(bytes, form, 'tag 18')
  if (!(value instanceof Tag18)) throw structure('no tag 18')
  const parts: unknown = value.value
  if (!Array.isArray(parts) || parts.length !== 4) throw structure('not an array of four')
  const [protectedBytes, unprotected, payload, signature] = parts as unknown[]
  const ok =
    protectedBytes instanceof Uint8Array &&
    unprotected instanceof Map &&
    (payload === null || payload instanceof Uint8Array) &&
    signature instanceof Uint8Array &&
    signature.length === SIGNATURE_BYTES
  if (!ok) throw structure('a part of the wrong type or length')
  return { protectedBytes, unprotected, payload, signature }
}

export function hasExactly(map: CoseMap, labels: readonly number[]): boolean {
  return map.size === labels.length && labels.every((label) => map.has(label))
}

/** Returns the payload. Throws `cose_structure` if the payload is detached. */
export function attachedPayload({ payload }: Sign1): Uint8Array {
  if (payload !== null) return payload
  throw structure('the payload is detached: attach it, or sign its hash (RFC 9995), and send that')
}

function structure(detail: string): ProofError {
  return new ProofError('cose_structure', detail)
}
