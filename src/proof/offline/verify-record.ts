import { isLonger } from '../bytes.ts'
import type { ProofProviders } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { parseJsonText } from '../json/json-text.ts'
import type { JsonObject, JsonValue } from '../json/json-value.ts'
import { RECORD_BYTES_MAX } from '../limits.ts'
import type { BatchItem } from '../statement/batch.ts'
import { isObject } from '../statement/fields.ts'
import { ENTRY_KINDS } from '../statement/kinds.ts'
import { SHOWN_TEXTS, type SignedMembers } from '../statement/record-members.ts'
import { parseShownSalt, verifyShownDigest } from '../statement/shown-document.ts'
import type { ParsedStatement } from '../statement/statement.ts'
import { type ProvedEntry, verifyGatedRecord } from './verify-gated-record.ts'

/** Facts that an entry states about a record: members, by their names in the record, and digests of documents. */
type SignedRecord = {
  readonly members: Readonly<Record<string, JsonValue>>
  readonly payload: string
  /**
   * Digest of the references. null if the record has no references. undefined if the entry states nothing about
   * references.
   */
  readonly references: string | null | undefined
}

/**
 * Verifies a record, as `GET /v1/records/{id}` returns it, against its proof. Payload and references must have the
 * signed digests, together with the salt. Id, type, actor and the other members must match the entry. For a gated
 * record the terms or the step must match.
 *
 * Members that the entry does not contain are not verified: metadata, later events of the record, and members of later
 * server versions. An absent member means null. So a record that was stored before a member existed still verifies.
 *
 * Throws ProofError. Its code is `record_contradicts_proof` unless a more exact code applies.
 */
export function verifyRecord(text: string, proof: ProvedEntry, { sha256 }: ProofProviders): void {
  const record = parseRecord(text)
  const signed = signedRecord(proof)
  verifyMembers(record, signed)
  verifyGatedRecord(record, proof, sha256)
  const salt = parseShownSalt(record, 'payload')
  verifyShownDigest(sha256, salt, 'payload', record['payload']!, signed.payload)
  if (signed.references === undefined) return
  const { references = null } = record
  if ((references === null) !== (signed.references === null))
    throw new ProofError(
      'record_contradicts_proof',
      'the references of the record differ from what was signed',
    )
  if (signed.references !== null) verifyShownDigest(sha256, salt, 'references', references, signed.references)
}

function parseRecord(text: string): JsonObject {
  if (isLonger(text, RECORD_BYTES_MAX))
    throw new ProofError('record_contradicts_proof', `a record can have at most ${RECORD_BYTES_MAX} bytes`)
  const record = parseJsonText(text)
  if (isObject(record)) return record
  throw new ProofError('record_contradicts_proof', 'the record is not an object')
}

function signedRecord({ statement, item }: ProvedEntry): SignedRecord {
  const { kind, ledger, predicate, subjects } = statement
  const [{ name, sha256 }] = subjects
  if (item) {
    const members = { ...membersOfItem(item), ...membersOfFirst(statement), batch: name }
    return { members, payload: item.digest, references: item.references ?? null }
  }
  if (kind === 'batch-notarized')
    throw new ProofError('record_contradicts_proof', 'the proof is of a batch, not of one of its records')
  if (!ENTRY_KINDS[kind].movesRecord)
    throw new ProofError('record_contradicts_proof', `the proof is of ${kind}, not of a record`)
  const base = { id: name, digest: sha256, ledger }
  const { type, references = null } = predicate
  // A later event names the agent that made the event, but the record shows the agent that made the record. So these
  // two are not compared.
  if (type === undefined) return { members: base, payload: sha256, references: undefined }
  const members = { ...base, ...membersOfFirst(statement), type, ...shownOf(predicate), batch: null }
  return { members, payload: sha256, references: references as string | null }
}

function membersOfItem(item: BatchItem): Record<string, JsonValue> {
  const { record, type, digest } = item
  return { id: record, type, digest, ...shownOf(item) }
}

function shownOf(signed: SignedMembers): Record<string, JsonValue> {
  return Object.fromEntries(SHOWN_TEXTS.map((name) => [name, signed[name] ?? null]))
}

function membersOfFirst({ ledger, actor, key, recordedAt }: ParsedStatement): Record<string, JsonValue> {
  return { ledger, actor, key, recordedAt }
}

function verifyMembers(record: JsonObject, { members }: SignedRecord): void {
  for (const [name, value] of Object.entries(members)) {
    if ((record[name] ?? null) === value) continue
    throw new ProofError(
      'record_contradicts_proof',
      `${name} of the record is ${JSON.stringify(record[name])}, but ${JSON.stringify(value)} was signed`,
    )
  }
}
