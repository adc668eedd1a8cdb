import { equalBytes, toHex } from '../../proof/bytes.ts'
import { parseId, type Uuid } from '../../proof/ids.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import { documentDigest } from '../../proof/statement/document.ts'
import {
  columnsOfSigned,
  type MemberColumns,
  type SignedMembers,
} from '../../proof/statement/record-members.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import { asBase64 } from '../connect/packed-bytes.ts'
import { columnContradiction, compare, compareRows } from './compare.ts'
import { contradiction } from './contradiction.ts'
import { type Evidence, microsecondsOf } from './table.ts'

/** A record with an entry of its own. */
export type AuditedRecord = Omit<MemberColumns, 'occurredAtMs'> & {
  seq: number
  recordId: Uuid
  type: string
  actorId: Uuid
  occurredAt: Date | null
  occurredAtUs: string | null
  digest: Buffer
  salt: Buffer | null
  payload: Buffer | null
  payloadErasedSeq: number | null
  isHalfErased: boolean
  referenceList: Buffer | null
  searchedReferences: string[] | null
}

type SignedRecordColumns = Omit<MemberColumns, 'occurredAtMs' | 'otherMembers'> & {
  readonly recordId: string
  readonly type: string
  readonly actorId: string
  readonly occurredAtUs: string | null
  /** Other members as canonical JSON. */
  readonly otherMembers: string | null
  readonly digest: string
}

export type RecordColumns = SignedRecordColumns & {
  /** True if the digest covers the payload's stored bytes. False if they are only equivalent JSON. */
  readonly isCanonical: boolean
  /** Digest of the stored references with the payload's salt. null if the references or the salt are missing. */
  readonly referencesDigest: string | null
  /** True if the payload was erased, but something that was stored with it was not. */
  readonly isHalfErased: boolean
  /** True if searches by reference find the record by all its references, and by no others. */
  readonly isFoundByReferences: boolean
}

/**
 * Returns SQL for a time. It gives null for times that no statement can contain, such as `infinity`. The driver cannot
 * make a Date of them.
 */
const timeOf = (column: string) =>
  `case when ${column} >= '0001-01-01Z' and ${column} < '10000-01-01Z' then ${column} end`

/**
 * Compares the row of the record that the entry creates. Records of batches have no row (src/verify/verify-batch.ts).
 *
 * `searched_references` are the references by which searches find the record. They are read only if the record has
 * references, because otherwise each of ten million records would cost an index access. countRows detects additional
 * references.
 */
export const RECORDS: Evidence<AuditedRecord, RecordColumns> = {
  table: 'records',
  sql: `select r.first_seq as seq, r.record_id, r.type, r.actor_id,
      r.on_behalf_of, ${timeOf('r.occurred_at')} as occurred_at, ${microsecondsOf('r.occurred_at')} as occurred_at_us,
      r.traceparent, ${asBase64('r.digest')} as digest, ${asBase64('r.salt')} as salt, ${asBase64('r.payload')} as payload,
      r.payload_erased_seq, r.parent_id, r.other_members, ${asBase64('r.reference_list')} as reference_list,
      r.payload_erased_seq is not null and (r.metadata is not null or r.reference_list is not null
        or r.subject is not null and not exists (
          select from tallystick.gated_records g where g.ledger_id = r.ledger_id and g.record_id = r.record_id)) as is_half_erased,
      x.searched_references
    from tallystick.records r
    left join lateral (
      select array_agg(x.reference order by x.reference collate "C") as searched_references
      from tallystick.record_references x
      where r.reference_list is not null and x.ledger_id = r.ledger_id and x.record_id = r.record_id
        and x.first_seq = r.first_seq
      offset 0
    ) x on true
    where r.ledger_id = $1 order by r.first_seq`,
  columns(record, { sha256 }) {
    const { salt, payload, digest, referenceList: references } = record
    return {
      recordId: record.recordId,
      type: record.type,
      actorId: record.actorId,
      onBehalfOf: record.onBehalfOf,
      occurredAtUs: record.occurredAtUs,
      traceparent: record.traceparent,
      parentId: record.parentId,
      otherMembers: record.otherMembers && textOf(record.otherMembers),
      digest: toHex(digest),
      isCanonical:
        salt === null || payload === null || equalBytes(documentDigest(sha256, salt, payload), digest),
      referencesDigest:
        salt === null || references === null ? null : toHex(documentDigest(sha256, salt, references)),
      isHalfErased: record.isHalfErased,
      isFoundByReferences:
        JSON.stringify(record.searchedReferences ?? []) === JSON.stringify(sortedReferences(references)),
    }
  },
  verify({ statement, step }, rows) {
    const expected = signedRecords(statement)
    if (rows.length !== expected.length)
      throw contradiction(
        `records: ${rows.length} rows begin at seq ${step.seq}, but ${expected.length} were signed`,
      )
    for (const [i, row] of rows.entries()) {
      compareRows<SignedRecordColumns>('records', [row], [expected[i]!])
      if (!row.isCanonical)
        throw columnContradiction('records', 'payload', 'not the bytes that were hashed', 'canonical JSON')
      if (row.referencesDigest !== null)
        compare('records', 'reference_list', row.referencesDigest, statement.predicate['references'] ?? null)
      if (row.isHalfErased)
        throw contradiction(`records: ${row.recordId} is erased, but its metadata or references are not`)
      if (!row.isFoundByReferences)
        throw contradiction(`record_references: the rows do not match ${row.recordId}`)
    }
  },
}

/**
 * Returns the canonical text. An attacker can store numbers that canonical JSON refuses, such as 1e400. For them the
 * returned text matches no statement.
 */
function textOf(stored: NonNullable<AuditedRecord['otherMembers']>): string {
  try {
    return canonicalize(stored)
  } catch {
    return 'not canonical'
  }
}

function signedRecords(statement: ParsedStatement): SignedRecordColumns[] {
  if (statement.kind !== 'record-notarized' && statement.kind !== 'record-created') return []
  const { subjects, actor, predicate } = statement
  const { occurredAtMs, otherMembers, ...columns } = columnsOfSigned(predicate as SignedMembers)
  return [
    {
      ...columns,
      recordId: parseId('rec', subjects[0].name),
      type: predicate['type'] as string,
      actorId: parseId('agt', actor),
      occurredAtUs: occurredAtMs === null ? null : `${BigInt(occurredAtMs) * 1_000n}`,
      otherMembers: otherMembers && canonicalize(otherMembers),
      digest: subjects[0].sha256,
    },
  ]
}

/**
 * Returns the distinct references, sorted by their bytes like Postgres' collation "C". Returns null if the bytes are
 * not a list.
 */
function sortedReferences(list: Buffer | null): string[] | null {
  try {
    const references = new Set(JSON.parse(list?.toString('utf8') ?? '[]') as string[])
    return [...references].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  } catch {
    return null
  }
}
