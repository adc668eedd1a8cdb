import type pg from 'pg'
import { findSignedEntry } from '../../db/chain/signed-entries.ts'
import type { CaseDocument, CaseStep, GatedCase } from '../../db/records/gated-cases.ts'
import { fromHex, toHex } from '../../proof/bytes.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import { ProofError } from '../../proof/error.ts'
import { parseId, type Uuid } from '../../proof/ids.ts'
import type { JsonObject, JsonValue } from '../../proof/json/json-value.ts'
import { documentDigest } from '../../proof/statement/document.ts'
import type { DocumentKind } from '../../proof/statement/document-subjects.ts'
import type { Subject } from '../../proof/statement/kinds.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import { lineOfStep, requireOf, verifySigned } from '../../records/gated/verify-state.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { nativeProviders } from '../../signing/native.ts'
import { verifyErasure } from '../erasure/verify-erasure.ts'
import { type SignedCase, verifyCase } from './verify-case.ts'

type SignedTerms = {
  readonly type: string
  readonly typeDigest: string
  readonly gate: 'principal' | 'auto'
  readonly tolerances: JsonObject | null
}

/**
 * A waiting completion with its signed statements. `verified`: predicate of the signed verification if only the verdict
 * is missing, otherwise null.
 */
export type SignedCompletion = SignedCase & {
  readonly terms: SignedTerms
  readonly completion: Subject
  readonly submittedAtMs: number
  readonly verified: JsonObject | null
}

/** The documents that the rules judge. null for a document that was erased. */
export type JudgedDocuments = { readonly payload: JsonValue | null; readonly evidence: JsonValue | null }

/**
 * Verifies a completion. The signed entries of its creation, of its completion and, if it exists, of its verification
 * must show that the record waits for the worker. Throws ProofError otherwise.
 */
export async function verifyCompletion(keys: EnvelopeKeys, found: GatedCase): Promise<SignedCompletion> {
  const signed = await verifyCase(keys, found)
  const terms = readTerms(signed.created.predicate)
  if (terms.gate !== found.gate)
    throw new ProofError(
      'columns_contradict_entries',
      `the database has the gate ${found.gate}, but ${terms.gate} was signed`,
    )
  if (found.state === 'SUBMITTED') {
    requireOf(signed.newest, 'completion-submitted', signed)
    const { recordedAtMs, subjects } = signed.newest
    return { ...signed, terms, completion: subjects[1]!, submittedAtMs: recordedAtMs, verified: null }
  }
  requireOf(signed.newest, 'completion-verified', signed)
  const submitted = await verifySubmitted(keys, signed, found.steps)
  const completion = submitted.subjects[1]!
  const judged = signed.newest.subjects[1]!
  if (judged.name !== completion.name || judged.sha256 !== completion.sha256)
    throw new ProofError(
      'subject_unknown',
      `the verified completion ${judged.name} was not submitted, or was submitted with other evidence`,
    )
  const { recordedAtMs: submittedAtMs } = submitted
  return { ...signed, terms, completion, submittedAtMs, verified: signed.newest.predicate }
}

/**
 * Returns the completion that was verified by the record's newest entry. The completion must be the entry before the
 * newest. Throws ProofError otherwise.
 */
async function verifySubmitted(
  keys: EnvelopeKeys,
  signed: SignedCase,
  steps: readonly CaseStep[],
): Promise<ParsedStatement> {
  const step = submittedOf(steps)
  const statement = await verifySigned(keys, lineOfStep(step))
  requireOf(statement, 'completion-submitted', signed)
  if (toHex(step.leaf) !== signed.newest.predicate['previous'])
    throw new ProofError('previous_mismatch', 'the stored completion is not the completion that was verified')
  return statement
}

function submittedOf(steps: readonly CaseStep[]): CaseStep {
  const step = steps.find(({ kind }) => kind === 'completion-submitted')
  if (!step) throw new ProofError('subject_unknown', 'the record has no step completion-submitted')
  return step
}

function readTerms(predicate: JsonObject): SignedTerms {
  const { type, typeDigest, gate, tolerances } = predicate as SignedTerms & JsonObject
  return { type, typeDigest, gate, tolerances: tolerances ?? null }
}

/**
 * Reads payload and evidence. Each document must have the signed digest, or a signed entry must have erased it. Throws
 * ProofError otherwise.
 */
export async function readDocuments(
  { pool, envelopeKeys }: { readonly pool: pg.Pool; readonly envelopeKeys: EnvelopeKeys },
  found: GatedCase,
  { created, completion }: SignedCompletion,
): Promise<JudgedDocuments> {
  const { ledgerId, recordId, firstSeq } = found
  const submitted = submittedOf(found.steps)
  const documents = [
    {
      document: 'payload',
      subjectId: recordId,
      seq: firstSeq,
      sha256: created.subjects[0].sha256,
      stored: found.payload,
    },
    {
      document: 'evidence',
      subjectId: parseId('cmp', completion.name),
      seq: submitted.seq,
      sha256: completion.sha256,
      stored: storedOf(submitted),
    },
  ] as const
  const [payload, evidence] = await Promise.all(
    documents.map(({ stored, ...signed }) =>
      stored.erasedSeq === null
        ? parseDocument(signed, stored)
        : verifyErased(pool, envelopeKeys, { ledgerId, seq: stored.erasedSeq }, signed),
    ),
  )
  return { payload: payload!, evidence: evidence! }
}

function storedOf({ salt, content, erasedSeq }: CaseStep): CaseDocument {
  return { salt, content, erasedSeq }
}

type SignedDocument = {
  readonly document: DocumentKind
  readonly subjectId: Uuid
  readonly seq: number
  readonly sha256: string
}

function parseDocument({ document, sha256 }: SignedDocument, { salt, content }: CaseDocument): JsonValue {
  if (!salt || !content)
    throw new ProofError('document_presence', `the ${document} is missing, and no entry erases it`)
  if (toHex(documentDigest(nativeProviders.sha256, salt, content)) !== sha256)
    throw new ProofError('document_digest', `the ${document} differs from what was signed`)
  return JSON.parse(content.toString('utf8')) as JsonValue
}

/**
 * Throws ProofError if no signed entry erased the document. Without this check, a forged row in the table of erasures
 * would make the completion fail.
 */
async function verifyErased(
  pool: pg.Pool,
  keys: EnvelopeKeys,
  { ledgerId, seq }: { readonly ledgerId: Uuid; readonly seq: number },
  { document, subjectId, seq: documentSeq, sha256 }: SignedDocument,
): Promise<null> {
  const entry = await findSignedEntry(pool, ledgerId, seq)
  if (!entry)
    throw new ProofError(
      'erasure_unexplained',
      `the ${document} of entry ${documentSeq} is missing, and entry ${seq}, named as its erasure, does not exist`,
    )
  const digest = Buffer.from(fromHex(sha256))
  const findKey = await keys.finderFor([toHex(parseEnvelope(entry.envelope).kid)])
  verifyErasure({ ledgerId, subjectId, document, documentSeq, seq, entry, digest }, findKey)
  return null
}
