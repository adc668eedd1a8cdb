import { fromBase64, toHex } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import { type IdPrefix, parseId, type Uuid } from '../proof/ids.ts'
import type { JsonObject } from '../proof/json/json-value.ts'
import { keyThumbprint, parsePublicKey } from '../proof/keys.ts'
import type { AgentKeyRegistration } from '../proof/statement/agent-key.ts'
import { parseDocumentSubject } from '../proof/statement/document-subjects.ts'
import { ENTRY_KINDS, type EntryKind } from '../proof/statement/kinds.ts'
import { parseRemoteAgent, remoteAgentId } from '../proof/statement/remote-agents.ts'
import { type ParsedStatement, partyOf } from '../proof/statement/statement.ts'
import type {
  AgentColumns,
  ClosureColumns,
  HoldColumns,
  KeyColumns,
  LedgerColumns,
  RecordColumns,
  RuleColumns,
  SigningKeyColumns,
} from './entry-columns.ts'

/* The rows that a signed statement makes, and the columns of its entry, which the database's must equal. */

type FixedRecordColumns = Omit<
  RecordColumns,
  'isCanonical' | 'referencesDigest' | 'isFoundByReferences' | 'isHalfErased'
>

export function recordRows(statement: ParsedStatement): FixedRecordColumns[] {
  if (statement.kind !== 'record-notarized' && statement.kind !== 'record-created') return []
  const { type, occurredAt, traceparent, parent } = statement.predicate as Record<string, string | undefined>
  return [
    {
      recordId: parseId('rec', statement.subjects[0].name),
      type: type!,
      actorId: parseId('agt', statement.actor),
      onBehalfOf: statement.onBehalfOf === null ? null : parseId('agt', statement.onBehalfOf),
      occurredAtUs: occurredAt === undefined ? null : microseconds(occurredAt),
      traceparent: traceparent ?? null,
      digest: statement.subjects[0].sha256,
      parentId: parent === undefined ? null : parseId('rec', parent),
    },
  ]
}

export function agentRows({ kind, predicate }: ParsedStatement): AgentColumns[] {
  if (kind !== 'agent-registered') return []
  return [{ agentId: parseId('agt', predicate['agent'] as string), name: predicate['name'] as string }]
}

export function keyRows({ kind, subjects, predicate }: ParsedStatement): KeyColumns[] {
  if (kind !== 'key-created') return []
  const { agent, scopes, expiresAt } = predicate as {
    agent: string
    scopes: string[]
    expiresAt: string | null
  }
  return [
    {
      keyId: parseId('key', subjects[0].name),
      agentId: parseId('agt', agent),
      scopes,
      expiresAtUs: expiresAt === null ? null : microseconds(expiresAt),
    },
  ]
}

export function signingKeyRows({ kind, predicate }: ParsedStatement): SigningKeyColumns[] {
  if (kind !== 'agent-key-registered') return []
  const { agent, newKey, required } = predicate as unknown as AgentKeyRegistration
  return [{ agentId: parseId('agt', agent), ...newKey, required }]
}

export function revokedSigningKids({ kind, predicate }: ParsedStatement): string[] {
  return kind === 'agent-key-revoked' ? [predicate['kid'] as string] : []
}

export function erasureRows({ kind, subjects, predicate }: ParsedStatement) {
  if (kind !== 'payload-erased') return []
  const { document, id } = parseDocumentSubject(subjects[0].name)!
  return [{ subjectId: id, document, documentSeq: predicate['seq'] as number }]
}

export function ruleRows({ kind, predicate }: ParsedStatement): RuleColumns[] {
  if (kind !== 'retention-set') return []
  return [{ ...narrowed(predicate), days: predicate['days'] as number | null }]
}

export function holdRows({ kind, predicate }: ParsedStatement): HoldColumns[] {
  if (kind !== 'hold-set') return []
  const records = predicate['records'] as string[] | undefined
  const recordIds = records?.map((id) => parseId('rec', id)) ?? null
  return [{ caseId: predicate['case'] as string, ...narrowed(predicate), recordIds }]
}

function narrowed(predicate: JsonObject) {
  const { type = null, agent } = predicate as { type?: string; agent?: string }
  return { type, agentId: agent === undefined ? null : parseId('agt', agent) }
}

export function liftedHolds({ kind, predicate }: ParsedStatement): number[] {
  return kind === 'hold-lifted' ? [predicate['seq'] as number] : []
}

export function closureRows({ kind, predicate }: ParsedStatement): ClosureColumns[] {
  if (kind !== 'ledger-restored') return []
  const { size, chain } = predicate['known'] as { size: number; chain: string }
  return [{ knownSize: size, knownChain: chain }]
}

/** Agent or key that an entry of this kind ends: its subject. */
export function endedIds({ kind, subjects }: ParsedStatement, ending: EntryKind, prefix: IdPrefix): string[] {
  return kind === ending ? [parseId(prefix, subjects[0].name)] : []
}

export function ledgerRows({ kind, predicate }: ParsedStatement, sha256: Sha256): LedgerColumns[] {
  if (kind !== 'ledger-created') return []
  const { name, issuer, origin, noteKey } = predicate['definition'] as Record<string, string>
  const noteKid = toHex(keyThumbprint(sha256, parsePublicKey('EdDSA', fromBase64(noteKey!))))
  return [{ name: name!, issuer: issuer!, origin: origin!, noteKid }]
}

const ID_PREFIXES: readonly IdPrefix[] = ['rec', 'bat', 'led', 'agt', 'key', 'cmp', 'peer', 'stm']

/**
 * Uuid of the subject. A type, and another ledger's entry, has none; for an erased document it is that of the record or
 * completion.
 */
export function subjectUuid({ kind, subjects }: ParsedStatement): Uuid | null {
  if (ENTRY_KINDS[kind].subjects[0] === 'entry') return null
  const [id] = subjects[0].name.split('/')
  const prefix = ID_PREFIXES.find((known) => id!.startsWith(`${known}_`))
  return prefix ? parseId(prefix, id!) : null
}

/** A batch begins its records, and so has the version that they have. */
export function versionOf({ kind, predicate }: ParsedStatement): number | null {
  if (kind === 'batch-notarized') return 1
  return ENTRY_KINDS[kind].movesRecord ? (predicate['version'] as number) : null
}

/** Number of records that a batch makes; null: it is none. */
export function itemCountOf({ kind, predicate }: ParsedStatement): number | null {
  return kind === 'batch-notarized' ? (predicate['count'] as number) : null
}

export function partyUuid(statement: ParsedStatement, sha256: Sha256): Uuid | null {
  return agentUuid(partyOf(statement), sha256)
}

export function actorUuid({ actor }: ParsedStatement, sha256: Sha256): Uuid | null {
  return agentUuid(actor, sha256)
}

/** null for `system`. */
export function agentUuid(name: string, sha256: Sha256): Uuid | null {
  if (name === 'system') return null
  return parseRemoteAgent(name) ? remoteAgentId(sha256, name) : parseId('agt', name)
}

export function microseconds(time: string): string {
  return `${BigInt(Date.parse(time)) * 1_000n}`
}
