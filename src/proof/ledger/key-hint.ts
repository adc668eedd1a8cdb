import type { JsonValue } from '../json/json-value.ts'
import { isHash, isObject, isString, isTime } from '../statement/fields.ts'

/**
 * A public key in a server's answer or in a file. The key is only a hint: the reader computes the kid as the thumbprint
 * of the key's bytes.
 */
export type KeyHint = {
  readonly kid: string
  readonly alg: string
  readonly spki: string
  readonly compromisedAt: string | null
}

/** Returns true if the value has the form of a KeyHint. Other members are ignored. */
export function isKeyHint(value: JsonValue): boolean {
  if (!isObject(value)) return false
  const { kid, alg, spki, compromisedAt = null } = value
  return (
    isHash(kid!) && isString(alg!) && isString(spki!) && (compromisedAt === null || isTime(compromisedAt))
  )
}

/**
 * Returns the hint without unknown members. The hint must have passed isKeyHint, which accepts a hint without
 * `compromisedAt`.
 */
export function parseKeyHint({ kid, alg, spki, compromisedAt = null }: KeyHint): KeyHint {
  return { kid, alg, spki, compromisedAt }
}
