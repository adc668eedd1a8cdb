import type { StepRow } from '../../db/records/read-steps.ts'
import { ProofError } from '../../proof/error.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import type { OfferedStep, StepKind } from '../../proof/statement/kinds.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { toBase64Url, toHex } from '../../signing/text-of-bytes.ts'
import { quotePlain } from './render.ts'

/** One step of a gated record, read from its signed statement and the document beside the statement. */
export type Step = {
  readonly kind: StepKind
  readonly version: number
  readonly seq: number
  readonly recordedAt: string
  readonly predicate: JsonObject
  readonly document: StepDocument | null
}

type StepDocument = {
  readonly digest: Uint8Array
  /**
   * Salt of the document. Salt and content are null if the entry at `erasedBy` erased the document. `content`:
   * canonical JSON.
   */
  readonly salt: Uint8Array | null
  readonly content: string | null
  readonly erasedBy: number | null
}

/** The newest step of each kind. */
export type Steps = { readonly [Kind in StepKind]?: Step }

/**
 * Reads steps from their envelopes. A step is left out if its envelope has no statement of its kind. Nobody signed such
 * a step, and `verify` reports it. An attacker with the API's database login can write such steps, and lists must not
 * fail because of them.
 */
export function readSteps(keys: EnvelopeKeys, rows: readonly StepRow[]): Steps {
  return Object.fromEntries(
    rows.flatMap((row) => {
      const predicate = findPredicate(keys, row)
      return predicate ? [[row.kind, readStep(row, predicate)]] : []
    }),
  )
}

function findPredicate({ known }: EnvelopeKeys, row: StepRow): JsonObject | null {
  try {
    const { kind, predicate } = known.read(row.envelope)
    return kind === row.kind ? predicate : null
  } catch (error) {
    if (error instanceof ProofError) return null
    throw error
  }
}

function readStep(row: StepRow, predicate: JsonObject): Step {
  return {
    kind: row.kind as StepKind,
    version: row.version,
    seq: row.seq,
    recordedAt: row.recordedAt.toISOString(),
    predicate,
    document: row.digest && {
      digest: row.digest,
      salt: row.salt,
      content: row.content?.toString('utf8') ?? null,
      erasedBy: row.erasedSeq,
    },
  }
}

/** A step that an agent of this ledger offered to another ledger's record, and its outcome. */
export type OfferView = {
  readonly state: 'pending' | 'taken' | 'refused'
  readonly step: OfferedStep
  /** Version that the record would have after the step. */
  readonly version: number
  /** Id of the offered completion; null for steps without a completion. */
  readonly completion: string | null
  readonly by: string
  readonly recordedAt: string
  readonly seq: number
  /** Reason of a refusal; null if the offer was not refused. */
  readonly code: string | null
  /** Seq of the entry that received the home's decision. */
  readonly decidedBy: number | null
}

/** Terms of a gated record, its performer, and its offer. Ids are TypeIDs. */
export type Terms = {
  readonly principal: string
  readonly performer: string | null
  readonly gate: 'principal' | 'auto'
  readonly deadline: string | null
  readonly maxRevisions: number
  readonly revisions: number
  /** Tolerances in canonical JSON; null if the terms have none. */
  readonly tolerances: string | null
  /** Peers with which the record is shared, sorted by peer; null if the record is not shared. */
  readonly share: readonly { readonly peer: string; readonly documents: 'whole' | 'digests' }[] | null
  /** The newest offer for a record of another ledger; null for a record of this ledger. */
  readonly offer: OfferView | null
}

/**
 * Renders the member `gated` of a record as JSON. If a step was repeated after a revision, the newest step of that kind
 * is shown.
 */
export function renderGated(terms: Terms, steps: Steps): string {
  const completion = steps['completion-submitted']
  const verification = newerThan(completion, steps['completion-verified'])
  return (
    `{"principal":"${terms.principal}","performer":${quotePlain(terms.performer)},"gate":"${terms.gate}",` +
    `"deadline":${quotePlain(terms.deadline)},"maxRevisions":${terms.maxRevisions},"revisions":${terms.revisions},` +
    `"tolerances":${terms.tolerances ?? 'null'},` +
    `"completion":${renderStep(completion, 'evidence', ({ completion: id }) => ({ id }))},` +
    `"verification":${renderStep(verification, 'values', ({ outcome, rules }) => ({ outcome, rules }))},` +
    `"verdict":${renderStep(steps['verdict-rendered'], 'reason', ({ verdict, signal }) => ({ verdict, signal }))},` +
    `"overturn":${renderStep(steps['verdict-overturned'], 'reason', ({ signal }) => ({ signal }))},` +
    `"revision":${renderStep(steps['revision-requested'], 'reason', () => ({}))},` +
    `"cancellation":${renderStep(steps['record-cancelled'], 'reason', () => ({}))},` +
    `"share":${terms.share === null ? 'null' : JSON.stringify(terms.share)},` +
    `"offer":${terms.offer === null ? 'null' : JSON.stringify(terms.offer)}}`
  )
}

function newerThan(completion: Step | undefined, verification: Step | undefined): Step | undefined {
  return completion && verification && verification.version > completion.version ? verification : undefined
}

function renderStep(
  step: Step | undefined,
  document: 'evidence' | 'values' | 'reason',
  said: (predicate: JsonObject) => object,
): string {
  if (!step) return 'null'
  const { predicate, recordedAt, seq } = step
  const by = predicate['onBehalfOf'] ?? predicate['actor']
  const members = JSON.stringify({ ...said(predicate), by, recordedAt, seq }).slice(0, -1)
  const { content = null, salt = null, digest = null, erasedBy = null } = step.document ?? {}
  return (
    `${members},"${document}":${content ?? 'null'},"salt":${quotePlain(salt && toBase64Url(salt))},` +
    `"digest":${quotePlain(digest && toHex(digest))},"erasedBy":${erasedBy ?? 'null'}}`
  )
}
