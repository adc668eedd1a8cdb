import type { StepRow } from '../../db/records/read-steps.ts'
import { ProofError } from '../../proof/error.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import type { OfferedStep, StepKind } from '../../proof/statement/kinds.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { toBase64Url, toHex } from '../../signing/text-of-bytes.ts'
import { quotePlain } from './render.ts'

/** One step of a gated record, from its signed statement and the document beside it. */
export type Step = {
  readonly kind: StepKind
  readonly version: number
  readonly seq: number
  readonly recordedAt: string
  /** Predicate of the statement. */
  readonly predicate: JsonObject
  readonly document: StepDocument | null
}

type StepDocument = {
  readonly digest: Uint8Array
  /** Null once erased, by the entry at `erasedBy`. `content`: canonical JSON. */
  readonly salt: Uint8Array | null
  readonly content: string | null
  readonly erasedBy: number | null
}

/** The newest step of each kind, by kind. */
export type Steps = { readonly [Kind in StepKind]?: Step }

/**
 * One whose envelope holds no statement of its kind is left out: nobody signed that, verify names it, and lists must not fail
 * because somebody with the API's login wrote it.
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

/** A step that an agent of ours offered to another ledger's record, and what became of it. */
export type OfferView = {
  readonly state: 'pending' | 'taken' | 'refused'
  readonly step: OfferedStep
  /** Version that the step would have. */
  readonly version: number
  /** null of another step. */
  readonly completion: string | null
  readonly by: string
  readonly recordedAt: string
  /** Seq of the entry that offers it. */
  readonly seq: number
  /** Why it was refused; null otherwise. */
  readonly code: string | null
  /** The entry that received what the home said to it. */
  readonly decidedBy: number | null
}

/** The terms of a gated record, and who has taken them on; ids as TypeIDs. */
export type Terms = {
  readonly principal: string
  readonly performer: string | null
  readonly gate: 'principal' | 'auto'
  readonly deadline: string | null
  readonly maxRevisions: number
  readonly revisions: number
  /** Canonical JSON. */
  readonly tolerances: string | null
  /** Sorted by peer; null: with nobody. */
  readonly share: readonly { readonly peer: string; readonly documents: 'whole' | 'digests' }[] | null
  /** The newest; null of a record of this ledger. */
  readonly offer: OfferView | null
}

/** The member `gated` of a record: JSON. A step that was taken again after a revision is shown as it was taken last. */
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
