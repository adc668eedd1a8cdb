import { CODE } from '../../proof/statement/fields.ts'

/* The functions below check fields of a peer's answer. These fields are not signed. */

/** Returns true if the value has the form of a code of a problem or refusal. */
export function isCode(value: unknown): value is string {
  return typeof value === 'string' && CODE.test(value)
}

/** Returns true if the value is a record's version that fits the database column. */
export function isVersion(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= VERSION_MAX
}

export const VERSION_MAX = 2 ** 31 - 1
