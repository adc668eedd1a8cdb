import { CODE } from '../../proof/statement/fields.ts'

/* Fields of a peer's answer. Nobody has signed it. */

/** The code of a problem, or of a refusal. */
export function isCode(value: unknown): value is string {
  return typeof value === 'string' && CODE.test(value)
}

/** Whether it is a version of a record, as the columns hold it. */
export function isVersion(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= VERSION_MAX
}

export const VERSION_MAX = 2 ** 31 - 1
