import type { ReceivedDetail } from '../../db/chain/entry-details.ts'
import type { PeerContact } from '../../db/peers/peers.ts'
import { TYPE_DEFINITION_BYTES_MAX } from '../../ledgers/types/limits.ts'
import type { Slice } from '../../load/slice.ts'
import { toHex, utf8Encode } from '../../proof/bytes.ts'
import { signedDocuments, verifySignedStatement } from '../../proof/entry/verify-entry.ts'
import { ProofError } from '../../proof/error.ts'
import { parseId, type Uuid } from '../../proof/ids.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonObject, JsonValue } from '../../proof/json/json-value.ts'
import type { RecordEvent } from '../../proof/ledger/gated-record.ts'
import { DOCUMENT_BYTES_MAX, REFERENCES_BYTES_MAX } from '../../proof/request-limits.ts'
import { documentDigest } from '../../proof/statement/document.ts'
import { ENTRY_KINDS, type EntryKind, type Subject } from '../../proof/statement/kinds.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import { leafHash } from '../../proof/tree/merkle.ts'
import { nativeProviders } from '../../signing/native.ts'
import { fromBase64, toBase64 } from '../../signing/text-of-bytes.ts'
import { StacklessError } from '../../stackless-error.ts'
import { VERSION_MAX } from './answer-fields.ts'
import { type PeeringIds, publicKeyOf } from './authenticate.ts'

export type SentEntry = {
  readonly seq: number
  /** The signed entry, in base64. */
  readonly envelope: string
  readonly document?: SentDocument | null | undefined
}

/** Document as the peer sent it. `salt` (base64url) and `document` are null if the peer has erased the document. */
type SentDocument = {
  readonly subject: string
  readonly digest: string
  readonly salt: string | null
  readonly document: JsonValue
  readonly references?: readonly string[] | null | undefined
}

/**
 * An entry that the peer's ledger has signed, with the document that was sent with it, if any. All checks that need no
 * database have passed.
 */
export type ProposedEntry = {
  readonly seq: number
  /** Leaf hash of the entry, in lower-case hex. */
  readonly leaf: string
  readonly envelope: Uint8Array
  readonly statement: ParsedStatement
  /** Record that the entry is about. null if the entry is not about a record. */
  readonly record: { readonly name: string; readonly id: Uuid } | null
  /** Version of the record after the entry. null if the entry is not a step of a record. */
  readonly version: number | null
  /** Verified document. null if the peer sent no document, or if the document is erased. */
  readonly document: ProposedDocument | null
  readonly documentState: 'none' | 'absent' | 'erased' | 'given'
}

/** Verified document of an entry. `canonical` and `references` are canonical JSON. */
type ProposedDocument = {
  readonly subject: string
  readonly digest: string
  readonly salt: Uint8Array
  readonly canonical: string
  readonly value: JsonValue
  readonly references: string | null
}

/** Error that refuses one entry for good. `code`: the code of a ProofError, or a code of the federation. */
export class EntryRefused extends StacklessError {
  readonly code: string
  /** Leaf hash (hex) of the entry that is stored at the same position. null if this error is not about a fork. */
  readonly storedLeaf: string | null

  constructor(code: string, detail: string, storedLeaf: string | null = null) {
    super(detail)
    this.name = 'EntryRefused'
    this.code = code
    this.storedLeaf = storedLeaf
  }
}

/**
 * Verifies that the peer's ledger signed this entry, and that its kind can be shared. Throws EntryRefused or
 * ProofError.
 */
export function verifyProposed(
  ids: Pick<PeeringIds, 'remoteLedger'>,
  contact: Pick<PeerContact, 'keys'>,
  sent: SentEntry,
): ProposedEntry {
  const bytes = fromBase64(sent.envelope)
  const { envelope, statement } = verifySignedStatement(bytes, keyFinder(contact), nativeProviders)
  if (statement.ledger !== ids.remoteLedger)
    throw new ProofError(
      'ledger_foreign',
      `the peer ${ids.remoteLedger} sent an entry of another ledger, ${statement.ledger}`,
    )
  verifyKeyAt(contact, toHex(envelope.kid), sent.seq)
  const { kind, predicate } = statement
  if (!isShared(kind)) throw new EntryRefused('not_shared', `entries of the kind ${kind} are never shared`)
  const name = predicate['record'] as string | undefined
  const version = ENTRY_KINDS[kind].movesRecord ? (predicate['version'] as number) : null
  if (version !== null && version > VERSION_MAX)
    throw new EntryRefused('version_mismatch', `version ${version} is above the limit of ${VERSION_MAX}`)
  return {
    seq: sent.seq,
    leaf: toHex(leafHash(nativeProviders.sha256, bytes)),
    envelope: bytes,
    statement,
    record: name === undefined ? null : { name, id: parseId('rec', name) },
    version,
    ...readDocument(statement, sent.document ?? null),
  }
}

function isShared(kind: EntryKind): boolean {
  const { receivedBy } = ENTRY_KINDS[kind]
  return receivedBy === 'entry-received' || receivedBy === 'offer-refused'
}

function keyFinder({ keys }: Pick<PeerContact, 'keys'>) {
  return (kid: string) => {
    const key = keys.find((one) => one.kid === kid)
    return key ? publicKeyOf(key) : null
  }
}

