import type { RecordRow } from '../../db/chain/append-entries.ts'
import type { EntryDetail } from '../../db/chain/entry-details.ts'
import { erasedDocumentOf, recordOfItem } from '../../db/chunks/item.ts'
import type { RestoredEntry } from '../../db/ledgers/restored-entries.ts'
import { fromHex, utf8Decode, utf8Encode } from '../../proof/bytes.ts'
import { type DocumentLine, type EntryLine, parseEntryLine } from '../../proof/entry/entry-line.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import { formatId, parseId, type Uuid } from '../../proof/ids.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonObject, JsonValue } from '../../proof/json/json-value.ts'
import type { AgentKeyRegistration } from '../../proof/statement/agent-key.ts'
import type { BatchItem } from '../../proof/statement/batch.ts'
import { parseDocumentSubject } from '../../proof/statement/document-subjects.ts'
import { STATEMENT } from '../../proof/statement/kinds.ts'
import { type ParsedStatement, parseStatement } from '../../proof/statement/statement.ts'
import { chunksOf } from '../../records/build-batch.ts'
import { nativeProviders } from '../../signing/native.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import {
  actorUuid,
  agentRows,
  agentUuid,
  closureRows,
  erasureRows,
  holdRows,
  itemCountOf,
  keyRows,
  ledgerRows,
  liftedHolds,
  partyUuid,
  ruleRows,
  signingKeyRows,
  subjectUuid,
  versionOf,
} from '../../verify/signed-rows.ts'

/*
 * Rows that a verified line of an export explains: those of signed-rows.ts, by which an audit judges a database, and the documents
 * beside them.
 */

const { sha256 } = nativeProviders

/** The archive does not hold what a database needs. */
export class RestoreError extends Error {}

/** Kinds that other ledgers take part in: their rows hold what no entry says. */
const FEDERATION =
  /^(peer-(added|suspended|resumed|revoked|key-rotated)|record-shared|entry-received|step-offered|offer-refused)$/

/** In the place of an erased document, until its erasure has come. */
const NOTHING = { salt: new Uint8Array(16), text: '{}' }

/** Definition of the type that the entry at a seq registers. */
export type Definitions = ReadonlyMap<number, string>

/** The verified entry of a line, or that of a registered statement, whose author the line behind it names. Throws RestoreError. */
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
    toState: (statement.predicate['to'] as string | undefined) ?? null,
    previousLeaf: statement.kind === 'statement-registered' ? fromHex(statement.subjects[0].sha256) : null,
    itemCount: itemCountOf(statement),
    actorId: actorUuid(statement, sha256),
    partyId: partyUuid(statement, sha256) ?? undefined,
    keyId: statement.key === null ? null : parseId('key', statement.key),
    kid,
    isAgentSigned: line.signer !== undefined,
    detail: detailOf(statement, line, definitions),
    known: knownOf(statement),
  }
  return { ...entry, ...contentOf(line, statement) }
}

/** The entry of a registered statement, when that of its registration is known. */
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
    `entry ${seq} (${kind}) is about another ledger: a ledger with peers is restored from a backup only, because an archive has ` +
      'neither their invitations nor their receipts',
  )
}

/** Records, chunks, terms and documents that come with the entry. */
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

function recordOf({ subjects, onBehalfOf, predicate }: ParsedStatement, document: DocumentLine): RecordRow {
  const { type, occurredAt, traceparent, parent } = predicate as Record<string, string | undefined>
  const { salt, text } = textOf(document)
  return {
    recordId: parseId('rec', subjects[0].name),
    type: type!,
    digest: fromHex(document.digest),
    salt,
    payload: text,
    onBehalfOf: onBehalfOf === null ? null : parseId('agt', onBehalfOf),
    occurredAtMs: occurredAt === undefined ? null : Date.parse(occurredAt),
    traceparent: traceparent ?? null,
    metadata: null,
    parentId: parent === undefined ? null : parseId('rec', parent),
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
  const [closure] = closureRows(statement)
  return closure ? { size: closure.knownSize, chain: fromHex(closure.knownChain) } : null
}

/** Detail of an administrative entry, as its append had it; null of other kinds. The name of a key is its id: no entry says it. */
function detailOf(
  statement: ParsedStatement,
  { seq }: EntryLine,
  definitions: Definitions,
): EntryDetail | null {
  const { kind, subjects, predicate } = statement
  switch (kind) {
    case 'ledger-created': {
      const [{ name, issuer, origin, noteKid }] = ledgerRows(statement, sha256) as [Named]
      return { name, issuer, origin, noteKid }
    }
    case 'agent-registered':
      return { name: agentRows(statement)[0]!.name }
    case 'server-key-rotated':
      return { newKid: (predicate['newKey'] as { kid: string }).kid }
    case 'agent-key-registered': {
      const [{ agentId: _, ...key }] = signingKeyRows(statement) as [ReturnType<typeof signingKeyRows>[0]]
      const { endorsement } = predicate as unknown as AgentKeyRegistration
      return { ...key, endorsedBy: endorsement?.kid ?? null }
    }
    case 'agent-key-revoked':
      return { kid: predicate['kid'] as string }
    case 'key-created': {
      const [{ keyId, agentId, scopes }] = keyRows(statement) as [ReturnType<typeof keyRows>[0]]
      const expiresAt = predicate['expiresAt'] as string | null
      return { agentId, name: formatId('key', keyId as Uuid), scopes, expiresAt } as EntryDetail
    }
    case 'type-registered':
      return typeOf(seq, subjects[0], definitions.get(seq))
    case 'payload-erased': {
      const [{ document, documentSeq }] = erasureRows(statement) as [ReturnType<typeof erasureRows>[0]]
      return { document, documentSeq, reason: null } as EntryDetail
    }
    case 'retention-set': {
      const [rule] = ruleRows(statement)
      return rule!
    }
    case 'hold-set': {
      const [hold] = holdRows(statement)
      return hold!
    }
    case 'hold-lifted':
      return { hold: liftedHolds(statement)[0]! }
    case 'statement-registered': {
      const { policy, issuer, subject, contentType, kid } = predicate as Record<string, string>
      return { policy, issuer, subject, contentType, kid } as EntryDetail
    }
    case 'agent-disabled':
    case 'key-revoked':
    case 'ledger-restored':
      return {}
    default:
      return null
  }
}

type Named = { name: string; issuer: string; origin: string; noteKid: string }

function typeOf(
  seq: number,
  { name, sha256: digest }: { readonly name: string; readonly sha256: string },
  definition: string | undefined,
): EntryDetail {
  if (definition === undefined || toHex(sha256(utf8Encode(definition))) !== digest)
    throw new RestoreError(
      `the archive ${definition === undefined ? 'lacks the' : 'has another'} definition of ${name} (entry ${seq})`,
    )
  const parsed = JSON.parse(definition) as JsonValue
  return { name, gated: Object.hasOwn(parsed as object, 'evidenceSchema'), definition }
}

/** Lines of a portion. */
export function linesOf(bytes: Uint8Array): string[] {
  return utf8Decode(bytes).split('\n').slice(0, -1)
}
