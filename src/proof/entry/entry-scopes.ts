import { ENTRY_KINDS, type EntryKind, type KindRows } from '../statement/kinds.ts'

/** A kind of entry that API keys can make, not the server alone. */
type KindOfKeys = { [Kind in EntryKind]: KindRows[Kind]['scope'] extends string ? Kind : never }[EntryKind]

/**
 * Returns the scope that a key needs to make an entry of the kind. Routes require it, and verifiers check each
 * entry's key against it: a thief inside the API's process can do no more with a key than over HTTP.
 *
 * `system` stands for no key. It may do only what no agent of a ledger does, and what the ledger's operator does: the
 * first agent, keys for agents that lost theirs, the judgement of an `auto` gate.
 */
export function scopeOfEntry<Kind extends KindOfKeys>(kind: Kind): KindRows[Kind]['scope'] {
  return ENTRY_KINDS[kind].scope as KindRows[Kind]['scope']
}
