import type { JsonValue } from '../json/json-value.ts'
import { isHash, isObject, isString, isTime } from '../statement/fields.ts'

/** A public key as servers and files show it: a hint, because its kid is the thumbprint of its bytes. */
export type KeyHint = {
  readonly kid: string
  readonly alg: string
  readonly spki: string
  readonly compromisedAt: string | null
}

/** By its form alone. Other members are not looked at. */
export function isKeyHint(value: JsonValue): boolean {
  if (!isObject(value)) return false
  const { kid, alg, spki, compromisedAt = null } = value
  return (
    isHash(kid!) && isString(alg!) && isString(spki!) && (compromisedAt === null || isTime(compromisedAt))
  )
}

/** `hint`: of that form, in which `compromisedAt` may be absent. */
export function parseKeyHint({ kid, alg, spki, compromisedAt = null }: KeyHint): KeyHint {
  return { kid, alg, spki, compromisedAt }
}
