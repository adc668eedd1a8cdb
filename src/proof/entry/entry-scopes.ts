import { ENTRY_KINDS, type EntryKind, type KindRows } from '../statement/kinds.ts'

/** Kinds of entries that an API key can make. Only the server can make the other kinds. */
type KindOfKeys = { [Kind in EntryKind]: KindRows[Kind]['scope'] extends string ? Kind : never }[EntryKind]

/**
 * Returns the scope that a key needs to make an entry of the kind. Routes require this scope, and verifiers check each
 * entry's key against it. So an attacker inside the API's process can do no more with a key than the key's owner can do
 * over HTTP.
 *
 * `system` acts without a key. It makes only entries that belong to the operator or to no agent: the first agent, keys
 * for agents that lost theirs, and the verdict of an `auto` gate.
 */
export function scopeOfEntry<Kind extends KindOfKeys>(kind: Kind): KindRows[Kind]['scope'] {
  return ENTRY_KINDS[kind].scope as KindRows[Kind]['scope']
}
