import { fromBase64, toHex, utf8Encode } from '../bytes.ts'
import type { ProofProviders, PublicKey, Sha256 } from '../crypto.ts'
import { type ParsedEnvelope, parseEnvelope, verifySigner } from '../envelope/cose.ts'
import { ProofError } from '../error.ts'
import { canonicalize } from '../json/jcs.ts'
import { keyThumbprint, parsePublicKey } from '../keys.ts'
import { SIGNERS_KNOWN_MAX } from '../limits.ts'
import {
  type BatchItem,
  batchRoot,
  itemBytes,
  itemLeaf,
  parseBatchItem,
  verifyItemIds,
} from '../statement/batch.ts'
import { documentDigest } from '../statement/document.ts'
import type { DocumentKind } from '../statement/document-subjects.ts'
import { ENTRY_KINDS, isSignedByAgents, type Subject, type SubjectRule } from '../statement/kinds.ts'
import { type ParsedStatement, parseStatement } from '../statement/statement.ts'
import { leafHash } from '../tree/merkle.ts'
import type { DocumentLine, EntryLine, LineSigner } from './entry-line.ts'
import { type EntryStep, makeStep } from './entry-step.ts'
import { verifyContent } from './verify-content.ts'
import { verifyReceived } from './verify-received.ts'

/** A verified entry with its parsed content. `step` is for LedgerVerifier. */
export type VerifiedEntry = {
  readonly step: EntryStep
  readonly envelope: ParsedEnvelope
  readonly statement: ParsedStatement
  readonly items: readonly BatchItem[] | null
}

/** A public key with the agent that owns it. `agent` is absent if the key belongs to a server. */
export type KnownKey = PublicKey & {
  readonly agent?: { readonly ledger: string; readonly agent: string }
}

/** Returns the public key of a kid (lower-case hex), or null if there is none. The kid MUST be the key's thumbprint. */
export type FindKey = (kid: string) => KnownKey | null

/**
 * Whether the source shows documents. `withheld`: the source declares that it shows no documents to this reader, so the
 * line must have none. Only the caller may accept this, because a withheld document looks the same as a deleted
 * document.
 */
export type DocumentsShown = 'all' | 'withheld'

/**
 * Verifies everything about an export's line that needs no other line (docs/formats/export.md). Lines can be verified
 * in any order and in parallel. LedgerVerifier does the checks that need earlier entries. Throws ProofError.
 *
 * An attacker controls everything in the line that no signature covers. So the signature is verified first. Then
 * everything else is compared with the signed statement.
 */
export function verifyEntry(
  line: EntryLine,
  findKey: FindKey,
  providers: ProofProviders,
  shown: DocumentsShown = 'all',
): VerifiedEntry {
  const { envelope, statement, items, received } = verifyLineContent(line, findKey, providers, shown)
  return { step: makeStep(line, envelope, statement, { items, received }), envelope, statement, items }
}

export type LineContent = Omit<EntryLine, 'seq' | 'chain'>

/** Verifies the same as verifyEntry, but returns no step. Used for an entry whose position is proved in another way. */
export function verifyLineContent(
  line: LineContent,
  findKey: FindKey,
  providers: ProofProviders,
  shown: DocumentsShown,
) {
  const { sha256 } = providers
  const { envelope, statement } = verifySignedEntry(line, withSigner(findKey, line, sha256), providers)
  const items = verifyItems(sha256, line, statement)
  verifyLineDocuments(sha256, line.documents, { statement, items }, shown)
  const received = verifyReceived(sha256, line.received ?? null, statement)
  return { envelope, statement, items, received }
}

/** Verifies the documents of an entry, or of some items of a batch. The document of `items[i]` is `documents[i]`. */
export function verifyLineDocuments(
  sha256: Sha256,
  documents: readonly DocumentLine[],
  signed: { readonly statement: ParsedStatement; readonly items: readonly BatchItem[] | null },
  shown: DocumentsShown,
): void {
  const { statement, items } = signed
  const subjects = items === null ? signedDocuments(statement) : items.map(documentOfItem)
  verifyDocuments(sha256, documents, subjects, shown)
  verifyReferences(sha256, documents, statement, items)
}

/** Members of a line about the entry itself, without its documents and items. */
export type SignedLine = Pick<EntryLine, 'kind' | 'recordedAt' | 'leaf' | 'envelope'>

/** Verifies the same as verifyEntry, except items and documents. Used for an entry that is shown alone. */
export function verifySignedEntry(
  line: SignedLine,
  findKey: FindKey,
  providers: ProofProviders,
): { readonly envelope: ParsedEnvelope; readonly statement: ParsedStatement } {
  const signed = verifySignedStatement(line.envelope, findKey, providers)
  verifyLine(line, toHex(leafHash(providers.sha256, line.envelope)), signed.statement)
  return signed
}

/**
 * Verifies an envelope and its signature. Nothing more can be verified about an entry without other data. `parsed`: the
 * result of parseStatement for the same bytes, or null if the caller does not have it.
 */
