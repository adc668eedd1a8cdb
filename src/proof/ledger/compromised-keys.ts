import type { KeyHint } from './key-hint.ts'

/**
 * Envelope keys that are in wrong hands, by kid: since when (milliseconds since the epoch), or null. An entry that such
 * a key signed counts if a kept checkpoint covers it, and does not count at all if it was signed from that time on. (A
 * time relaxes nothing: the thief chooses what time an entry says.)
 */
export type CompromisedKeys = ReadonlyMap<string, number | null>

/**
 * Those that the source owns up to, and those that the verifier was told of by others: the sender of an export can
 * leave out the first.
 */
export function compromisedKeys(
  hints: readonly Pick<KeyHint, 'kid' | 'compromisedAt'>[],
  known: CompromisedKeys = new Map(),
): CompromisedKeys {
  const said = hints.filter((key) => key.compromisedAt !== null).map(({ kid }) => [kid, null] as const)
  return new Map([...said, ...known])
}
