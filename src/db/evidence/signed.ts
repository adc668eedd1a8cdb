import type { Sha256 } from '../../proof/crypto.ts'
import { type IdPrefix, parseId, type Uuid } from '../../proof/ids.ts'
import { ENTRY_KINDS, type EntryKind } from '../../proof/statement/kinds.ts'
import { parseRemoteAgent, remoteAgentId } from '../../proof/statement/remote-agents.ts'
import { type ParsedStatement, partyOf } from '../../proof/statement/statement.ts'

/* Computes column values from signed statements, for several tables. */

/**
 * If the statement is of the kind `ending`, returns the id of its subject, which is the agent or key that ends. Returns
 * an empty list otherwise.
 */
export function endedIds({ kind, subjects }: ParsedStatement, ending: EntryKind, prefix: IdPrefix): string[] {
  return kind === ending ? [parseId(prefix, subjects[0].name)] : []
}

const ID_PREFIXES: readonly IdPrefix[] = ['rec', 'bat', 'led', 'agt', 'key', 'cmp', 'peer', 'stm']

/**
 * Returns the uuid of the subject. For an erased document it is the uuid of the record or completion. Returns null for
 * types and for entries of other ledgers, which have no uuid.
 */
export function subjectUuid({ kind, subjects }: ParsedStatement): Uuid | null {
  if (ENTRY_KINDS[kind].subjects[0] === 'entry') return null
  const [id] = subjects[0].name.split('/')
  const prefix = ID_PREFIXES.find((known) => id!.startsWith(`${known}_`))
  return prefix ? parseId(prefix, id!) : null
}

/**
 * Returns the version of the record, or null if the entry is about no record. A batch and its records have version 1.
 */
export function versionOf({ kind, predicate }: ParsedStatement): number | null {
  if (kind === 'batch-notarized') return 1
  return ENTRY_KINDS[kind].movesRecord ? (predicate['version'] as number) : null
}

/** Returns the number of a batch's records, or null if the entry is not a batch. */
export function itemCountOf({ kind, predicate }: ParsedStatement): number | null {
  return kind === 'batch-notarized' ? (predicate['count'] as number) : null
}

export function partyUuid(statement: ParsedStatement, sha256: Sha256): Uuid | null {
  return agentUuid(partyOf(statement), sha256)
}

export function actorUuid({ actor }: ParsedStatement, sha256: Sha256): Uuid | null {
  return agentUuid(actor, sha256)
}

/** Returns the agent's uuid, or null for `system`. */
export function agentUuid(name: string, sha256: Sha256): Uuid | null {
  if (name === 'system') return null
  return parseRemoteAgent(name) ? remoteAgentId(sha256, name) : parseId('agt', name)
}

export function microseconds(time: string): string {
  return `${BigInt(Date.parse(time)) * 1_000n}`
}