export function verifySignedStatement(
  bytes: Uint8Array,
  findKey: FindKey,
  providers: ProofProviders,
  parsed: ParsedStatement | null = null,
): { readonly envelope: ParsedEnvelope; readonly statement: ParsedStatement } {
  const { sha256 } = providers
  const { envelope, key } = verifySigned(bytes, findKey, providers)
  const statement = parsed ?? parseStatement(envelope.payload)
  verifyContent(sha256, envelope, statement)
  if (key.agent) verifyOwnEntry(key.agent, statement)
  return { envelope, statement }
}

/**
 * Throws if an agent other than the key's owner made the entry, if the entry is in another ledger than the agent, or if
 * agents cannot sign entries of this kind.
 */
function verifyOwnEntry({ ledger, agent }: NonNullable<KnownKey['agent']>, statement: ParsedStatement): void {
  if (statement.ledger !== ledger || statement.actor !== agent)
    throw new ProofError(
      'key_of_another_agent',
      `the entry is signed by ${agent} of ${ledger}, but its actor is ${statement.actor} of ${statement.ledger}`,
    )
  if (!isSignedByAgents(statement.kind))
    throw new ProofError(
      'actor_not_entitled',
      `the entry is signed by an agent, but ${statement.kind} must be signed by the server`,
    )
}

const signersOfLines = new WeakMap<Sha256, Map<string, SignerKey>>()

/**
 * Returns a `findKey` for the line. If the line has a `signer`, the returned function finds only the key in `signer`,
 * and throws if the envelope names another key. Without this check, somebody could change `signer` unnoticed.
 *
 * Does not check which agent owns the key, because only earlier entries determine that. The returned function throws
 * `bad_base64`, `bad_key` or `line_contradicts_envelope`.
 */
export function withSigner(findKey: FindKey, { signer }: Pick<EntryLine, 'signer'>, sha256: Sha256): FindKey {
  if (signer === undefined) return findKey
  return (kid) => {
    const { key, itsKid } = keyOfSigner(signer, sha256)
    if (kid === itsKid) return key
    throw new ProofError(
      'line_contradicts_envelope',
      `the line names the signer ${itsKid}, but ${kid} signed the envelope`,
    )
  }
}

type SignerKey = { readonly key: PublicKey; readonly itsKid: string }

function keyOfSigner({ alg, spki }: LineSigner, sha256: Sha256): SignerKey {
  const known = signersOfLines.get(sha256) ?? new Map<string, SignerKey>()
  const found = known.get(`${alg} ${spki}`)
  if (found) return found
  const key = parsePublicKey(alg, fromBase64(spki))
  const made = { key, itsKid: toHex(keyThumbprint(sha256, key)) }
  if (known.size === SIGNERS_KNOWN_MAX) known.clear()
  signersOfLines.set(sha256, known.set(`${alg} ${spki}`, made))
  return made
}

/**
 * Verifies that a line has a `signer` if the entry is signed by an agent's own key, and no `signer` otherwise. Throws
 * `line_contradicts_envelope`.
 */
export function verifySignerShown(isShown: boolean, isAgentSigned: boolean): void {
  if (isShown === isAgentSigned) return
  throw new ProofError(
    'line_contradicts_envelope',
    isShown ? 'the line has a signer, but the server signed' : 'an agent signed, but the line has no signer',
  )
}

function verifySigned(
  bytes: Uint8Array,
  findKey: FindKey,
  providers: ProofProviders,
): { readonly envelope: ParsedEnvelope; readonly key: KnownKey } {
  const envelope = parseEnvelope(bytes)
  const kid = toHex(envelope.kid)
  const key = findKey(kid)
  if (!key) throw new ProofError('key_unknown', `the key ${kid} is unknown`)
  verifySigner(envelope, key, providers.verifySignature)
  return { envelope, key }
}

/**
 * Verifies those members of a line that repeat the envelope. Lines repeat these members only to make searches easy.
 * `leaf`: the leaf of the line's envelope.
 */
export function verifyLine(line: SignedLine, leaf: string, statement: ParsedStatement): void {
  const claims = { leaf: line.leaf, kind: line.kind, recordedAt: line.recordedAt }
  const signed = {
    leaf,
    kind: statement.kind,
    recordedAt: statement.recordedAt,
  }
  for (const name of ['leaf', 'kind', 'recordedAt'] as const) {
    if (claims[name] !== signed[name]) {
      throw new ProofError(
        'line_contradicts_envelope',
        `${name} is ${signed[name]} in the envelope, but ${claims[name]} in the line`,
      )
    }
  }
}

/**
 * Verifies a batch's items. Only their number and their root are signed, so all items must be present and in order. The
 * ids must be consecutive, because servers compute a record's position in the batch from its id.
 */
