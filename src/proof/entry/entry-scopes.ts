import { ENTRY_KINDS, type EntryKind, type KindRows } from '../statement/kinds.ts'

/** A kind that keys make, and not the server alone. */
type KindOfKeys = { [Kind in EntryKind]: KindRows[Kind]['scope'] extends string ? Kind : never }[EntryKind]

/**
 * The scope by which a key makes an entry of the kind. Routes let a key in by it, and verifiers hold each entry's key to it: a key that a
 * thief of the API's process has at hand does no more there than it could do over HTTP.
 *
 * `system` stands for no key, so it may do only what no agent of a ledger does, and what its operator does: the first agent, keys
 * for those who have lost theirs, the judgement of an `auto` gate.
 */
export function scopeOfEntry<Kind extends KindOfKeys>(kind: Kind): KindRows[Kind]['scope'] {
  return ENTRY_KINDS[kind].scope as KindRows[Kind]['scope']
}
