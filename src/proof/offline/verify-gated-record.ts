import type { Sha256 } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { canonicalize } from '../json/jcs.ts'
import type { JsonObject, JsonValue } from '../json/json-value.ts'
import { isObject } from '../statement/fields.ts'
import { type EntryKind, LIFECYCLE } from '../statement/kinds.ts'
import { parseShownSalt, verifyShownDigest } from '../statement/shown-document.ts'
import { type ParsedStatement, partyOf } from '../statement/statement.ts'
import type { VerifiedProof } from './verify-proof.ts'

export type ProvedEntry = Pick<VerifiedProof, 'statement' | 'item' | 'seq'>

/** Predicate of the entry. parseStatement has checked the formats of its members. */
type Predicate = ParsedStatement['predicate']

/**
 * Verifies the member `gated` of a record against the entry. If the entry created the record, the terms are compared,
 * otherwise the step. The record may have changed since then, but must still show what the entry states. Other steps
 * are not verified. Throws `record_contradicts_proof`, or a code of shown-document.ts.
 *
 * A server that lies about one step could send the proof of another step. So the record must show the proved step. If
 * the step ended the record, the record must be in the state that the entry states.
 */
export function verifyGatedRecord(record: JsonObject, proof: ProvedEntry, sha256: Sha256): void {
  const { item, statement } = proof
  const { gated = null } = record
  if (item || statement.kind === 'record-notarized') {
    if (gated !== null) throw contradiction('it was notarized, but is shown as gated')
    return
  }
  if (!isObject(gated)) throw contradiction('it is gated, but is not shown as gated')
  verifyState(record, statement.predicate)
  if (statement.kind === 'record-created') verifyTerms(gated, statement, record['version'] === 1)
  else verifyStep(gated, proof, sha256)
}

function verifyState({ version, state }: JsonObject, predicate: Predicate): void {
  const made = predicate['version'] as number
  if (!Number.isSafeInteger(version) || (version as number) < made)
    throw contradiction(`it shows version ${version}, but the entry made it version ${made}`)
  const canMove = LIFECYCLE.some(({ from }) => from === predicate['to'])
  if (version === made || !canMove) verifyMember('state', state, predicate['to'])
}

function verifyTerms(gated: JsonObject, statement: ParsedStatement, isNew: boolean): void {
  const { gate, deadline, maxRevisions, tolerances, performer } = statement.predicate
  const terms = { principal: partyOf(statement), gate, deadline, maxRevisions, tolerances }
  for (const [name, value] of Object.entries(terms)) verifyMember(name, gated[name], value)
  verifyShare(gated['share'], statement.predicate['share'])
  // If no performer was agreed, the agent that activates the record becomes the performer. Only the proof of the
  // activation shows who this is.
  if (performer !== undefined || isNew) verifyMember('performer', gated['performer'], performer)
}

/**
 * Throws if the record does not show a signed share. The record may show more shares, because it can be shared with
 * more peers after its creation.
 */
function verifyShare(shown: JsonValue | undefined, signed: JsonValue | undefined): void {
  const texts = (Array.isArray(shown) ? shown : []).map(canonicalize)
  const missing = ((signed ?? []) as JsonObject[]).find((one) => !texts.includes(canonicalize(one)))
  if (missing) throw contradiction(`it is shared with ${missing['peer']}, but does not show that`)
}

type ShownStep = {
  readonly member: string
  /** Kind of the document that the step's last subject digests. Only a reason may be absent. */
  readonly document: 'evidence' | 'values' | 'reason'
  readonly claims: (predicate: Predicate) => Readonly<Record<string, JsonValue | undefined>>
}

/** Maps a kind of step to the member of the record that shows the step, and to the values to compare. */
const SHOWN_STEPS: { readonly [Kind in EntryKind]?: ShownStep } = {
  'completion-submitted': {
    member: 'completion',
    document: 'evidence',
    claims: ({ completion }) => ({ id: completion }),
  },
  'completion-verified': {
    member: 'verification',
    document: 'values',
    claims: ({ outcome, rules }) => ({ outcome, rules }),
  },
  'verdict-rendered': {
    member: 'verdict',
    document: 'reason',
    claims: ({ verdict, signal }) => ({ verdict, signal }),
  },
  'verdict-overturned': { member: 'overturn', document: 'reason', claims: ({ signal }) => ({ signal }) },
  'revision-requested': { member: 'revision', document: 'reason', claims: () => ({}) },
  'record-cancelled': { member: 'cancellation', document: 'reason', claims: () => ({}) },
}

function verifyStep(gated: JsonObject, { statement, seq }: ProvedEntry, sha256: Sha256): void {
  const { kind, predicate, recordedAt } = statement
  if (kind === 'record-activated') verifyMember('performer', gated['performer'], partyOf(statement))
  const step = SHOWN_STEPS[kind]
  if (!step) return
  const shown = gated[step.member] ?? null
  if (!isObject(shown) || shown['seq'] !== seq)
    throw contradiction(`it does not show the ${step.member} of entry ${seq}`)
  const claims = { ...step.claims(predicate), by: partyOf(statement), recordedAt }
  for (const [name, value] of Object.entries(claims))
    verifyMember(`${step.member}.${name}`, shown[name], value)
  verifyDocument(shown, step.document, statement, sha256)
}

function verifyDocument(
  shown: JsonObject,
  document: ShownStep['document'],
  { subjects }: ParsedStatement,
  sha256: Sha256,
): void {
  const last = subjects.at(-1)!
  const signed = document !== 'reason' || last.name.endsWith('/reason') ? last.sha256 : undefined
  verifyMember('digest', shown['digest'], signed)
  if (signed === undefined) verifyMember(document, shown[document], undefined)
  else verifyShownDigest(sha256, parseShownSalt(shown, document), document, shown[document]!, signed)
}

/**
 * Verifies that a shown value equals the signed value. If the statement lacks the member, the shown value must be null.
 */
function verifyMember(name: string, shown: JsonValue | undefined, signed: JsonValue | undefined): void {
  const [shownText, signedText] = [shown, signed].map((value) => canonicalize(value ?? null))
  if (shownText !== signedText) throw contradiction(`${name} is ${shownText}, but ${signedText} was signed`)
}

function contradiction(detail: string): ProofError {
  return new ProofError('record_contradicts_proof', detail)
}
