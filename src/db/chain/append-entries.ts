import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import { STATEMENT } from '../../proof/statement/kinds.ts'
import { type MemberColumns, STORED_MEMBERS } from '../../proof/statement/record-members.ts'
import {
  arrayChunks,
  bytea,
  type Codec,
  encodeColumn,
  int4,
  int8,
  text,
  timestamptz,
  uuid,
} from '../connect/binary-array.ts'
import type { DatabaseClient } from '../connect/connection.ts'
import { ValueError } from '../connect/failures.ts'
import type { EntryDetail } from './entry-details.ts'

/** One item of a call: a signed entry and the rows of the records that it creates. */
export type EntryRow = {
  readonly ledgerId: Uuid
  readonly kind: string
  readonly subjectId: Uuid | null
  /** The record's version after the event. null if the entry is about no record. */
  readonly version: number | null
  readonly toState: string | null
  /** Leaf of the record's previous entry. null for the first event of a record. */
  readonly previousLeaf: Uint8Array | null
  /** Number of records in a batch. null if the entry is not a batch. */
  readonly itemCount: number | null
  /** The agent that acts. null if the actor is `system`. */
  readonly actorId: Uuid | null
  /**
   * In a step of a gated record: the agent for which the actor acts, or else the actor itself. In a notarization: the
   * agent for which the actor acts.
   *
   * Absent for other entries and if the actor is `system`.
   */
  readonly partyId?: Uuid | undefined
  readonly keyId: Uuid | null
  readonly kid: Uint8Array
  /** True if `kid` names the actor's own signing key. */
  readonly isAgentSigned?: boolean
  readonly recordedAtMs: number
  readonly leaf: Uint8Array
  readonly envelope: Uint8Array
  readonly idempotency: IdempotencyRow | null
  readonly detail: EntryDetail | null
  /**
   * For a batch of OpenTelemetry spans or logs: the server has searched all entries before this seq for the same spans
   * and logs, and has found none. null for other entries.
   *
   * The entry is refused as stale if the same agent has since added records to one of the batch's traces or groups of
   * logs.
   */
  readonly unseenBefore?: number | null | undefined
  readonly records: readonly RecordRow[]
  readonly chunks: readonly ChunkRow[]
  readonly gated?: GatedRow | undefined
  readonly document?: DocumentRow | undefined
  /**
   * Another party's statement that the entry registers. It is appended right before the entry: either both are appended
   * or neither. In this case `previousLeaf` is the statement's leaf.
   */
  readonly statement?: Uint8Array | undefined
}

export type IdempotencyRow = {
  /** First 16 bytes of the SHA-256 hash of the idempotency key. */
  readonly keyHash: Uint8Array
  /** Hash of the request: H(method, path, JCS(body)). */
  readonly requestHash: Uint8Array
  readonly salt: Uint8Array
}

export type RecordRow = MemberColumns & {
  readonly recordId: Uuid
  readonly type: string
  readonly digest: Uint8Array
  readonly salt: Uint8Array
  /** Payload as canonical JSON. */
  readonly payload: string
  readonly metadata: string | null
  /** References as a canonical JSON list of texts. */
  readonly references: string | null
  /** Keyed hash of the label of the data subject. */
  readonly subject?: Uint8Array | null
}

/** Up to CHUNK_RECORDS records of a batch. All chunks of a batch except the last one are full. */
export type ChunkRow = {
  readonly chunk: number
  readonly firstRecordId: Uuid
  readonly count: number
  readonly content: Uint8Array
  readonly keys: readonly Uint8Array[]
}

export type GatedRow = {
  /** The performer. null if the agent that activates the record becomes the performer. */
  readonly performerId: Uuid | null
  readonly gate: 'principal' | 'auto'
  readonly deadlineMs: number | null
  readonly maxRevisions: number
  /** Tolerances as canonical JSON. */
  readonly tolerances: string | null
}

export type DocumentName = 'evidence' | 'values' | 'reason'

export type DocumentRow = {
  readonly name: DocumentName
  /** Id of the completion, or of the record if the document is a reason. */
  readonly subjectId: Uuid
  readonly digest: Uint8Array
  readonly salt: Uint8Array
  /** Content as canonical JSON. */
  readonly content: string
}

/**
 * Outcomes by number. The first byte of each answer is the outcome's position in this list.
 * migrations/functions/append-entries.sql lists the outcomes in order of precedence.
 */
export const APPEND_OUTCOMES = [
  'appended',
  'replayed',
  'conflict',
  'refused_state',
  'refused_clock',
  'refused_ledger',
  'stale',
  'again',
  'refused_kind',
  'refused_frozen',
  'refused_closed',
  'refused_deadline',
  'refused_party',
  'refused_signature',
  'refused_taken',
  'refused_moving',
  'refused_moved',
] as const

/**
 * Answer for one entry. `seq` is the entry's seq. For a replayed entry, it is the seq of the entry that the first
 * request made. `chain` is lower-case hex, and only set if the entry was appended.
 */
