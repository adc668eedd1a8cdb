import { CODE } from '../../proof/statement/fields.ts'

/* Fields of a peer's answer. They are not signed. */

/** Returns true for the code of a problem or of a refusal. */
export function isCode(value: unknown): value is string {
  return typeof value === 'string' && CODE.test(value)
}

/** Returns true for a version of a record that fits the database column. */
export function isVersion(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= VERSION_MAX
}

export const VERSION_MAX = 2 ** 31 - 1
