import { toUuid } from '../db/uuid.ts'
import { fromBase64, toHex } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import type { ProofError } from '../proof/error.ts'
import { type IdPrefix, parseId } from '../proof/ids.ts'
import { keyThumbprint, parsePublicKey } from '../proof/keys.ts'
import { ENTRY_KINDS } from '../proof/kinds.ts'
import type { ParsedStatement } from '../proof/statement.ts'
import type { VerifiedEntry } from '../proof/verify-entry.ts'
import { contradiction } from './contradiction.ts'

/**
 * What a database's columns say of one entry, and of everything that the entry made. Columns are an index, and the
 * statement is the truth: whoever can write to the tables, but not sign, could otherwise show records in
 * another state, of another actor, or none at all, while the chain verifies.
 *
 * Uuids as Postgres writes them, bytes in hex, times in microseconds since the epoch as decimal text.
 */
export type EntryColumns = {
  readonly subjectId: string | null
  readonly version: number | null
  readonly prevSeq: string | null
  readonly prevLeaf: string | null
  readonly actorId: string | null
  readonly keyId: string | null
  readonly recordedAtUs: string
  /** Rows whose first entry this is said to be; `seq` is where they say it is. */
  readonly records: readonly RecordColumns[]
  readonly agents: readonly AgentColumns[]
  readonly keys: readonly KeyColumns[]
  readonly idempotencyActorIds: readonly string[]
  readonly ledger: LedgerColumns | null
}

export type RecordColumns = {
  readonly recordId: string
  readonly type: string
  readonly state: string
  readonly version: number
  readonly lastSeq: string
  readonly lastSubjectId: string | null
  readonly itemIndex: number | null
  readonly actorId: string
  readonly onBehalfOf: string | null
  readonly occurredAtUs: string | null
  readonly traceparent: string | null
  readonly digest: string
  /** Whether the payload's very bytes have the digest, not only the JSON that they are. */
  readonly isCanonical: boolean
}

type AgentColumns = { readonly agentId: string; readonly name: string }
type KeyColumns = {
  readonly keyId: string
  readonly agentId: string
  readonly scopes: readonly string[]
  readonly expiresAtUs: string | null
}
export type LedgerColumns = {
  readonly name: string | null
  readonly issuer: string | null
  readonly origin: string | null
  readonly noteKid: string | null
}

/** Throws `columns_contradict_entries`, naming the column. */
export function verifyColumns(entry: VerifiedEntry, columns: EntryColumns, sha256: Sha256): void {
  const { statement, step } = entry
  compare('entries', 'subject_id', columns.subjectId, subjectUuid(statement))
  compare('entries', 'version', columns.version, versionOf(statement))
  compare(
    'entries',
    'prev_seq',
    columns.prevLeaf,
    (statement.predicate['previous'] as string | undefined) ?? null,
  )
  if (columns.prevSeq !== null && columns.prevLeaf === null)
    throw columnContradiction('entries', 'prev_seq', 'of no entry', 'a seq')
  compare('entries', 'actor_id', columns.actorId, actorUuid(statement))
  compare('entries', 'key_id', columns.keyId, statement.key === null ? null : uuidOf('key', statement.key))
  compare('entries', 'recorded_at', columns.recordedAtUs, microseconds(statement.recordedAt))
  verifyRecordRows(entry, columns.records, `${step.seq}`)
  compareRows('agents', columns.agents, agentRows(statement))
  compareRows('api_keys', columns.keys, keyRows(statement))
  compareRows('ledgers', columns.ledger ? [columns.ledger] : [], ledgerRows(statement, sha256))
  verifyIdempotencyRows(statement, columns.idempotencyActorIds)
}

/** A request has one key at most, and an actor's keys are his own. */
function verifyIdempotencyRows(statement: ParsedStatement, actorIds: readonly string[]): void {
  if (actorIds.length > 1) throw columnContradiction('idempotency_keys', 'seq', actorIds.length, 1)
  for (const actorId of actorIds) compare('idempotency_keys', 'actor_id', actorId, actorUuid(statement))
}

/** The rows of the records that the entry makes, in order, and no others. */
function verifyRecordRows(entry: VerifiedEntry, rows: readonly RecordColumns[], seq: string): void {
  const expected = recordRows(entry)
  if (rows.length !== expected.length) {
    throw contradiction(`records: ${rows.length} rows begin at seq ${seq}, signed are ${expected.length}`)
  }
  for (const [i, row] of rows.entries()) {
    const { state, version, lastSeq, lastSubjectId, isCanonical, ...fixed } = row
    compareRows('records', [fixed], [expected[i]!])
    if (!isCanonical)
      throw columnContradiction('records', 'payload', 'not the bytes that were hashed', 'canonical JSON')
    // The entry at last_seq compares state and version, where it is a later one.
    if (lastSeq !== seq) compare('records', 'last_seq', lastSubjectId, row.recordId)
    else {
      compare(
        'records',
        'state',
        state,
        (entry.statement.predicate['to'] as string | undefined) ?? 'RECORDED',
      )
      compare('records', 'version', version, 1)
    }
  }
}