export type AppendAnswer = {
  readonly outcome: (typeof APPEND_OUTCOMES)[number]
  readonly seq: number
  readonly chain: string
}

const ANSWER_HEX_LENGTH = 2 * 41

/** An array argument of append_entries and of write_entries. */
type Column<Row> = { readonly type: string; encode(rows: readonly Row[]): Buffer }
/** Maps the SQL names of columns to the columns, in the order of append_entries. */
type Columns<Row> = Readonly<Record<string, Column<Row>>>

export function column<Row, T>(codec: Codec<T>, get: (row: Row) => T | null | undefined): Column<Row> {
  return { type: codec.type, encode: (rows) => encodeColumn(codec, rows, get) }
}

/** Stores canonical JSON as bytea. Its bytes are hashed, so the server must not convert their encoding. */
const utf8: Codec<string> = { ...text, type: bytea.type, oid: bytea.oid }

const ENTRY_COLUMNS: Columns<EntryRow> = {
  ledger_ids: column(uuid, (e) => e.ledgerId),
  kinds: column(text, (e) => e.kind),
  subject_ids: column(uuid, (e) => e.subjectId),
  versions: column(int4, (e) => e.version),
  to_states: column(text, (e) => e.toState),
  previous_leaves: column(bytea, (e) => e.previousLeaf),
  item_counts: column(int4, (e) => e.itemCount),
  actor_ids: column(uuid, (e) => e.actorId),
  party_ids: column(uuid, (e) => e.partyId),
  key_ids: column(uuid, (e) => e.keyId),
  kids: column(bytea, (e) => e.kid),
  recorded_ats: column(timestamptz, (e) => e.recordedAtMs),
  leaves: column(bytea, (e) => e.leaf),
  envelopes: column(bytea, (e) => e.envelope),
  idempotency_hashes: column(bytea, (e) => e.idempotency?.keyHash),
  request_salts: column(bytea, (e) => e.idempotency?.salt),
  request_hashes: column(bytea, (e) => e.idempotency?.requestHash),
  details: column(text, (e) => e.detail && JSON.stringify(e.detail)),
  unseen_befores: column(int8, (e) => e.unseenBefore),
}

/** A row, with the position of its entry in the call. Positions are counted from 1. */
type RowOfItem<Row> = { readonly item: number; readonly row: Row }

const MEMBER_CODECS = { agent: uuid, record: uuid, time: timestamptz, trace: text }
/** The columns of signed members have the order of STORED_MEMBERS. */
const RECORD_COLUMNS: Columns<RowOfItem<RecordRow>> = {
  record_items: column(int4, ({ item }) => item),
  record_ids: column(uuid, ({ row }) => row.recordId),
  record_types: column(text, ({ row }) => row.type),
  record_digests: column(bytea, ({ row }) => row.digest),
  record_salts: column(bytea, ({ row }) => row.salt),
  record_payloads: column(utf8, ({ row }) => row.payload),
  ...Object.fromEntries(
    STORED_MEMBERS.map(({ row: name, column: named, as }) => [
      `record_${named}s`,
      column<RowOfItem<RecordRow>, never>(MEMBER_CODECS[as] as Codec<never>, ({ row }) => row[name] as never),
    ]),
  ),
  record_other_members: column(text, ({ row }) => row.otherMembers && canonicalize(row.otherMembers)),
  record_metadata: column(utf8, ({ row }) => row.metadata),
  record_reference_lists: column(utf8, ({ row }) => row.references),
  record_subjects: column(bytea, ({ row }) => row.subject),
}

const CHUNK_COLUMNS: Columns<RowOfItem<ChunkRow>> = {
  chunk_items: column(int4, ({ item }) => item),
  chunk_numbers: column(int4, ({ row }) => row.chunk),
  chunk_record_ids: column(uuid, ({ row }) => row.firstRecordId),
  chunk_counts: column(int4, ({ row }) => row.count),
  chunk_contents: column(bytea, ({ row }) => row.content),
}

type ChunkKey = { readonly chunk: number; readonly key: Uint8Array }

const CHUNK_KEY_COLUMNS: Columns<RowOfItem<ChunkKey>> = {
  chunk_key_items: column(int4, ({ item }) => item),
  chunk_key_numbers: column(int4, ({ row }) => row.chunk),
  chunk_keys: column(bytea, ({ row }) => row.key),
}

const GATED_COLUMNS: Columns<RowOfItem<GatedRow>> = {
  gated_items: column(int4, ({ item }) => item),
  gated_performers: column(uuid, ({ row }) => row.performerId),
  gated_gates: column(text, ({ row }) => row.gate),
  gated_deadlines: column(timestamptz, ({ row }) => row.deadlineMs),
  gated_max_revisions: column(int4, ({ row }) => row.maxRevisions),
  gated_tolerances: column(utf8, ({ row }) => row.tolerances),
}