function verifyItems(sha256: Sha256, line: LineContent, statement: ParsedStatement): BatchItem[] | null {
  if ((statement.kind === 'batch-notarized') !== (line.items !== null)) {
    throw new ProofError(
      'batch_contradicts_statement',
      `${statement.kind} ${line.items === null ? 'must' : 'cannot'} have items`,
    )
  }
  if (line.items === null) return null
  const { count } = statement.predicate
  if (line.items.length !== count) {
    throw new ProofError(
      'batch_contradicts_statement',
      `the batch has ${line.items.length} items, but ${count} were signed`,
    )
  }
  const items = line.items.map(parseBatchItem)
  verifyRoot(
    sha256,
    items.map((item) => itemLeaf(sha256, itemBytes(item))),
    statement,
  )
  verifyItemIds(items)
  return items
}

/** Verifies a batch's root. `leaves`: itemLeaf of every item, in order. Throws `batch_contradicts_statement`. */
export function verifyRoot(
  sha256: Sha256,
  leaves: readonly Uint8Array[],
  { subjects }: ParsedStatement,
): void {
  const root = toHex(batchRoot(sha256, leaves))
  if (root !== subjects[0].sha256)
    throw new ProofError(
      'batch_contradicts_statement',
      `the root of the items is ${root}, but ${subjects[0].sha256} was signed`,
    )
}

function documentOfItem(item: BatchItem): Subject {
  return { name: item.record, sha256: item.digest }
}

/**
 * Maps the rule of a subject to the kind of document that such a subject can name. If the entry has no document of this
 * kind, the subject repeats a digest that an earlier entry has signed.
 */
const DOCUMENT_OF: { readonly [Rule in SubjectRule]?: DocumentKind } = {
  rec: 'payload',
  cmp: 'evidence',
  'cmp?': 'evidence',
  values: 'values',
  'reason?': 'reason',
}

/**
 * Returns the subjects that name a document of this entry. Other subjects repeat a digest that an earlier entry has
 * signed.
 */
export function signedDocuments({ kind, subjects }: Pick<ParsedStatement, 'kind' | 'subjects'>): Subject[] {
  const { subjects: rules, documents } = ENTRY_KINDS[kind]
  if (!documents) return []
  return subjects.filter((_, i) => documents.includes(DOCUMENT_OF[rules[i]!]!))
}

function verifyDocuments(
  sha256: Sha256,
  documents: readonly DocumentLine[],
  signed: readonly Subject[],
  shown: DocumentsShown,
): void {
  if (documents.length !== signed.length) {
    throw new ProofError(
      'document_presence',
      `the entry has ${documents.length} documents, but ${signed.length} were signed`,
    )
  }
  for (const [i, document] of documents.entries()) verifyDocument(sha256, document, signed[i]!, shown)
}

/**
 * Verifies a document, or the absence of an erased document. LedgerVerifier checks that the entry `erasedBy` really
 * erased the document.
 */
function verifyDocument(
  sha256: Sha256,
  document: DocumentLine,
  signed: Subject,
  shown: DocumentsShown,
): void {
  if (document.subject !== signed.name) {
    throw new ProofError(
      'document_presence',
      `the entry has the document of ${document.subject} instead of ${signed.name}`,
    )
  }
  if (document.digest !== signed.sha256) {
    throw new ProofError(
      'document_digest',
      `the line has the digest ${document.digest}, but ${signed.sha256} was signed`,
    )
  }
  const isAbsent = document.erasedBy !== null || shown === 'withheld'
  if ((document.salt === null) !== isAbsent || (document.document === null) !== isAbsent) {
    throw new ProofError(
      'document_presence',
      `the document of ${signed.name} is missing without an erasure, or is only half erased`,
    )
  }
  if (document.salt === null) return
  const digest = toHex(documentDigest(sha256, document.salt, utf8Encode(canonicalize(document.document))))
  if (digest !== signed.sha256) {
    throw new ProofError(
      'document_digest',
      `${signed.name} has the digest ${digest}, but ${signed.sha256} was signed`,
    )
  }
}

/**
 * Verifies references. They are stored beside the payload and signed with the payload's salt. References must be
 * present if the payload is present and the statement or item has a digest of references. Otherwise they must be
 * absent.
 */
function verifyReferences(
  sha256: Sha256,
  documents: readonly DocumentLine[],
  { predicate }: ParsedStatement,
  items: readonly BatchItem[] | null,
): void {
  for (const [i, { subject, salt, references = null }] of documents.entries()) {
    const signed = items === null ? predicate['references'] : items[i]!.references
    const isDue = signed !== undefined && salt !== null
    if ((references !== null) !== isDue)
      throw new ProofError(
        'document_presence',
        `the references of ${subject} are ${isDue ? 'signed, but missing' : 'present, but not signed'}`,
      )
    if (references === null || salt === null) continue
    const digest = toHex(documentDigest(sha256, salt, utf8Encode(canonicalize(references))))
    if (digest !== signed) {
      throw new ProofError(
        'document_digest',
        `the references of ${subject} have the digest ${digest}, but ${signed} was signed`,
      )
    }
  }
}
