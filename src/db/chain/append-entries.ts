import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { arrayChunks, bytea, encodeColumn, int4, text, timestamptz, uuid } from '../connect/binary-array.ts'
import type { DatabaseClient } from '../connect/connection.ts'
import { ValueError } from '../connect/failures.ts'
import type { EntryDetail } from './entry-details.ts'

/** One item of a call: a signed entry, and the record rows that it makes. */
export type EntryRow = {
  readonly ledgerId: Uuid
  readonly kind: string
  readonly subjectId: Uuid | null
  /** The record's version after the event; null: not an event of a record. */
  readonly version: number | null
  readonly toState: string | null
  /** The leaf of the record's previous entry; null on a first event. */
  readonly previousLeaf: Uint8Array | null
  /** null: system. */
  readonly actorId: Uuid | null
  /**
   * Party that takes the step of a gated record: the agent that the actor acts for, or the actor. Absent elsewhere, and for
   * system.
   */
  readonly partyId?: Uuid | undefined
  readonly keyId: Uuid | null
  readonly kid: Uint8Array
  readonly recordedAtMs: number
  readonly leaf: Uint8Array
  readonly envelope: Uint8Array
  readonly idempotency: IdempotencyRow | null
  readonly detail: EntryDetail | null
  readonly records: readonly RecordRow[]
  /** The terms of the gated record that the entry creates. */
  readonly gated?: GatedRow | undefined
  /** The document that a step digests. */
  readonly document?: DocumentRow | undefined
}

export type IdempotencyRow = {
  /** First 16 bytes of the key text's SHA-256. */
  readonly keyHash: Uint8Array
  /** H(method, path, JCS(body)). */
  readonly requestHash: Uint8Array
  readonly salt: Uint8Array
}

export type RecordRow = {
  readonly recordId: Uuid
  /** Place in the batch; null: an entry of its own. */
  readonly index: number | null
  readonly type: string
  readonly digest: Uint8Array
  readonly salt: Uint8Array
  /** Canonical JSON. */
  readonly payload: string
  readonly onBehalfOf: Uuid | null
  readonly occurredAtMs: number | null
  readonly traceparent: string | null
  readonly metadata: string | null
  readonly parentId: Uuid | null
  /** Canonical JSON: a list of texts. */
  readonly references: string | null
}

export type GatedRow = {
  /** null: whoever activates it. */
  readonly performerId: Uuid | null
  readonly gate: 'principal' | 'auto'
  readonly deadlineMs: number | null
  readonly maxRevisions: number
  /** Canonical JSON. */
  readonly tolerances: string | null
}

export type DocumentName = 'evidence' | 'values' | 'reason'

export type DocumentRow = {
  readonly name: DocumentName
  /** The completion; of a reason, the record. */
  readonly subjectId: Uuid
  readonly digest: Uint8Array
  readonly salt: Uint8Array
  /** Canonical JSON. */
  readonly content: string
}

/** The first byte of each answer: migrations/functions/append-entries.sql lists them in order of precedence. */
const APPEND_OUTCOMES = [
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
] as const

/** `seq`: of the entry, or of the first outcome when replayed. `chain`: lower-case hex, when appended. */
export type AppendAnswer = {
  readonly outcome: (typeof APPEND_OUTCOMES)[number]
  readonly seq: number
  readonly chain: string
}

const ANSWER_HEX_LENGTH = 2 * 41

const APPEND_ENTRIES = {
  name: 'append_entries',
  text: `select tallystick.append_entries(
    $1::uuid[], $2::text[], $3::uuid[], $4::int4[], $5::text[], $6::bytea[], $7::uuid[], $8::uuid[], $9::uuid[],
    $10::bytea[], $11::timestamptz[], $12::bytea[], $13::bytea[], $14::bytea[], $15::bytea[], $16::bytea[], $17::text[],
    $18::int4[], $19::uuid[], $20::int4[], $21::text[], $22::bytea[], $23::bytea[], $24::bytea[], $25::uuid[],
    $26::timestamptz[], $27::text[], $28::bytea[], $29::uuid[], $30::bytea[],
    $31::int4[], $32::uuid[], $33::text[], $34::timestamptz[], $35::int4[], $36::bytea[],
    $37::int4[], $38::text[], $39::uuid[], $40::bytea[], $41::bytea[], $42::bytea[], $43::bytea) as answer`,
  // Binary results of pg 8.23 are unusable for bytea; one packed value as hex text is sliced below.
  types: { getTypeParser: () => (value: string) => value },
}

/**
 * Appends `entries` in one round trip and one transaction. One answer per entry, in order; throws what `pg`
 * throws when the call as a whole failed, and ValueError before anything was sent.
 */
