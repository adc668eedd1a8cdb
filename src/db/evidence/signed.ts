import type { Sha256 } from '../../proof/crypto.ts'
import { type IdPrefix, parseId, type Uuid } from '../../proof/ids.ts'
import { ENTRY_KINDS, type EntryKind } from '../../proof/statement/kinds.ts'
import { parseRemoteAgent, remoteAgentId } from '../../proof/statement/remote-agents.ts'
import { type ParsedStatement, partyOf } from '../../proof/statement/statement.ts'

/* Column values from signed statements, used for several tables. */

/** Returns the agent or key that an entry of this kind ends, which is its subject. */
export function endedIds({ kind, subjects }: ParsedStatement, ending: EntryKind, prefix: IdPrefix): string[] {
  return kind === ending ? [parseId(prefix, subjects[0].name)] : []
}

const ID_PREFIXES: readonly IdPrefix[] = ['rec', 'bat', 'led', 'agt', 'key', 'cmp', 'peer', 'stm']

/**
 * Returns the subject's uuid. Types and entries of other ledgers have none. For an erased document it is the uuid of
 * the record or completion.
 */
export function subjectUuid({ kind, subjects }: ParsedStatement): Uuid | null {
  if (ENTRY_KINDS[kind].subjects[0] === 'entry') return null
  const [id] = subjects[0].name.split('/')
  const prefix = ID_PREFIXES.find((known) => id!.startsWith(`${known}_`))
  return prefix ? parseId(prefix, id!) : null
}

/** Returns the version. A batch has version 1, like the records that it begins. */
export function versionOf({ kind, predicate }: ParsedStatement): number | null {
  if (kind === 'batch-notarized') return 1
  return ENTRY_KINDS[kind].movesRecord ? (predicate['version'] as number) : null
}

/** Returns the number of a batch's records; null: not a batch. */
export function itemCountOf({ kind, predicate }: ParsedStatement): number | null {
  return kind === 'batch-notarized' ? (predicate['count'] as number) : null
}

export function partyUuid(statement: ParsedStatement, sha256: Sha256): Uuid | null {
  return agentUuid(partyOf(statement), sha256)
}

export function actorUuid({ actor }: ParsedStatement, sha256: Sha256): Uuid | null {
  return agentUuid(actor, sha256)
}

/** Returns null for `system`. */
export function agentUuid(name: string, sha256: Sha256): Uuid | null {
  if (name === 'system') return null
  return parseRemoteAgent(name) ? remoteAgentId(sha256, name) : parseId('agt', name)
}

export function microseconds(time: string): string {
  return `${BigInt(Date.parse(time)) * 1_000n}`
}
