import type {
  AuditedClosure,
  AuditedDocument,
  AuditedEntry,
  AuditedErasure,
  AuditedGatedRecord,
  AuditedKey,
  AuditedLedger,
  AuditedRecord,
  AuditedType,
} from '../db/audit/audited-rows.ts'
import { equalBytes, toHex } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import { documentDigest } from '../proof/statement/document.ts'
import type {
  ClosureColumns,
  DocumentColumns,
  EntryColumns,
  ErasureColumns,
  GatedColumns,
  KeyColumns,
  LedgerColumns,
  RecordColumns,
  TypeColumns,
} from './entry-columns.ts'

/** Columns of the row of the entry itself, and of the gated record that it is about. */
export function entryColumns(entry: AuditedEntry) {
  return {
    subjectId: entry.subject_id,
    version: entry.version,
    prevSeq: entry.prev_seq,
    prevLeaf: entry.prev_leaf === null ? null : toHex(entry.prev_leaf),
    earlierStepSeq: entry.earlier_step_seq,
    actorId: entry.actor_id,
    keyId: entry.key_id,
    recordedAtUs: entry.recorded_at_us,
    gated: (entry.gated ?? []).map(gatedColumns),
    shares: (entry.shares ?? []).map(({ peer_id, documents }) => ({ peerId: peer_id, documents })),
  } satisfies Partial<EntryColumns>
}

export function keyColumns({ key_id, agent_id, scopes, expires_at_us }: AuditedKey): KeyColumns {
  return { keyId: key_id, agentId: agent_id, scopes, expiresAtUs: expires_at_us }
}

export function erasureColumns({ subject_id, document, document_seq }: AuditedErasure): ErasureColumns {
  return { subjectId: subject_id, document, documentSeq: document_seq }
}

export function closureColumns({ known_size, known_chain }: AuditedClosure): ClosureColumns {
  return { knownSize: known_size, knownChain: toHex(known_chain) }
}

export function typeColumns({ name, gated, definition, digest }: AuditedType, sha256: Sha256): TypeColumns {
  return {
    name,
    digest: toHex(digest),
    definition: toHex(sha256(definition)),
    gated,
    isDefinedGated: isDefinedGated(definition.toString('utf8')),
  }
}

/** Reads the text, without trust: another check compares it with the signed one. */
function isDefinedGated(definition: string): boolean | null {
  try {
    return Object.hasOwn(JSON.parse(definition) as object, 'evidenceSchema')
  } catch {
    return null
  }
}

export function recordColumns(record: AuditedRecord, sha256: Sha256): RecordColumns {
  const { salt, payload, digest, reference_list: references } = record
  return {
    recordId: record.record_id,
    type: record.type,
    itemIndex: record.item_index,
    actorId: record.actor_id,
    onBehalfOf: record.on_behalf_of,
    occurredAtUs: record.occurred_at_us,
    traceparent: record.traceparent,
    digest: toHex(digest),
    isCanonical:
      salt === null || payload === null || equalBytes(documentDigest(sha256, salt, payload), digest),
    parentId: record.parent_id,
    referencesDigest:
      salt === null || references === null ? null : toHex(documentDigest(sha256, salt, references)),
    isHalfErased: record.is_half_erased,
    isFoundByReferences:
      JSON.stringify(record.searched_references ?? []) === JSON.stringify(sortedReferences(references)),
  }
}

function gatedColumns(row: AuditedGatedRecord): GatedColumns {
  return {
    firstSeq: row.first_seq,
    principalId: row.principal_id,
    performerId: row.performer_id,
    performerRemote: row.performer_remote,
    gate: row.gate,
    deadlineUs: row.deadline_us,
    maxRevisions: row.max_revisions,
    tolerances: row.tolerances,
    state: row.state,
    version: row.version,
    lastSeq: row.last_seq,
    lastSubjectId: row.last_subject_id,
    revisions: row.revisions,
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

export function ledgerColumns({ name, issuer, origin, note_kid }: AuditedLedger): LedgerColumns {
  return { name, issuer, origin, noteKid: note_kid === null ? null : toHex(note_kid) }
}
