import type { BatchItem } from './batch.ts'
import { fromBase64Url, toHex, utf8Encode } from './bytes.ts'
import type { ProofProviders, Sha256 } from './crypto.ts'
import { documentDigest } from './document.ts'
import { ProofError } from './error.ts'
import { isObject } from './fields.ts'
import { canonicalize } from './jcs.ts'
import { type JsonObject, type JsonValue, parseJsonText } from './json-text.ts'
import type { ParsedStatement } from './statement.ts'
import type { VerifiedProof } from './verify-proof.ts'

/** A payload of 64 KiB in canonical form and metadata of 4 KiB, with every character escaped, and room. */
export const RECORD_CHARS_MAX = 524_288
const SALT_BYTES = 16

/** What an entry says of a record: members by their names there, and digests of what lies beside the chain. */
type SignedRecord = {
  readonly members: Readonly<Record<string, JsonValue>>
  readonly payload: string
  /** null: it has none. undefined: this entry does not say. */
  readonly references: string | null | undefined
}

/**
 * That a record, as `GET /v1/records/{id}` answers it, is what the proof is of: payload and references have, with the salt,
 * the digests that were signed, and so were id, type, actor and the rest that the entry says. What the entry does not say
 * (state, version, metadata) is not looked at. Throws ProofError, `record_contradicts_proof` unless something more exact
 * applies.
 */
export function verifyRecord(text: string, proof: VerifiedProof, { sha256 }: ProofProviders): void {
  const record = parseRecord(text)
  const signed = signedRecord(proof)
  verifyMembers(record, signed)
  const salt = parseSalt(record)
  verifyDigest(sha256, salt, 'payload', record['payload']!, signed.payload)
  if (signed.references === undefined) return
  const { references = null } = record
  if ((references === null) !== (signed.references === null))
    throw new ProofError('record_contradicts_proof', 'it has references that were not signed, or lacks them')
  if (signed.references !== null) verifyDigest(sha256, salt, 'references', references, signed.references)
}

function parseRecord(text: string): JsonObject {
  if (text.length > RECORD_CHARS_MAX)
    throw new ProofError('record_contradicts_proof', `${text.length} characters are no record's`)
  const record = parseJsonText(text)
  if (isObject(record)) return record
  throw new ProofError('record_contradicts_proof', 'it is not an object')
}

function signedRecord({ statement, item }: VerifiedProof): SignedRecord {
  const { kind, ledger, predicate, subjects } = statement
  const [{ name, sha256 }] = subjects
  if (item) {
    const members = { ...membersOfItem(item), ...membersOfFirst(statement), parent: null, batch: name }
    return { members, payload: item.digest, references: null }
  }
  if (kind === 'batch-notarized')
    throw new ProofError('record_contradicts_proof', 'the proof is of a batch, and of none of its records')
  if (predicate['record'] === undefined)
    throw new ProofError('record_contradicts_proof', `the proof is of ${kind}, and of no record`)
  const about = { id: name, digest: sha256, ledger }
  const { type, occurredAt = null, onBehalfOf = null, parent = null, references = null } = predicate
  // Later events of a record say who made them, not who made the record.
  if (type === undefined) return { members: about, payload: sha256, references: undefined }
  const members = {
    ...about,
    ...membersOfFirst(statement),
    type,
    occurredAt,
    onBehalfOf,
    parent,
    batch: null,
  }
  return { members, payload: sha256, references: references as string | null }
}

function membersOfItem(item: BatchItem): Record<string, JsonValue> {
  const { record, type, digest, occurredAt = null, onBehalfOf = null } = item
  return { id: record, type, digest, occurredAt, onBehalfOf }
}

function membersOfFirst({ ledger, actor, key, recordedAt }: ParsedStatement): Record<string, JsonValue> {
  return { ledger, actor, key, recordedAt }
}

function verifyMembers(record: JsonObject, { members }: SignedRecord): void {
  for (const [name, value] of Object.entries(members)) {
    if (record[name] === value) continue
    throw new ProofError(
      'record_contradicts_proof',
      `${name} is ${JSON.stringify(record[name])}, signed is ${JSON.stringify(value)}`,
    )
  }
}

function parseSalt({ payload, salt }: JsonObject): Uint8Array {
  if (payload === null && salt === null)
    throw new ProofError('document_presence', 'the payload is erased: only its digest is left')
  if (typeof salt !== 'string' || payload === undefined)
    throw new ProofError('record_contradicts_proof', 'it has no payload and salt')
  const bytes = fromBase64Url(salt)
  if (bytes.length === SALT_BYTES) return bytes
  throw new ProofError('record_contradicts_proof', `a salt of ${bytes.length} bytes`)
}

function verifyDigest(
  sha256: Sha256,
  salt: Uint8Array,
  name: string,
  value: JsonValue,
  signed: string,
): void {
  const digest = toHex(documentDigest(sha256, salt, utf8Encode(canonicalize(value))))
  if (digest !== signed)
    throw new ProofError('document_digest', `${name} has the digest ${digest}, signed is ${signed}`)
}
