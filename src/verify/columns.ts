import { toHex } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import type { VerifiedEntry } from '../proof/entry/verify-entry.ts'
import { parseId } from '../proof/ids.ts'
import type { ParsedStatement } from '../proof/statement/statement.ts'
import { columnContradiction, compare, compareRows } from './compare.ts'
import { contradiction } from './contradiction.ts'
import type {
  DocumentColumns,
  EntryColumns,
  IdempotencyColumns,
  RecordColumns,
  TypeColumns,
} from './entry-columns.ts'
import { verifyGatedColumns } from './gated-columns.ts'
import { verifyPeerColumns } from './peer-columns.ts'
import {
  actorUuid,
  agentRows,
  closureRows,
  endedIds,
  erasureRows,
  holdRows,
  itemCountOf,
  keyRows,
  ledgerRows,
  liftedHolds,
  microseconds,
  recordRows,
  revokedSigningKids,
  ruleRows,
  signingKeyRows,
  subjectUuid,
  versionOf,
} from './signed-rows.ts'

/** Throws `columns_contradict_entries`, naming the column. */
export function verifyColumns(entry: VerifiedEntry, columns: EntryColumns, sha256: Sha256): void {
  const { statement, step } = entry
  compare('entries', 'subject_id', columns.subjectId, subjectUuid(statement))
  compare('entries', 'version', columns.version, versionOf(statement))
  compare('entries', 'item_count', columns.itemCount, itemCountOf(statement))
  compare('entries', 'prev_seq', columns.prevLeaf, previousOf(statement))
  if (columns.prevSeq !== null && columns.prevLeaf === null)
    throw columnContradiction('entries', 'prev_seq', 'of no entry', 'a seq')
  compare('entries', 'actor_id', columns.actorId, actorUuid(statement, sha256))
  compare('entries', 'key_id', columns.keyId, statement.key === null ? null : parseId('key', statement.key))
  // A server's kid has no row there, because each row is that of an entry that registers an agent's.
  const signerKid = columns.hasSigner ? toHex(entry.envelope.kid) : null
  compare('entries', 'signer_kid', columns.signerKid, signerKid)
  compare('entries', 'recorded_at', columns.recordedAtUs, microseconds(statement.recordedAt))
  verifyGatedColumns(statement, step.seq, columns, sha256)
  verifyPeerColumns(entry, columns, sha256)
  verifyRecordRows(statement, columns.records, step.seq)
  verifyChunksAbsent(statement, columns)
  verifyDocumentRows(columns.documents)
  compareRows('agents', columns.agents, agentRows(statement))
  compareRows('api_keys', columns.keys, keyRows(statement))
  compare('agents', 'disabled_seq', columns.disabledAgentIds, endedIds(statement, 'agent-disabled', 'agt'))
  compare('api_keys', 'revoked_seq', columns.revokedKeyIds, endedIds(statement, 'key-revoked', 'key'))
  compareRows('agent_signing_keys', columns.signingKeys, signingKeyRows(statement))
  compare('agent_signing_keys', 'revoked_seq', columns.revokedSigningKids, revokedSigningKids(statement))
  verifyTypeRows(statement, columns.types)
  compareRows('ledgers', columns.ledger ? [columns.ledger] : [], ledgerRows(statement, sha256))
  compareRows('erasures', columns.erasures, erasureRows(statement))
  compareRows('retention_rules', columns.rules, ruleRows(statement))
  compareRows('holds', columns.holds, holdRows(statement))
  compare('holds', 'lifted_seq', columns.liftedHolds, liftedHolds(statement))
  compareRows('ledger_closures', columns.closures, closureRows(statement))
  compareRows('statements', columns.statements, [])
  verifyIdempotencyRows(statement, columns.idempotencyKeys, sha256)
}

/** An offer's is in the chain of the record's home; that of a registration is the statement, its subject. */
function previousOf({ kind, subjects, predicate }: ParsedStatement): string | null {
  if (kind === 'statement-registered') return subjects[0].sha256
  return kind === 'step-offered' ? null : ((predicate['previous'] as string | undefined) ?? null)
}

/** A request has one key at most, and an actor's keys are its own. */
function verifyIdempotencyRows(
  statement: ParsedStatement,
  rows: readonly IdempotencyColumns[],
  sha256: Sha256,
): void {
  if (rows.length > 1) throw columnContradiction('idempotency_keys', 'seq', rows.length, 1)
  for (const { actorId, isForgotten, isOfErased } of rows) {
    compare('idempotency_keys', 'actor_id', actorId, actorUuid(statement, sha256))
    if (isForgotten !== isOfErased)
      throw contradiction(
        `idempotency_keys: a fingerprint ${isForgotten ? 'is missing' : 'outlives what was erased'}`,
      )
  }
}

/** The row of the record that the entry makes, and no other. Those of a batch have none (verify-batch.ts). */
function verifyRecordRows(statement: ParsedStatement, rows: readonly RecordColumns[], seq: number): void {
  const expected = recordRows(statement)
  if (rows.length !== expected.length) {
    throw contradiction(`records: ${rows.length} rows begin at seq ${seq}, signed are ${expected.length}`)
  }
  for (const [i, row] of rows.entries()) {
    const { isCanonical, referencesDigest, isFoundByReferences, isHalfErased, ...fixed } = row
    compareRows('records', [fixed], [expected[i]!])
    if (!isCanonical)
      throw columnContradiction('records', 'payload', 'not the bytes that were hashed', 'canonical JSON')
    if (referencesDigest !== null)
      compare('records', 'reference_list', referencesDigest, statement.predicate['references'] ?? null)
    if (isHalfErased)
      throw contradiction(`records: ${row.recordId} is erased, its metadata or references are not`)
    if (!isFoundByReferences) throw contradiction(`record_references: not those of ${row.recordId}`)
  }
}

/** Those of a batch are compared with its items (verify-batch.ts). */
function verifyChunksAbsent({ kind }: ParsedStatement, { chunks, chunkKeys }: EntryColumns): void {
  if (kind === 'batch-notarized') return
  if (chunks.length + chunkKeys.length > 0)
    throw contradiction('batch_chunks, batch_keys: rows of an entry that notarizes no batch')
}

/** Number, subjects and digests were compared as documents of the entry's line. */
function verifyDocumentRows(rows: readonly DocumentColumns[]): void {
  for (const { isCanonical } of rows) {
    if (!isCanonical)
      throw columnContradiction('documents', 'content', 'not the bytes that were hashed', 'canonical JSON')
  }
}

/** A type's entry signs the digest of its definition; the rest of the row is what the definition says. */
function verifyTypeRows({ kind, subjects, predicate }: ParsedStatement, rows: readonly TypeColumns[]): void {
  const [{ name, sha256 }] = subjects
  const signed = kind === 'type-registered' ? [{ name, digest: sha256, definition: sha256 }] : []
  compareRows<Pick<TypeColumns, 'name' | 'digest' | 'definition'>>('types', rows, signed)
  for (const { gated, isDefinedGated, isDefinedAgentSigned } of rows) {
    compare('types', 'gated', gated, isDefinedGated)
    compare('types', 'definition', isDefinedAgentSigned, predicate['agentSigned'] === true)
  }
}
