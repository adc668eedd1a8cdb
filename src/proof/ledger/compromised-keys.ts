import type { KeyHint } from './key-hint.ts'

/**
 * Compromised envelope keys by kid, with the time of the compromise (milliseconds since 1970) or null.
 *
 * An entry signed by such a key is accepted only if an outside checkpoint covers it, and never if its time is at or
 * after the compromise. The time alone proves nothing, because the thief chooses the times of entries.
 */
export type CompromisedKeys = ReadonlyMap<string, number | null>

/**
 * Joins the compromised keys that the source declares with those that the verifier knows. The sender of an export
 * could leave out the former.
 */
export function compromisedKeys(
  hints: readonly Pick<KeyHint, 'kid' | 'compromisedAt'>[],
  known: CompromisedKeys = new Map(),
): CompromisedKeys {
  const hinted = hints.filter((key) => key.compromisedAt !== null).map(({ kid }) => [kid, null] as const)
  return new Map([...hinted, ...known])
}
