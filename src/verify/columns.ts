import { toUuid } from '../db/uuid.ts'
import { fromBase64, toHex } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import type { ProofError } from '../proof/error.ts'
import { type IdPrefix, parseId } from '../proof/ids.ts'
import { keyThumbprint, parsePublicKey } from '../proof/keys.ts'
import { ENTRY_KINDS, type EntryKind } from '../proof/kinds.ts'
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
  readonly disabledAgentIds: readonly string[]
  readonly revokedKeyIds: readonly string[]
  readonly types: readonly TypeColumns[]
  readonly erasures: readonly ErasureColumns[]
  readonly closures: readonly ClosureColumns[]
  readonly idempotencyKeys: readonly IdempotencyColumns[]
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
  readonly parentId: string | null
  /** Of the stored bytes, by the payload's salt; null where one of both is gone. */
  readonly referencesDigest: string | null
  /** Whether its payload was taken away, but not all that lies with it. */
  readonly isHalfErased: boolean
  /** Whether a search finds it by just the references that it has. */
  readonly isFoundByReferences: boolean
}

type AgentColumns = { readonly agentId: string; readonly name: string }
type KeyColumns = {
  readonly keyId: string
  readonly agentId: string
  readonly scopes: readonly string[]
  readonly expiresAtUs: string | null
}
export type TypeColumns = {
  readonly name: string
  readonly digest: string
  /** The hash of the definition's bytes. */
  readonly definition: string
  readonly gated: boolean
  /** Whether the definition says so; null where it is no JSON object. */
  readonly isDefinedGated: boolean | null
}
type ClosureColumns = { readonly knownSize: string; readonly knownChain: string }
type ErasureColumns = { readonly subjectId: string; readonly document: string }
type IdempotencyColumns = {
  readonly actorId: string
  /** Whether the fingerprint of its request is gone. */
  readonly isForgotten: boolean
  /** Whether it should be: it goes with the first of the entry's documents that is taken away. */
  readonly isOfErased: boolean
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
  compare('agents', 'disabled_seq', columns.disabledAgentIds, endedIds(statement, 'agent-disabled', 'agt'))
  compare('api_keys', 'revoked_seq', columns.revokedKeyIds, endedIds(statement, 'key-revoked', 'key'))
  verifyTypeRows(statement, columns.types)
  compareRows('ledgers', columns.ledger ? [columns.ledger] : [], ledgerRows(statement, sha256))
  compareRows('erasures', columns.erasures, erasureRows(statement))
  compareRows('ledger_closures', columns.closures, closureRows(statement))
  verifyIdempotencyRows(statement, columns.idempotencyKeys)
}

/** A request has one key at most, and an actor's keys are his own. */
function verifyIdempotencyRows(statement: ParsedStatement, rows: readonly IdempotencyColumns[]): void {
  if (rows.length > 1) throw columnContradiction('idempotency_keys', 'seq', rows.length, 1)
  for (const { actorId, isForgotten, isOfErased } of rows) {
    compare('idempotency_keys', 'actor_id', actorId, actorUuid(statement))
    if (isForgotten !== isOfErased)
      throw contradiction(
        `idempotency_keys: a fingerprint ${isForgotten ? 'is missing' : 'outlives what was erased'}`,
      )
  }
}

/** The rows of the records that the entry makes, in order, and no others. */
function verifyRecordRows(entry: VerifiedEntry, rows: readonly RecordColumns[], seq: string): void {
  const expected = recordRows(entry)
  if (rows.length !== expected.length) {
    throw contradiction(`records: ${rows.length} rows begin at seq ${seq}, signed are ${expected.length}`)
  }
  for (const [i, row] of rows.entries()) {
    const { state, version, lastSeq, lastSubjectId, isCanonical, ...rest } = row
    const { referencesDigest, isFoundByReferences, isHalfErased, ...fixed } = rest
    compareRows('records', [fixed], [expected[i]!])
    if (!isCanonical)
      throw columnContradiction('records', 'payload', 'not the bytes that were hashed', 'canonical JSON')
    if (referencesDigest !== null)
      compare('records', 'reference_list', referencesDigest, entry.statement.predicate['references'] ?? null)
    if (isHalfErased)
      throw contradiction(`records: ${row.recordId} is erased, its metadata or references are not`)
    if (!isFoundByReferences) throw contradiction(`record_references: not those of ${row.recordId}`)
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
  | 'state'
  | 'version'
  | 'lastSeq'
  | 'lastSubjectId'
  | 'isCanonical'
  | 'referencesDigest'
  | 'isFoundByReferences'
  | 'isHalfErased'
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
      parentId: null,
    }))
  }
  if (statement.kind !== 'record-notarized' && statement.kind !== 'record-created') return []
  const { type, occurredAt, traceparent, parent } = statement.predicate as Record<string, string | undefined>
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
      parentId: parent === undefined ? null : uuidOf('rec', parent),
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

/** A type's entry signs the digest of its definition; the rest of the row is what the definition says. */
function verifyTypeRows({ kind, subjects }: ParsedStatement, rows: readonly TypeColumns[]): void {
  const [{ name, sha256 }] = subjects
  const signed = kind === 'type-registered' ? [{ name, digest: sha256, definition: sha256 }] : []
  compareRows<Pick<TypeColumns, 'name' | 'digest' | 'definition'>>('types', rows, signed)
  for (const { gated, isDefinedGated } of rows) compare('types', 'gated', gated, isDefinedGated)
}

function erasureRows({ kind, subjects }: ParsedStatement): ErasureColumns[] {
  if (kind !== 'payload-erased') return []
  const [{ name }] = subjects
  return [{ subjectId: subjectUuidOf(name)!, document: documentOf(name) }]
}

function closureRows({ kind, predicate }: ParsedStatement): ClosureColumns[] {
  if (kind !== 'ledger-restored') return []
  const { size, chain } = predicate['known'] as { size: number; chain: string }
  return [{ knownSize: `${size}`, knownChain: chain }]
}

/** A record's payload is called after the record, and so on (docs/formats/statements.md). */
function documentOf(name: string): string {
  return name.startsWith('rec_') && !name.includes('/') ? 'payload' : name
}

/** Whom an entry of this kind ends: its subject. */
function endedIds({ kind, subjects }: ParsedStatement, ending: EntryKind, prefix: IdPrefix): string[] {
  return kind === ending ? [uuidOf(prefix, subjects[0].name)] : []
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
  return subjectUuidOf(subjects[0].name)
}

function subjectUuidOf(name: string): string | null {
  const [id] = name.split('/')
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