type FixedRecordColumns = Omit<
  RecordColumns,
  'state' | 'version' | 'lastSeq' | 'lastSubjectId' | 'isCanonical'
>

function recordRows({ statement, items }: VerifiedEntry): FixedRecordColumns[] {
  const actorId = actorUuid(statement)!
  if (items !== null) {
    return items.map((item, i) => ({
      recordId: uuidOf('rec', item.record),
      type: item.type,
      itemIndex: i,
      actorId,
      onBehalfOf: item.onBehalfOf === undefined ? null : uuidOf('agt', item.onBehalfOf),
      occurredAtUs: item.occurredAt === undefined ? null : microseconds(item.occurredAt),
      traceparent: item.traceparent ?? null,
      digest: item.digest,
    }))
  }
  if (statement.kind !== 'record-notarized' && statement.kind !== 'record-created') return []
  const { type, occurredAt, traceparent } = statement.predicate as Record<string, string | undefined>
  return [
    {
      recordId: uuidOf('rec', statement.subjects[0].name),
      type: type!,
      itemIndex: null,
      actorId,
      onBehalfOf: statement.onBehalfOf === null ? null : uuidOf('agt', statement.onBehalfOf),
      occurredAtUs: occurredAt === undefined ? null : microseconds(occurredAt),
      traceparent: traceparent ?? null,
      digest: statement.subjects[0].sha256,
    },
  ]
}

function agentRows({ kind, predicate }: ParsedStatement): AgentColumns[] {
  if (kind !== 'agent-registered') return []
  return [{ agentId: uuidOf('agt', predicate['agent'] as string), name: predicate['name'] as string }]
}

function keyRows({ kind, subjects, predicate }: ParsedStatement): KeyColumns[] {
  if (kind !== 'key-created') return []
  const { agent, scopes, expiresAt } = predicate as {
    agent: string
    scopes: string[]
    expiresAt: string | null
  }
  return [
    {
      keyId: uuidOf('key', subjects[0].name),
      agentId: uuidOf('agt', agent),
      scopes,
      expiresAtUs: expiresAt === null ? null : microseconds(expiresAt),
    },
  ]
}

function ledgerRows({ kind, predicate }: ParsedStatement, sha256: Sha256): LedgerColumns[] {
  if (kind !== 'ledger-created') return []
  const { name, issuer, origin, noteKey } = predicate['definition'] as Record<string, string>
  const noteKid = toHex(keyThumbprint(sha256, parsePublicKey('EdDSA', fromBase64(noteKey!))))
  return [{ name: name!, issuer: issuer!, origin: origin!, noteKid }]
}

const ID_PREFIXES: readonly IdPrefix[] = ['rec', 'bat', 'led', 'agt', 'key', 'cmp']

/** Of a type there is no uuid; of an erased document it is the record's or completion's. */
function subjectUuid({ subjects }: ParsedStatement): string | null {
  const [id] = subjects[0].name.split('/')
  const prefix = ID_PREFIXES.find((known) => id!.startsWith(`${known}_`))
  return prefix ? uuidOf(prefix, id!) : null
}

/** A batch begins its records, and so has the version that they have. */
function versionOf({ kind, predicate }: ParsedStatement): number | null {
  if (kind === 'batch-notarized') return 1
  return ENTRY_KINDS[kind].recordEvent ? (predicate['version'] as number) : null
}

function actorUuid({ actor }: ParsedStatement): string | null {
  return actor === 'system' ? null : uuidOf('agt', actor)
}

function uuidOf(prefix: IdPrefix, id: string): string {
  return toUuid(parseId(prefix, id))
}

function microseconds(time: string): string {
  return `${Date.parse(time)}000`
}

function compareRows<T extends object>(table: string, rows: readonly T[], expected: readonly T[]): void {
  if (rows.length !== expected.length) {
    throw contradiction(`${table}: ${rows.length} rows of this entry, signed are ${expected.length}`)
  }
  for (const [i, row] of rows.entries()) {
    for (const name of Object.keys(expected[i]!) as (keyof T & string)[]) {
      compare(table, columnName(name), row[name], expected[i]![name])
    }
  }
}

function compare(table: string, column: string, found: unknown, signed: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(signed))
    throw columnContradiction(table, column, found, signed)
}

function columnContradiction(table: string, column: string, found: unknown, signed: unknown): ProofError {
  return contradiction(`${table}.${column} is ${JSON.stringify(found)}, signed is ${JSON.stringify(signed)}`)
}

/** occurredAtUs → occurred_at. */
function columnName(name: string): string {
  return name.replace(/Us$/, '').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
