import type { AuditedLedger, AuditedRecord, AuditedType } from '../db/ledger-snapshot.ts'
import { equalBytes, toHex } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import { documentDigest } from '../proof/document.ts'
import type { LedgerColumns, RecordColumns, TypeColumns } from './entry-columns.ts'

export function typeColumns({ name, gated, definition, digest }: AuditedType, sha256: Sha256): TypeColumns {
  return {
    name,
    digest: toHex(digest),
    definition: toHex(sha256(definition)),
    gated,
    isDefinedGated: isDefinedGated(definition.toString('utf8')),
  }
}

/** What the text says, whoever wrote it: that it is the text that was signed is compared elsewhere. */
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
    state: record.state,
    version: record.version,
    lastSeq: record.last_seq,
    lastSubjectId: record.last_subject_id,
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
