import type { VerifiedBundleEntry } from '../../src/proof/bundle/bundle-entry.ts'
import { toHex } from '../../src/proof/bytes.ts'
import type { JsonObject, JsonValue } from '../../src/proof/json/json-value.ts'
import { isObject } from '../../src/proof/statement/fields.ts'
import { STATEMENT } from '../../src/proof/statement/kinds.ts'

/** Facts about an entry, or about a record of a batch. A text is empty if there is no value. */
export type ReportRow = {
  readonly seq: number
  readonly recordedAt: string
  readonly kind: string
  readonly record: string
  readonly type: string
  readonly agent: string
  readonly onBehalfOf: string
  /** The verdict, the outcome or the new state of a step, or the status in an agent's record. */
  readonly outcome: string
  readonly denied: boolean
  /** Signer of the entry. Empty for a registered statement, whose signers the verifier's last line names. */
  readonly signedBy: 'server' | 'agent' | ''
  readonly leaf: string
}

/**
 * Yields the rows of a verified entry of a bundle. Every fact comes from a verified line. Entries outside the bundle's
 * range get rows too, and so do entries that a selection contains only because of their keys. `types`: types of the
 * gated records so far, because entries of later steps do not contain the type.
 */
export function* rowsOf(entry: VerifiedBundleEntry, types: Map<string, string>): Generator<ReportRow> {
  const { seq, kind, leaf } = entry
  if (entry.kind === STATEMENT) {
    const recordedAt = new Date(entry.atMs).toISOString()
    const nothing = { record: '', type: '', agent: '', onBehalfOf: '', outcome: '', denied: false }
    yield { seq, recordedAt, kind, leaf: toHex(leaf), signedBy: '', ...nothing }
    return
  }
  const { statement, items, documents, signedBy } = entry
  const { predicate, actor, recordedAt } = statement
  const always = { seq, recordedAt, kind, leaf: toHex(leaf), agent: actor, signedBy }
  if (items !== null) {
    for (const [i, { record, type, onBehalfOf = '' }] of items.entries())
      yield { ...always, record, type, onBehalfOf, ...outcomeOf({}, documents[i]!.document) }
    return
  }
  const record = textOf(predicate['record'])
  const type = textOf(predicate['type']) || (types.get(record) ?? '')
  if (kind === 'record-created') types.set(record, type)
  const document = kind === 'record-notarized' ? documents[0]!.document : null
  const onBehalfOf = statement.onBehalfOf ?? ''
  yield { ...always, record, type, onBehalfOf, ...outcomeOf(predicate, document) }
}

/**
 * Returns the outcome. For a step: its verdict, outcome or state. For an agent's own record: its status or decision
 * (docs/guides/types.md).
 */
function outcomeOf(predicate: JsonObject, document: JsonValue): Pick<ReportRow, 'outcome' | 'denied'> {
  const shown = isObject(document) ? document : {}
  const signed = textOf(predicate['verdict']) || textOf(predicate['outcome']) || textOf(predicate['to'])
  const said = signed || textOf(shown['status']) || textOf(shown['decision'])
  const outcome = said === '' || OUTCOME.test(said) ? said : OTHER_OUTCOME
  return { outcome, denied: DENIALS.has(outcome) }
}

/** Matches plain words, without characters that a spreadsheet would treat as a formula or a separator. */
const OUTCOME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/
/** Outcome shown instead of an outcome that is not a plain word, and instead of outcomes above REPORT_OUTCOMES_MAX. */
export const OTHER_OUTCOME = 'other'
const DENIALS: ReadonlySet<string> = new Set(['reject', 'denied', 'deny'])

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
