import type { RecordRow } from '../../db/chain/append-entries.ts'
import type { EntryDetail } from '../../db/chain/entry-details.ts'
import { erasedDocumentOf, recordOfItem } from '../../db/chunks/item.ts'
import { CLOSURES } from '../../db/evidence/closures.ts'
import { signedLedgers } from '../../db/evidence/ledgers.ts'
import {
  actorUuid,
  agentUuid,
  itemCountOf,
  partyUuid,
  subjectUuid,
  versionOf,
} from '../../db/evidence/signed.ts'
import type { SignedEvidence } from '../../db/evidence/table.ts'
import { EVIDENCE } from '../../db/evidence/tables.ts'
import type { RestoredEntry } from '../../db/ledgers/restored-entries.ts'
import { fromHex, utf8Decode, utf8Encode } from '../../proof/bytes.ts'
import { type DocumentLine, type EntryLine, parseEntryLine } from '../../proof/entry/entry-line.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import { parseId } from '../../proof/ids.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import type { BatchItem } from '../../proof/statement/batch.ts'
import { parseDocumentSubject } from '../../proof/statement/document-subjects.ts'
import { ENTRY_KINDS, STATEMENT } from '../../proof/statement/kinds.ts'
import { columnsOfSigned, type SignedMembers } from '../../proof/statement/record-members.ts'
import { type ParsedStatement, parseStatement } from '../../proof/statement/statement.ts'
import { chunksOf } from '../../records/write/build-batch.ts'
import { nativeProviders } from '../../signing/native.ts'

/*
 * Builds database rows from the verified lines of an archive: the documents, and the rows that an audit compares with a
 * database (src/db/evidence).
 */

const { sha256 } = nativeProviders

/** Thrown if an archive cannot be restored, for example because it lacks data that a database needs. */
export class RestoreError extends Error {}

/**
 * Kinds of entries that involve other ledgers. Such entries can't be restored, because their rows contain data that no
 * entry has.
 */
const FEDERATION =
  /^(peer-(added|suspended|resumed|revoked|key-rotated)|record-shared|entry-received|step-offered|offer-refused)$/

/** Salt and content that represent an erased document until its erasure is restored too. */
const NOTHING = { salt: new Uint8Array(16), text: '{}' }

/** Maps the seq of an entry that registers a type to the type's definition. */
export type Definitions = ReadonlyMap<number, string>

/**
 * Builds the entry of a verified line. The author of a registered statement is added later, from the next line
 * (`withAuthor`). Throws RestoreError.
 */
export function entryOfLine(text: string, definitions: Definitions): RestoredEntry {
  const line = parseEntryLine(text)
  if (line.kind === STATEMENT) return statementEntry(line)
  const { payload, kid } = parseEnvelope(line.envelope)
  const statement = parseStatement(payload)
  refuseFederation(line, statement)
  const entry = {
    ...baseOf(line),
    subjectId: subjectUuid(statement),
    version: versionOf(statement),
    toState: stateOf(statement),
    previousLeaf: statement.kind === 'statement-registered' ? fromHex(statement.subjects[0].sha256) : null,
    itemCount: itemCountOf(statement),
    actorId: actorUuid(statement, sha256),
    partyId: partyUuid(statement, sha256) ?? undefined,
    keyId: statement.key === null ? null : parseId('key', statement.key),
    kid,
    detail: detailOf(statement, line, definitions),
    known: knownOf(statement),
  }
  return { ...entry, ...contentOf(line, statement) }
}

/**
 * Returns the state after a step. Returns null if the entry is not a step. The kind is checked first, because in an
 * `export-made` entry the member `to` is a seq.
 */
function stateOf({ kind, predicate }: ParsedStatement): string | null {
  return ENTRY_KINDS[kind].movesRecord ? (predicate['to'] as string) : null
}

/** Adds the author to a registered statement. The author comes from the entry that registers the statement. */
export function withAuthor(statement: RestoredEntry, registration: RestoredEntry): RestoredEntry {
  const { subjectId, actorId, keyId } = registration
  return { ...statement, subjectId, actorId, keyId }
}

function baseOf(line: EntryLine) {
  return {
    seq: line.seq,
    kind: line.kind,
    recordedAtMs: Date.parse(line.recordedAt),
    leaf: fromHex(line.leaf),
    chain: fromHex(line.chain),
    envelope: line.envelope,
    idempotency: null,
  }
}

function statementEntry(line: EntryLine): RestoredEntry {
  return {
    ...baseOf(line),
    ...{ subjectId: null, version: null, toState: null, previousLeaf: null, itemCount: null },
    ...{
      actorId: null,
      keyId: null,
      kid: new Uint8Array(),
      detail: null,
      known: null,
      records: [],
      chunks: [],
    },
  }
}

function refuseFederation({ seq, kind }: EntryLine, { predicate, actor }: ParsedStatement): void {
  if (!FEDERATION.test(kind) && predicate['share'] === undefined && !actor.startsWith('led_')) return
  throw new RestoreError(
    `entry ${seq} (${kind}) is about another ledger: a ledger with peers can be restored only from a backup, because an archive has ` +
      'neither their invitations nor their receipts',
  )
}

