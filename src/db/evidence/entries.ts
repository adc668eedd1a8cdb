import { toHex } from '../../proof/bytes.ts'
import type { Sha256 } from '../../proof/crypto.ts'
import type { LineSigner } from '../../proof/entry/entry-line.ts'
import type { VerifiedEntry } from '../../proof/entry/verify-entry.ts'
import { parseId, type Uuid } from '../../proof/ids.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import { signerOf } from '../chain/read-entries.ts'
import { asBase64 } from '../connect/packed-bytes.ts'
import { columnContradiction, compare, compareRows } from './compare.ts'
import {
  type AuditedGatedRecord,
  GATED_ROW,
  type GatedColumns,
  gatedColumns,
  verifyGatedRows,
} from './gated-records.ts'
import { type ShareColumns, signedShares } from './shared-records.ts'
import { actorUuid, itemCountOf, microseconds, subjectUuid, versionOf } from './signed.ts'
import { microsecondsOf } from './table.ts'

/* An entry's row, with other rows that are read in the same query: the state of its record, and its shares. */

export type AuditedEntry = {
  seq: number
  kind: string
  recordedAt: Date
  recordedAtUs: string
  leaf: Buffer
  chain: Buffer
  envelope: Buffer
  subjectId: Uuid | null
  version: number | null
  itemCount: number | null
  prevSeq: number | null
  prevLeaf: Buffer | null
  actorId: Uuid | null
  keyId: Uuid | null
  signerKid: Buffer | null
  signer: LineSigner | null
  earlierStepSeq: number | null
  gated: AuditedGatedRecord[] | null
  shares: ShareColumns[] | null
  /** Kind, subject, actor, key and time of the next entry, if this entry is a registered statement. null otherwise. */
  registration: [string, Uuid | null, Uuid | null, Uuid | null, string] | null
}

export type EntryRowColumns = {
  readonly subjectId: string | null
  readonly version: number | null
  readonly itemCount: number | null
  readonly prevSeq: number | null
  readonly prevLeaf: string | null
  /** Seq of the gated record's last step before this entry. null if the record has no earlier step. */
  readonly earlierStepSeq: number | null
  readonly actorId: string | null
  readonly keyId: string | null
  readonly signerKid: string | null
  /** True if the row of the signer's key exists. In this case the entry's line contains the key. */
  readonly hasSigner: boolean
  readonly recordedAtUs: string
  /** The entry's gated record in its present state. Empty if the entry is not about a gated record. */
  readonly gated: readonly GatedColumns[]
  readonly shares: readonly ShareColumns[]
  /** Kind, subject, actor, key and time of the next entry, if this entry is a registered statement. null otherwise. */
  readonly registration: readonly unknown[] | null
}

/**
 * SQL condition that is true for a creation or a step of a gated record. It uses only columns that are compared with
 * the statement.
 */
const IS_OF_GATED = "(e.kind = 'record-created' or e.version > 1)"

/**
 * SQL that selects the entries of a ledger, each with everything that is compared with the entry.
 *
 * - `prev_leaf`: leaf of the entry at `prev_seq`, because the statement names the previous entry by its leaf.
 * - `earlier_step_seq`: seq of the record's previous step. If an attacker inserts a copy of an old entry, the copy
 *   names an older step than this one.
 * - `gated`: rows of the entry's record.
 *
 * The previous step is found by its version among the record's entries. A query for the greatest seq would make
 * Postgres read the chain backwards, past the entries of all other records. A plan for `seq < e.seq` that was made for
 * a small table would do the same. `earlier_step_seq` and `gated` are read in a `case`, because a join would cost a
 * microsecond for each of ten million notarizations.
 */
