import { openExport } from '../../sdk/verify/export-source.ts'
import { fromBase64, utf8Decode } from '../../src/proof/bytes.ts'
import { readUsualEnvelope } from '../../src/proof/envelope/usual-envelope.ts'
import { openPieces } from '../open-pieces.ts'

/** Facts that a report shows about an entry, or about a record of a batch; empty where it has none. */
export type ReportRow = {
  readonly seq: number
  readonly recordedAt: string
  readonly kind: string
  readonly record: string
  readonly type: string
  readonly agent: string
  readonly onBehalfOf: string
  /** State after it, a verdict, an outcome, or the status that an agent's record says. */
  readonly outcome: string
  readonly denied: boolean
  readonly signedBy: 'server' | 'agent'
  readonly leaf: string
}

type Item = { readonly record: string; readonly type: string; readonly onBehalfOf?: string }
type Line = {
  readonly seq: number
  readonly kind: string
  readonly recordedAt: string
  readonly leaf: string
  readonly envelope: string
  readonly documents: readonly {
    readonly subject: string
    readonly document: Record<string, unknown> | null
  }[]
  readonly items: readonly (Item | { readonly item: Item })[] | null
  readonly signer?: unknown
}

type Predicate = Readonly<Record<string, unknown>>

/**
 * Rows of a bundle that was verified before, in the order of the chain. Entries that stand beside a range, or say nothing of a selection but its
 * keys, are among them. Types of gated records are remembered, so that their steps have them.
 */
export async function* rowsOf(path: string): AsyncGenerator<ReportRow, void, undefined> {
  const types = new Map<string, string>()
  let isHead = true
  for await (const { lines, isLast } of openExport(openPieces(path)).blocks()) {
    if (isLast) return
    for (const text of utf8Decode(lines).trimEnd().split('\n')) {
      if (isHead) isHead = false
      else yield* rowsOfLine(JSON.parse(text) as Line, types)
    }
  }
}

function* rowsOfLine(line: Line, types: Map<string, string>): Generator<ReportRow> {
  const { seq, kind, recordedAt, leaf, items, documents } = line
  const predicate = kind === 'statement' ? {} : predicateOf(line.envelope)
  const always = {
    ...{ seq, recordedAt, kind, leaf },
    agent: textOf(predicate['actor']),
    signedBy: line.signer === undefined ? ('server' as const) : ('agent' as const),
  }
  if (kind === 'batch-notarized' && items !== null) {
    const contents = new Map(documents.map(({ subject, document }) => [subject, document]))
    for (const one of items) {
      const { record, type, onBehalfOf = '' } = 'item' in one ? one.item : one
      yield { ...always, record, type, onBehalfOf, ...outcomeOf({}, contents.get(record) ?? null) }
    }
    return
  }
  const record = textOf(predicate['record'])
  const type = textOf(predicate['type']) || (types.get(record) ?? '')
  if (kind === 'record-created') types.set(record, type)
  const document = kind === 'record-notarized' ? (documents[0]?.document ?? null) : null
  const onBehalfOf = textOf(predicate['onBehalfOf'])
  yield { ...always, record, type, onBehalfOf, ...outcomeOf(predicate, document) }
}

/** An agent's own record of an action says its status or a decision (docs/types.md); a step its verdict, outcome or state. */
function outcomeOf(
  predicate: Predicate,
  document: Record<string, unknown> | null,
): Pick<ReportRow, 'outcome' | 'denied'> {
  const signed = textOf(predicate['verdict']) || textOf(predicate['outcome']) || textOf(predicate['to'])
  const said = signed || textOf(document?.['status']) || textOf(document?.['decision'])
  const outcome = said === '' || OUTCOME.test(said) ? said : OTHER_OUTCOME
  return { outcome, denied: DENIALS.has(outcome) }
}

/** Plain words: nothing that a spreadsheet would take for a formula, or a separator. */
const OUTCOME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/
/** Stands for outcomes that are no plain words, or too many. */
export const OTHER_OUTCOME = 'other'
const DENIALS: ReadonlySet<string> = new Set(['reject', 'denied', 'deny'])

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The file was verified, so the envelope is one. */
function predicateOf(envelope: string): Predicate {
  const read = readUsualEnvelope(fromBase64(envelope))!
  return (JSON.parse(utf8Decode(read.payload)) as { predicate: Predicate }).predicate
}