export async function appendEntries(
  client: pg.ClientBase,
  entries: readonly EntryRow[],
): Promise<AppendAnswer[]> {
  const values = encode(entries)
  const result = await client.query<{ answer: string }>({
    ...APPEND_ENTRIES,
    values: [...values, (client as DatabaseClient).mac(arrayChunks(values))],
  })
  const packed = result.rows[0]!.answer
  if (packed.length !== 2 + entries.length * ANSWER_HEX_LENGTH) {
    throw new Error(`append_entries answered ${packed.length} characters for ${entries.length} entries`)
  }
  return entries.map((_, i) => decodeAnswer(packed, 2 + i * ANSWER_HEX_LENGTH))
}

function encode(entries: readonly EntryRow[]): Buffer[] {
  try {
    return encodeParameters(entries)
  } catch (error) {
    throw new ValueError('a value that its column cannot hold', { cause: error })
  }
}

function encodeParameters(entries: readonly EntryRow[]): Buffer[] {
  const records = entries.flatMap((entry, i) => entry.records.map((record) => ({ item: i + 1, record })))
  return [
    encodeColumn(uuid, entries, (e) => e.ledgerId),
    encodeColumn(text, entries, (e) => e.kind),
    encodeColumn(uuid, entries, (e) => e.subjectId),
    encodeColumn(int4, entries, (e) => e.version),
    encodeColumn(text, entries, (e) => e.toState),
    encodeColumn(bytea, entries, (e) => e.previousLeaf),
    encodeColumn(uuid, entries, (e) => e.actorId),
    encodeColumn(uuid, entries, (e) => e.partyId),
    encodeColumn(uuid, entries, (e) => e.keyId),
    encodeColumn(bytea, entries, (e) => e.kid),
    encodeColumn(timestamptz, entries, (e) => e.recordedAtMs),
    encodeColumn(bytea, entries, (e) => e.leaf),
    encodeColumn(bytea, entries, (e) => e.envelope),
    encodeColumn(bytea, entries, (e) => e.idempotency?.keyHash),
    encodeColumn(bytea, entries, (e) => e.idempotency?.salt),
    encodeColumn(bytea, entries, (e) => e.idempotency?.requestHash),
    encodeColumn(text, entries, (e) => e.detail && JSON.stringify(e.detail)),
    encodeColumn(int4, records, (r) => r.item),
    encodeColumn(uuid, records, (r) => r.record.recordId),
    encodeColumn(int4, records, (r) => r.record.index),
    encodeColumn(text, records, (r) => r.record.type),
    encodeColumn(bytea, records, (r) => r.record.digest),
    encodeColumn(bytea, records, (r) => r.record.salt),
    encodeColumn(utf8, records, (r) => r.record.payload),
    encodeColumn(uuid, records, (r) => r.record.onBehalfOf),
    encodeColumn(timestamptz, records, (r) => r.record.occurredAtMs),
    encodeColumn(text, records, (r) => r.record.traceparent),
    encodeColumn(utf8, records, (r) => r.record.metadata),
    encodeColumn(uuid, records, (r) => r.record.parentId),
    encodeColumn(utf8, records, (r) => r.record.references),
    ...encodeGated(entries),
    ...encodeDocuments(entries),
  ]
}

function encodeGated(entries: readonly EntryRow[]): Buffer[] {
  const rows = entries.flatMap(({ gated }, i) => (gated ? [{ item: i + 1, gated }] : []))
  return [
    encodeColumn(int4, rows, (r) => r.item),
    encodeColumn(uuid, rows, (r) => r.gated.performerId),
    encodeColumn(text, rows, (r) => r.gated.gate),
    encodeColumn(timestamptz, rows, (r) => r.gated.deadlineMs),
    encodeColumn(int4, rows, (r) => r.gated.maxRevisions),
    encodeColumn(utf8, rows, (r) => r.gated.tolerances),
  ]
}

function encodeDocuments(entries: readonly EntryRow[]): Buffer[] {
  const rows = entries.flatMap(({ document }, i) => (document ? [{ item: i + 1, document }] : []))
  return [
    encodeColumn(int4, rows, (r) => r.item),
    encodeColumn(text, rows, (r) => r.document.name),
    encodeColumn(uuid, rows, (r) => r.document.subjectId),
    encodeColumn(bytea, rows, (r) => r.document.digest),
    encodeColumn(bytea, rows, (r) => r.document.salt),
    encodeColumn(utf8, rows, (r) => r.document.content),
  ]
}

/** Canonical JSON is stored as bytea: its bytes are hashed, and no server encoding may touch them. */
const utf8 = { ...text, oid: bytea.oid }

function decodeAnswer(packed: string, at: number): AppendAnswer {
  return {
    outcome: APPEND_OUTCOMES[Number.parseInt(packed.slice(at, at + 2), 16)]!,
    seq: Number.parseInt(packed.slice(at + 2, at + 18), 16),
    chain: packed.slice(at + 18, at + ANSWER_HEX_LENGTH),
  }
}