export const ENTRIES_BY_SEQ = `
  select e.seq, e.kind, e.recorded_at, ${microsecondsOf('e.recorded_at')} as recorded_at_us,
    ${asBase64('e.leaf')} as leaf, ${asBase64('e.chain')} as chain, ${asBase64('e.envelope')} as envelope,
    e.subject_id, e.version, e.item_count, e.prev_seq, ${asBase64('p.leaf')} as prev_leaf, e.actor_id, e.key_id,
    e.signer_kid, ${signerOf('e')} as signer,
    case when ${IS_OF_GATED} then (
      select x.seq from (
        select n.seq, n.version from tallystick.entries n
        where n.ledger_id = e.ledger_id and n.subject_id = e.subject_id and n.version > 1 order by n.version desc offset 0
      ) x where x.seq < e.seq limit 1
    ) end as earlier_step_seq,
    case when ${IS_OF_GATED} then (
      select json_agg(${GATED_ROW})
      from tallystick.gated_records g
      left join lateral (
        select x.subject_id from tallystick.entries x where x.ledger_id = g.ledger_id and x.seq = g.last_seq offset 0
      ) l on true
      where g.ledger_id = e.ledger_id and g.record_id = e.subject_id
    ) end as gated,
    case when e.kind in ('record-created', 'record-shared') then (
      select json_agg(json_build_object('peerId', s.peer_id, 'documents', s.documents) order by s.peer_id)
      from tallystick.shared_records s
      where s.ledger_id = e.ledger_id and s.record_id = e.subject_id and s.shared_seq = e.seq
    ) end as shares,
    case when e.kind = 'statement' then (
      select json_build_array(n.kind, n.subject_id, n.actor_id, n.key_id, ${microsecondsOf('n.recorded_at')})
      from tallystick.entries n where n.ledger_id = e.ledger_id and n.seq = e.seq + 1
    ) end as registration
  from tallystick.entries e
  left join lateral (
    select x.leaf from tallystick.entries x where x.ledger_id = e.ledger_id and x.seq = e.prev_seq offset 0
  ) p on true
  where e.ledger_id = $1 order by e.seq`

/** Returns the columns of the entry's own row and of the row of its gated record. */
export function entryRowColumns(entry: AuditedEntry): EntryRowColumns {
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
    shares: entry.shares ?? [],
    registration: entry.registration,
  }
}

/**
 * Compares the entry's own row and the row of its gated record with the statement. Throws `columns_contradict_entries`
 * with the name of the column.
 */
export function verifyEntryRow(entry: VerifiedEntry, columns: EntryRowColumns, sha256: Sha256): void {
  const { statement, step } = entry
  compare('entries', 'subject_id', columns.subjectId, subjectUuid(statement))
  compare('entries', 'version', columns.version, versionOf(statement))
  compare('entries', 'item_count', columns.itemCount, itemCountOf(statement))
  compare('entries', 'prev_seq', columns.prevLeaf, previousOf(statement))
  if (columns.prevSeq !== null && columns.prevLeaf === null)
    throw columnContradiction('entries', 'prev_seq', 'of no entry', 'a seq')
  compare('entries', 'actor_id', columns.actorId, actorUuid(statement, sha256))
  compare('entries', 'key_id', columns.keyId, statement.key === null ? null : parseId('key', statement.key))
  // The column is null if the server signed the entry. Only keys of agents have rows, because entries register these
  // keys. A server's key has no row.
  const signerKid = columns.hasSigner ? toHex(entry.envelope.kid) : null
  compare('entries', 'signer_kid', columns.signerKid, signerKid)
  compare('entries', 'recorded_at', columns.recordedAtUs, microseconds(statement.recordedAt))
  verifyGatedRows(statement, step.seq, columns, sha256)
  compareRows('shared_records', columns.shares, signedShares(statement))
}

/**
 * Returns the leaf that the statement names as previous entry. For a registration this is the leaf of the registered
 * statement. Returns null for an offer, because an offer's previous entry is in the home ledger's chain.
 */
function previousOf({ kind, subjects, predicate }: ParsedStatement): string | null {
  if (kind === 'statement-registered') return subjects[0].sha256
  return kind === 'step-offered' ? null : ((predicate['previous'] as string | undefined) ?? null)
}
