import { equalBytes, toHex, utf8Decode } from '../bytes.ts'
import type { ProofProviders, PublicKey } from '../crypto.ts'
import { verifyContent } from '../entry/verify-content.ts'
import { type FindKey, verifySignedStatement } from '../entry/verify-entry.ts'
import { type ParsedEnvelope, parseEnvelope, toBeSigned } from '../envelope/cose.ts'
import { ProofError } from '../error.ts'
import { parseJsonText } from '../json/json-text.ts'
import type { JsonValue } from '../json/json-value.ts'
import { keyThumbprint } from '../keys.ts'
import { type BatchItem, itemBytes, verifyBatchItem } from '../statement/batch.ts'
import { type ParsedStatement, parseStatement } from '../statement/statement.ts'
import { type Checkpoint, parseVerifierKey } from '../tree/checkpoint.ts'
import { consistencyRoot, inclusionRoot, leafHash } from '../tree/merkle.ts'
import {
  detachReceipt,
  parseConsistencyReceipt,
  parseInclusionReceipt,
  type ReceiptHeader,
  type ReceiptItem,
} from './receipt.ts'

export type ReceiptTrust = {
  /** Note verifier key of the ledger. Only this key proves that a receipt is from that ledger. */
  readonly noteKey: string
  /**
   * Finds envelope keys. null if the entry's own signature is not verified. Then only the note key vouches for the
   * entry.
   */
  readonly findKey: FindKey | null
}

export type VerifiedReceipt = VerifiedPosition & {
  readonly envelope: ParsedEnvelope
  readonly statement: ParsedStatement
  /** Record of a batch that the receipt shows. null if the receipt shows the entry itself. */
  readonly item: BatchItem | null
}

export type VerifiedPosition = {
  /** Hash of the envelope, 32 bytes. */
  readonly leaf: Uint8Array
  readonly seq: number
  readonly size: number
  /** Root of the tree of `size` entries, 32 bytes. The ledger's checkpoint of this size has the same root. */
  readonly root: Uint8Array
}

/**
 * Verifies a statement with its receipt. Returns the entry and its position in the ledger of the note key. Throws
 * ProofError.
 */
export function verifyReceipt(
  file: Uint8Array,
  trust: ReceiptTrust,
  providers: ProofProviders,
): VerifiedReceipt {
  const { envelope: bytes, receipt } = detachReceipt(file)
  const { header, item: shown, ...position } = readReceipt(bytes, receipt, trust.noteKey, providers)
  const { envelope, statement } = readStatement(bytes, trust.findKey, providers)
  if (!header.origin.endsWith(`/${statement.ledger}`) || header.issuer !== envelope.issuer)
    throw new ProofError(
      'ledger_foreign',
      `the entry belongs to ${statement.ledger} of ${envelope.issuer}, but the receipt to ${header.origin} of ${header.issuer}`,
    )
  const item = shown && verifyItem(shown, statement, providers)
  return { ...position, envelope, statement, item }
}

/**
 * Verifies the receipt of an envelope with any content. Returns the envelope's position in the ledger of the note key.
 * Throws ProofError, with the code `receipt_syntax` if the receipt shows a record of a batch.
 */
export function verifyReceiptOf(
  envelope: Uint8Array,
  receipt: Uint8Array,
  noteKey: string,
  providers: ProofProviders,
): VerifiedPosition {
  const { header: _, item, ...position } = readReceipt(envelope, receipt, noteKey, providers)
  if (item !== null)
    throw new ProofError(
      'receipt_syntax',
      'the receipt is for a record of a batch, not for a registered statement',
    )
  return position
}

/**
 * Verifies the position of an envelope in the ledger of the note key. If the receipt shows a record of a batch, also
 * verifies the record's position in the batch. Does not check the content of the envelope, because the verifier of the
 * whole ledger does this. Throws ProofError.
 */
export function verifyReceiptPosition(
  file: Uint8Array,
  noteKey: string,
  providers: ProofProviders,
): VerifiedPosition {
  const { envelope, receipt } = detachReceipt(file)
  const { header: _, item, ...position } = readReceipt(envelope, receipt, noteKey, providers)
  if (item !== null) verifyItem(item, parseStatement(parseEnvelope(envelope).payload), providers)
  return position
}