/**
 * Verifies that the entry is signed by the key that was valid at `seq`. Each key is valid up to and including the
 * rotation that replaces it.
 */
function verifyKeyAt({ keys }: Pick<PeerContact, 'keys'>, kid: string, seq: number): void {
  const signer = keys.find(({ untilSeq }) => untilSeq === null || seq <= untilSeq)
  if (signer?.kid !== kid)
    throw new ProofError(
      'key_not_current',
      `the peer’s entry ${seq} is signed by ${kid}, but the peer’s key for this entry is ${signer?.kid}`,
    )
}

/**
 * Verifies the sent document against the digest in the entry. Returns the document and its state. Throws ProofError or
 * EntryRefused.
 */
function readDocument(
  statement: ParsedStatement,
  sent: SentDocument | null,
): Pick<ProposedEntry, 'document' | 'documentState'> {
  const [signed] = signedDocuments(statement)
  if (!signed) {
    if (sent !== null)
      throw new ProofError('document_presence', `a document was sent with ${statement.kind}, which has none`)
    return { document: null, documentState: 'none' }
  }
  if (sent === null) return { document: null, documentState: 'absent' }
  if (sent.subject !== signed.name || sent.digest !== signed.sha256)
    throw new ProofError(
      'document_digest',
      `the sent document is ${sent.subject} ${sent.digest}, but ${signed.name} ${signed.sha256} was signed`,
    )
  if (sent.salt === null || sent.document === null) return { document: null, documentState: 'erased' }
  return { document: verifySentDocument(statement, signed, sent, sent.salt), documentState: 'given' }
}

function verifySentDocument(
  { predicate }: ParsedStatement,
  signed: Subject,
  { document, references }: SentDocument,
  salt: string,
): ProposedDocument {
  const saltBytes = Buffer.from(salt, 'base64url')
  const canonical = canonicalize(document)
  refuseLong(canonical, DOCUMENT_BYTES_MAX, signed.name)
  verifyDigest(saltBytes, canonical, signed)
  const signedReferences = predicate['references'] as string | undefined
  if ((signedReferences !== undefined) !== (references != null))
    throw new ProofError(
      'document_presence',
      `the references of ${signed.name} were sent without being signed, or are missing`,
    )
  const list = references == null ? null : canonicalize(references as JsonValue)
  if (list !== null) {
    refuseLong(list, REFERENCES_BYTES_MAX, 'references')
    verifyDigest(saltBytes, list, { name: 'references', sha256: signedReferences! })
  }
  return {
    subject: signed.name,
    digest: signed.sha256,
    salt: saltBytes,
    canonical,
    value: document,
    references: list,
  }
}

/** Throws EntryRefused if a document is larger than any document that a ledger signs. */
function refuseLong(canonical: string, bytesMax: number, name: string): void {
  const bytes = Buffer.byteLength(canonical)
  if (bytes > bytesMax)
    throw new EntryRefused(
      'document_too_large',
      `${name} has ${bytes} bytes; at most ${bytesMax} are allowed`,
    )
}

function verifyDigest(salt: Uint8Array, canonical: string, { name, sha256 }: Subject): void {
  const digest = toHex(documentDigest(nativeProviders.sha256, salt, utf8Encode(canonical)))
  if (digest !== sha256)
    throw new ProofError('document_digest', `${name} has the digest ${digest}, but ${sha256} was signed`)
}

/** Returns the event of an entry. Verifiers and this server rebuild a record's lifecycle from such events. */
export function eventOf({ seq, leaf, statement }: ProposedEntry): RecordEvent {
  return { seq, leaf, atMs: statement.recordedAtMs, statement }
}

/** Fields of a peer's entry that our receiving entry contains. */
export type ReceivedEntry = Pick<
  ProposedEntry,
  'seq' | 'leaf' | 'envelope' | 'statement' | 'record' | 'version'
>

/** Returns the member `received` of our entry, which names the peer's entry. */
export function receivedOf({ seq, leaf, statement, record, version }: ReceivedEntry) {
  return { ledger: statement.ledger, seq, leaf, kind: statement.kind, record: record?.name ?? null, version }
}

/** Returns the row that is stored beside our receiving entry (migrations/functions/append-received.sql). */
export function receivedRow(
  { peerId }: Pick<PeeringIds, 'peerId'>,
  { seq, leaf, envelope, statement, record, version }: ReceivedEntry,
): ReceivedDetail {
  return {
    peerId,
    seq,
    kind: statement.kind,
    recordId: record?.id ?? null,
    version,
    leaf,
    envelope: toBase64(envelope),
  }
}

/** Maps the digest (hex) of a type definition in the request to its name and its canonical JSON. */
export type SentTypes = ReadonlyMap<string, { readonly name: string; readonly canonical: string }>

export async function readTypes(definitions: readonly JsonObject[], slice: Slice): Promise<SentTypes> {
  const types = new Map<string, { readonly name: string; readonly canonical: string }>()
  for (const definition of definitions) {
    if (slice.isOver) await slice.next()
    const canonical = canonicalize(definition)
    if (Buffer.byteLength(canonical) > TYPE_DEFINITION_BYTES_MAX) continue
    const digest = toHex(nativeProviders.sha256(utf8Encode(canonical)))
    types.set(digest, { name: `${definition['name']}/${definition['version']}`, canonical })
  }
  return types
}
