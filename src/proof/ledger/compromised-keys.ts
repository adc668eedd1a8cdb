import type { KeyHint } from './key-hint.ts'

/**
 * Maps the kid of a compromised envelope key to the time of the compromise (ms since 1970). The time is null if it is
 * unknown.
 *
 * An entry signed by such a key is accepted only if an outside checkpoint covers the entry. The entry is never accepted
 * if its time is at or after the compromise. The entry's time alone proves nothing, because anybody who stole the key
 * can choose the time.
 */
export type CompromisedKeys = ReadonlyMap<string, number | null>

/**
 * Joins the compromised keys that the source declares with the compromised keys that the verifier knows. The verifier's
 * own list is needed because the sender of an export could leave out a declaration.
 */
export function compromisedKeys(
  hints: readonly Pick<KeyHint, 'kid' | 'compromisedAt'>[],
  known: CompromisedKeys = new Map(),
): CompromisedKeys {
  const hinted = hints.filter((key) => key.compromisedAt !== null).map(({ kid }) => [kid, null] as const)
  return new Map([...hinted, ...known])
}