function readReceipt(
  envelope: Uint8Array,
  attached: Uint8Array,
  noteKey: string,
  providers: ProofProviders,
): VerifiedPosition & { readonly header: ReceiptHeader; readonly item: ReceiptItem | null } {
  const { sha256 } = providers
  const receipt = parseInclusionReceipt(attached)
  const { header } = receipt
  const key = verifyLedgerKey(header, noteKey, providers)
  const { index, size, path } = receipt.inclusion
  const leaf = leafHash(sha256, envelope)
  verifySize(size, header)
  const root = inclusionRoot(sha256, leaf, index, size, path)
  verifyRoot(receipt, root, key, providers)
  return { leaf, seq: index, size, root, header, item: receipt.item }
}

/**
 * Verifies that the tree of `stored` is the beginning of the tree that the receipt signs. `stored`: a verified
 * checkpoint. Returns the size and root of the receipt's tree. Throws ProofError.
 */
export function verifyConsistencyReceipt(
  bytes: Uint8Array,
  stored: Checkpoint,
  noteKey: string,
  providers: ProofProviders,
): { readonly size: number; readonly root: Uint8Array } {
  const receipt = parseConsistencyReceipt(bytes)
  const { header } = receipt
  const key = verifyLedgerKey(header, noteKey, providers)
  if (stored.origin !== header.origin)
    throw new ProofError(
      'checkpoint_foreign',
      `the stored checkpoint belongs to ${stored.origin}, but the receipt to ${header.origin}`,
    )
  const { from, to, path } = receipt.consistency
  if (from !== stored.size)
    throw new ProofError(
      'consistency_missing',
      `the receipt shows the growth from ${from} entries, but the stored checkpoint covers ${stored.size}`,
    )
  verifySize(to, header)
  const root = consistencyRoot(providers.sha256, from, to, path, stored.root)
  verifyRoot(receipt, root, key, providers)
  return { size: to, root }
}

function verifyLedgerKey(header: ReceiptHeader, noteKey: string, { sha256 }: ProofProviders): PublicKey {
  const { origin, key } = parseVerifierKey(noteKey, sha256)
  if (header.origin !== origin)
    throw new ProofError('checkpoint_foreign', `the receipt belongs to ${header.origin}, not to ${origin}`)
  if (!equalBytes(header.kid, keyThumbprint(sha256, key)))
    throw new ProofError(
      'kid_mismatch',
      `the receipt is signed by ${toHex(header.kid)}, which is not the note key`,
    )
  return key
}

/**
 * Throws if `size` is not the signed size. This check is needed because the same path can be valid in trees of several
 * sizes.
 */
function verifySize(size: number, header: ReceiptHeader): void {
  if (size === header.size) return
  throw new ProofError(
    'proof_contradicts_entry',
    `the proof is for a tree of ${size} leaves, but the receipt is signed for ${header.size}`,
  )
}

function verifyRoot(
  { protectedBytes, signature }: { readonly protectedBytes: Uint8Array; readonly signature: Uint8Array },
  root: Uint8Array,
  key: PublicKey,
  { verifySignature }: ProofProviders,
): void {
  if (verifySignature(key, toBeSigned(protectedBytes, root), signature)) return
  throw new ProofError('signature_invalid', 'the note key did not sign the root that the proof leads to')
}

function readStatement(bytes: Uint8Array, findKey: FindKey | null, providers: ProofProviders) {
  if (findKey !== null) return verifySignedStatement(bytes, findKey, providers)
  const envelope = parseEnvelope(bytes)
  const statement = parseStatement(envelope.payload)
  verifyContent(providers.sha256, envelope, statement)
  return { envelope, statement }
}

function verifyItem(
  { item, at }: ReceiptItem,
  statement: ParsedStatement,
  { sha256 }: ProofProviders,
): BatchItem {
  const { count } = statement.predicate
  if (at.size !== count)
    throw new ProofError(
      'batch_contradicts_statement',
      `the item is of a batch of ${at.size} items, but ${count} were signed`,
    )
  const text = utf8Decode(item)
  const value: JsonValue = parseJsonText(text)
  const found = verifyBatchItem(sha256, value, at.index, at.size, at.path, statement.subjects[0].sha256)
  // The leaf is computed from the canonical form of the item's members. So the bytes in the receipt must be exactly
  // that form.
  if (itemBytes(found) !== text) throw new ProofError('batch_item', 'the item is not in its canonical form')
  return found
}
