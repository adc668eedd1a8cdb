import type {
  AuditedChunk,
  AuditedClosure,
  AuditedDocument,
  AuditedEntry,
  AuditedErasure,
  AuditedGatedRecord,
  AuditedKey,
  AuditedLedger,
  AuditedRecord,
  AuditedStatement,
  AuditedType,
} from '../db/audit/audited-rows.ts'
import { equalBytes, toHex } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import { documentDigest } from '../proof/statement/document.ts'
import type {
  ChunkColumns,
  ClosureColumns,
  DocumentColumns,
  EntryColumns,
  ErasureColumns,
  GatedColumns,
  KeyColumns,
  LedgerColumns,
  RecordColumns,
  StatementColumns,
  TypeColumns,
} from './entry-columns.ts'

/** Columns of the row of the entry itself, and of the gated record that it is about. */
export function entryColumns(entry: AuditedEntry) {
  return {
    subjectId: entry.subjectId,
    version: entry.version,
    itemCount: entry.itemCount,
    prevSeq: entry.prevSeq,
    prevLeaf: entry.prevLeaf === null ? null : toHex(entry.prevLeaf),
    earlierStepSeq: entry.earlierStepSeq,
    actorId: entry.actorId,
    keyId: entry.keyId,
    signerKid: entry.signerKid && toHex(entry.signerKid),
    hasSigner: entry.signer !== null,
    recordedAtUs: entry.recordedAtUs,
    gated: (entry.gated ?? []).map(gatedColumns),
    shares: (entry.shares ?? []).map(({ peerId, documents }) => ({ peerId, documents })),
    registration: entry.registration,
  } satisfies Partial<EntryColumns>
}

export function keyColumns({ keyId, agentId, scopes, expiresAtUs }: AuditedKey): KeyColumns {
  return { keyId, agentId, scopes, expiresAtUs }
}

export function erasureColumns({ subjectId, document, documentSeq }: AuditedErasure): ErasureColumns {
  return { subjectId, document, documentSeq }
}

export function closureColumns({ knownSize, knownChain }: AuditedClosure): ClosureColumns {
  return { knownSize, knownChain: toHex(knownChain) }
}

export function statementColumns({ seq: _, leaf, kid, ...row }: AuditedStatement): StatementColumns {
  return { ...row, leaf: toHex(leaf), kid: toHex(kid) }
}

export function typeColumns({ name, gated, definition, digest }: AuditedType, sha256: Sha256): TypeColumns {
  return {
    name,
    digest: toHex(digest),
    definition: toHex(sha256(definition)),
    gated,
    isDefinedGated: hasMember(definition, 'evidenceSchema'),
    isDefinedAgentSigned: hasMember(definition, 'agentSigned'),
  }
}

/** Reads the text, without trust: another check compares it with the signed one. */
function hasMember(definition: Buffer, name: string): boolean | null {
  try {
    return Object.hasOwn(JSON.parse(definition.toString('utf8')) as object, name)
  } catch {
    return null
  }
}

export function recordColumns(record: AuditedRecord, sha256: Sha256): RecordColumns {
  const { salt, payload, digest, referenceList: references } = record
  return {
    recordId: record.recordId,
    type: record.type,
    actorId: record.actorId,
    onBehalfOf: record.onBehalfOf,
    occurredAtUs: record.occurredAtUs,
    traceparent: record.traceparent,
    digest: toHex(digest),
    isCanonical:
      salt === null || payload === null || equalBytes(documentDigest(sha256, salt, payload), digest),
    parentId: record.parentId,
    referencesDigest:
      salt === null || references === null ? null : toHex(documentDigest(sha256, salt, references)),
    isHalfErased: record.isHalfErased,
    isFoundByReferences:
      JSON.stringify(record.searchedReferences ?? []) === JSON.stringify(sortedReferences(references)),
  }
}

export function chunkColumns({
  chunk,
  firstRecordId,
  count,
  erasedSeq,
  content,
}: AuditedChunk): ChunkColumns {
  return { chunk, firstRecordId, count, erasedSeq, contentBytes: content.length }
}

function gatedColumns([
  firstSeq,
  principalId,
  performerId,
  performerRemote,
  gate,
  deadlineUs,
  maxRevisions,
  tolerances,
  state,
  version,
  lastSeq,
  lastSubjectId,
  revisions,
]: AuditedGatedRecord): GatedColumns {
  return {
    firstSeq,
    principalId,
    performerId,
    performerRemote,
    gate,
    deadlineUs,
    maxRevisions,
    tolerances,
    state,
    version,
    lastSeq,
    lastSubjectId,
    revisions,
  }
}

export function documentColumns(
  { document, salt, content, digest }: AuditedDocument,
  sha256: Sha256,
): DocumentColumns {
  const isGone = salt === null || content === null
  return { document, isCanonical: isGone || equalBytes(documentDigest(sha256, salt, content), digest) }
}

/** Each once, in the order of their bytes, as Postgres' collation "C" has it; null where the bytes are no list. */
function sortedReferences(list: Buffer | null): string[] | null {
  try {
    const references = new Set(JSON.parse(list?.toString('utf8') ?? '[]') as string[])
    return [...references].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  } catch {
    return null
  }
}

export function ledgerColumns({ name, issuer, origin, noteKid }: AuditedLedger): LedgerColumns {
  return { name, issuer, origin, noteKid: noteKid === null ? null : toHex(noteKid) }
}