/** Returns the records, chunks, terms and documents of the entry. */
function contentOf(
  { documents, items }: EntryLine,
  statement: ParsedStatement,
): Pick<RestoredEntry, 'records' | 'chunks' | 'gated' | 'document'> {
  const { kind, actor } = statement
  if (items !== null) {
    const records = (items as readonly BatchItem[]).map((item, i) =>
      recordOfItem(item, itemDocument(item, documents[i]!)),
    )
    const first = parseId('rec', (items[0] as BatchItem).record)
    return {
      records: [],
      chunks: chunksOf(
        first,
        parseId('agt', actor),
        records,
        records.map(() => null),
      ),
    }
  }
  const [document] = documents
  if (!document) return { records: [], chunks: [] }
  if (kind === 'record-notarized') return { records: [recordOf(statement, document)], chunks: [] }
  if (kind === 'record-created')
    return { records: [recordOf(statement, document)], chunks: [], gated: gatedOf(statement) }
  return { records: [], chunks: [], document: documentOf(document) }
}

function recordOf({ subjects, predicate }: ParsedStatement, document: DocumentLine): RecordRow {
  const { salt, text } = textOf(document)
  return {
    ...columnsOfSigned(predicate as SignedMembers),
    recordId: parseId('rec', subjects[0].name),
    type: predicate['type'] as string,
    digest: fromHex(document.digest),
    salt,
    payload: text,
    metadata: null,
    references: document.references ? canonicalize(document.references) : null,
  }
}

function itemDocument(item: BatchItem, { salt, document, erasedBy, references }: DocumentLine) {
  if (erasedBy !== null) return erasedDocumentOf(item, erasedBy)
  return {
    salt: salt!,
    payload: utf8Encode(canonicalize(document)),
    references: references ? utf8Encode(canonicalize(references)) : null,
    metadata: null,
  }
}

function gatedOf({ predicate }: ParsedStatement): NonNullable<RestoredEntry['gated']> {
  const { performer, gate, deadline, maxRevisions, tolerances } = predicate as {
    performer?: string
    gate: 'principal' | 'auto'
    deadline?: string
    maxRevisions: number
    tolerances?: JsonObject
  }
  return {
    performerId: performer === undefined ? null : agentUuid(performer, sha256),
    gate,
    deadlineMs: deadline === undefined ? null : Date.parse(deadline),
    maxRevisions,
    tolerances: tolerances === undefined ? null : canonicalize(tolerances),
  }
}

function documentOf(document: DocumentLine): NonNullable<RestoredEntry['document']> {
  const subject = parseDocumentSubject(document.subject)!
  const { salt, text } = textOf(document)
  return {
    name: subject.document as 'evidence' | 'values' | 'reason',
    subjectId: subject.id,
    digest: fromHex(document.digest),
    salt,
    content: text,
  }
}

function textOf({ salt, document, erasedBy }: DocumentLine): { salt: Uint8Array; text: string } {
  return erasedBy === null ? { salt: salt!, text: canonicalize(document) } : NOTHING
}

function knownOf(statement: ParsedStatement): RestoredEntry['known'] {
  const [closure] = CLOSURES.signed(statement, sha256)
  return closure ? { size: closure.knownSize, chain: fromHex(closure.knownChain) } : null
}

/**
 * Returns the detail of an administrative entry, with the same members as when the entry was appended. Returns null for
 * other kinds of entries.
 */
function detailOf(
  statement: ParsedStatement,
  { seq }: EntryLine,
  definitions: Definitions,
): EntryDetail | null {
  const { kind, subjects, predicate } = statement
  switch (kind) {
    case 'ledger-created': {
      const [{ name, issuer, origin, noteKid }] = signedLedgers(statement, sha256) as [Named]
      return { name, issuer, origin, noteKid }
    }
    case 'server-key-rotated':
      return { newKid: (predicate['newKey'] as { kid: string }).kid }
    case 'type-registered':
      return typeOf(subjects[0].name, definitions.get(seq)!)
    case 'statement-registered': {
      const { policy, issuer, subject, contentType, kid } = predicate as Record<string, string>
      return { policy, issuer, subject, contentType, kid } as EntryDetail
    }
    default:
      return detailOfRow(statement)
  }
}

function detailOfRow(statement: ParsedStatement): EntryDetail | null {
  for (const table of Object.values(EVIDENCE) as Partial<SignedEvidence<never, unknown>>[]) {
    if (!table.detail) continue
    const [row] = table.signed!(statement, sha256)
    if (row !== undefined) return table.detail(row, statement)
  }
  return null
}

type Named = { name: string; issuer: string; origin: string; noteKid: string }

/** Returns the detail of a type. `definition` comes from the archive. The verifier has compared it with the entry. */
function typeOf(name: string, definition: string): EntryDetail {
  const parsed = JSON.parse(definition) as JsonObject
  return { name, gated: Object.hasOwn(parsed, 'evidenceSchema'), definition }
}

export function linesOf(bytes: Uint8Array): string[] {
  return utf8Decode(bytes).split('\n').slice(0, -1)
}