const DOCUMENT_COLUMNS: Columns<RowOfItem<DocumentRow>> = {
  document_items: column(int4, ({ item }) => item),
  document_names: column(text, ({ row }) => row.name),
  document_subjects: column(uuid, ({ row }) => row.subjectId),
  document_digests: column(bytea, ({ row }) => row.digest),
  document_salts: column(bytea, ({ row }) => row.salt),
  document_contents: column(utf8, ({ row }) => row.content),
}

/** Arguments in the order of the SQL function, without the last one, which is a MAC over all others. */
export const ARGUMENTS: readonly { readonly name: string; readonly type: string }[] = [
  ENTRY_COLUMNS,
  RECORD_COLUMNS,
  CHUNK_COLUMNS,
  CHUNK_KEY_COLUMNS,
  GATED_COLUMNS,
  DOCUMENT_COLUMNS,
].flatMap((columns) => Object.entries(columns).map(([name, { type }]) => ({ name, type: `${type}[]` })))

/*
 * The call has one array for each column.
 *
 * An alternative was one array of a composite type for each group of columns. It was rejected: the driver has no codec
 * for composites, and Postgres would build each row again before `unnest` splits it.
 */
const APPEND_ENTRIES = {
  name: 'append_entries',
  text: `select tallystick.append_entries(${[...ARGUMENTS.map(({ type }) => type), 'bytea'].map((type, i) => `$${i + 1}::${type}`).join(', ')}) as answer`,
  // pg 8.23 returns unusable binary results for bytea. Therefore the packed answer is returned as hex text and sliced
  // below.
  types: { getTypeParser: () => (value: string) => value },
}

/**
 * Appends `entries` in one round trip and one transaction. Returns one answer for each entry, in the order of
 * `entries`.
 *
 * Throws ValueError if a value cannot be encoded. In this case nothing was sent. Throws pg's error if the call failed
 * as a whole.
 */
export async function appendEntries(
  client: pg.ClientBase,
  entries: readonly EntryRow[],
): Promise<AppendAnswer[]> {
  const items = entries.flatMap((entry) =>
    entry.statement ? [statementItem(entry, entry.statement), entry] : [entry],
  )
  const values = encodeArguments(items)
  const result = await client.query<{ answer: string }>({
    ...APPEND_ENTRIES,
    values: [...values, (client as DatabaseClient).mac(arrayChunks(values))],
  })
  const packed = result.rows[0]!.answer
  if (packed.length !== 2 + items.length * ANSWER_HEX_LENGTH) {
    throw new Error(`append_entries answered ${packed.length} characters for ${items.length} items`)
  }
  let last = -1
  return entries.map(({ statement }) => {
    last += statement ? 2 : 1
    return decodeAnswer(packed, 2 + last * ANSWER_HEX_LENGTH)
  })
}

/**
 * Returns the call's item for the statement that an entry registers. It has the entry's author, time and ledger key.
 */
function statementItem(entry: EntryRow, envelope: Uint8Array): EntryRow {
  const { ledgerId, subjectId, actorId, keyId, kid, recordedAtMs } = entry
  return {
    ...{ ledgerId, subjectId, actorId, keyId, kid, recordedAtMs, envelope },
    kind: STATEMENT,
    leaf: entry.previousLeaf!,
    ...{ version: null, toState: null, previousLeaf: null, itemCount: null, idempotency: null, detail: null },
    ...{ records: [], chunks: [] },
  }
}

export function encodeArguments(entries: readonly EntryRow[]): Buffer[] {
  try {
    return encodeRows(entries)
  } catch (error) {
    throw new ValueError('a value does not fit its column', { cause: error })
  }
}

function encodeRows(entries: readonly EntryRow[]): Buffer[] {
  const records = entries.flatMap((entry, i) => entry.records.map((row) => ({ item: i + 1, row })))
  const chunks = entries.flatMap((entry, i) => entry.chunks.map((row) => ({ item: i + 1, row })))
  const keys = chunks.flatMap(({ item, row: { chunk, keys } }) =>
    keys.map((key) => ({ item, row: { chunk, key } })),
  )
  const gated = entries.flatMap(({ gated: row }, i) => (row ? [{ item: i + 1, row }] : []))
  const documents = entries.flatMap(({ document: row }, i) => (row ? [{ item: i + 1, row }] : []))
  return [
    ...Object.values(ENTRY_COLUMNS).map((one) => one.encode(entries)),
    ...Object.values(RECORD_COLUMNS).map((one) => one.encode(records)),
    ...Object.values(CHUNK_COLUMNS).map((one) => one.encode(chunks)),
    ...Object.values(CHUNK_KEY_COLUMNS).map((one) => one.encode(keys)),
    ...Object.values(GATED_COLUMNS).map((one) => one.encode(gated)),
    ...Object.values(DOCUMENT_COLUMNS).map((one) => one.encode(documents)),
  ]
}

function decodeAnswer(packed: string, at: number): AppendAnswer {
  return {
    outcome: APPEND_OUTCOMES[Number.parseInt(packed.slice(at, at + 2), 16)]!,
    seq: Number.parseInt(packed.slice(at + 2, at + 18), 16),
    chain: packed.slice(at + 18, at + ANSWER_HEX_LENGTH),
  }
}
