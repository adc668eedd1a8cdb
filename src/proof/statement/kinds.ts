import type { Fields } from './check-schemas.ts'
import { eitherOf, isRemoteAgent, isTakenOffer, receivedOfKinds } from './federation-fields.ts'
import { isActor } from './fields.ts'
import { AGENT_KINDS } from './kinds/agents.ts'
import { ERASURE_KINDS } from './kinds/erasures.ts'
import { EXPORT_KINDS } from './kinds/exports.ts'
import { GATED_KINDS } from './kinds/gated.ts'
import { KEY_KINDS } from './kinds/keys.ts'
import { LEDGER_KINDS } from './kinds/ledger.ts'
import { PEER_KINDS } from './kinds/peers.ts'
import { RECORD_KINDS } from './kinds/records.ts'
import { RESTORE_KINDS } from './kinds/restores.ts'
import { RETENTION_KINDS } from './kinds/retention.ts'
import type { KindRule } from './kinds/rule.ts'
import { STATEMENT_KINDS } from './kinds/statements.ts'
import { TYPE_KINDS } from './kinds/types.ts'
import { MACHINES, type StateOf, type Way } from './machines.ts'
import { extend } from './predicates.ts'

/*
 * The table of kinds (docs/formats/statements.md): a row for each kind of entry, from kinds/. docs/reference/kinds.json is its print
 * (`npm run docs`), from which the database's copy is made and to which the second verifier is held. The order is that of lists that users see.
 */

/** Rows as they are written. */
export const KINDS = {
  ...LEDGER_KINDS,
  ...AGENT_KINDS,
  ...KEY_KINDS,
  ...TYPE_KINDS,
  ...RECORD_KINDS,
  ...GATED_KINDS,
  ...ERASURE_KINDS,
  ...RESTORE_KINDS,
  ...PEER_KINDS,
  ...STATEMENT_KINDS,
  ...RETENTION_KINDS,
  ...EXPORT_KINDS,
} as const satisfies Readonly<Record<string, KindRule>>

export type EntryKind = keyof typeof KINDS

/** Types tell which columns each row has. */
export type KindRows = typeof KINDS

/** Row of a kind, with what only its verifiers need to know, that it makes or moves one record, at hand. */
export type EntryKindRule = KindRule & {
  /** Whether it makes or moves a record: its predicate then has `record` and `version`. */
  readonly movesRecord: boolean
}

const NAMES = Object.keys(KINDS) as EntryKind[]
const isReceived = receivedOfKinds(NAMES)
const isOffering = eitherOf(isActor, isRemoteAgent)
const RECEIVING: ReadonlySet<string | undefined> = new Set(
  Object.values<KindRule>(KINDS).map(({ receivedBy }) => receivedBy),
)

/** Members that follow from other columns: what the entry received, and the offer that it takes. */
function fieldsOf(kind: string, { fields, offered }: KindRule): Fields {
  const all = RECEIVING.has(kind) ? extend(fields, { received: isReceived }) : fields
  return offered ? extend(all, { actor: isOffering }, { offer: isTakenOffer }) : all
}

/** A row with the columns that follow from others. */
export function rowOf(kind: string, rule: KindRule): EntryKindRule {
  const movesRecord = rule.records === 'makes' || rule.records === 'moves'
  return { ...rule, fields: fieldsOf(kind, rule), movesRecord }
}

export const ENTRY_KINDS = Object.fromEntries(
  NAMES.map((kind) => [kind, rowOf(kind, KINDS[kind])]),
) as Readonly<Record<EntryKind, EntryKindRule>>

/**
 * Kind of an entry whose envelope is a Signed Statement of somebody else (src/proof/scitt): no statement of the ledger has it, so it has
 * no row. The entry right behind it speaks for it, a `statement-registered`.
 */
export const STATEMENT = 'statement'

/** Whether agents may sign entries of the kind with a key of their own (docs/formats/statements.md). */
export function isSignedByAgents(kind: EntryKind): boolean {
  return ENTRY_KINDS[kind].agentSigns === true
}

const PREDICATE_TYPE_START = 'https://tallystick.dev/predicates/'
const PREDICATE_TYPE_END = '/v1'

export function predicateTypeOf(kind: EntryKind): string {
  return PREDICATE_TYPE_START + kind + PREDICATE_TYPE_END
}

const KIND_OF_PREDICATE_TYPE: ReadonlyMap<string, EntryKind> = new Map(
  NAMES.map((kind) => [predicateTypeOf(kind), kind]),
)

/** null for a predicate type that is not known here. */
export function findKind(predicateType: string): EntryKind | null {
  return KIND_OF_PREDICATE_TYPE.get(predicateType) ?? null
}

export type RecordState = StateOf<'record'>
export const RECORD_STATES: readonly RecordState[] = MACHINES.record.states

/** One way that a record's state may go. */
type Transition = Way & {
  readonly from: RecordState | null
  readonly kind: EntryKind
  readonly to: RecordState
}

/** The lifecycle, whole. From null: the record's first event. */
export const LIFECYCLE: readonly Transition[] = MACHINES.record.ways

/** States in which a gated record has not ended. A rejection is an end, which an overturning moves to another one. */
export const OPEN_STATES: readonly string[] = RECORD_STATES.filter((state) =>
  LIFECYCLE.some(({ from, kind }) => from === state && kind !== 'verdict-overturned'),
)

/** Kinds with this column, as the types tell. */
type KindsWith<Column extends keyof KindRule> = {
  [Kind in EntryKind]: KindRows[Kind] extends Readonly<Record<Column, unknown>> ? Kind : never
}[EntryKind]

/** Rows that have the column, in the order of the table. */
export function columnOf<Column extends keyof KindRule>(column: Column) {
  const found = NAMES.filter((kind) => ENTRY_KINDS[kind][column] !== undefined)
  return Object.fromEntries(found.map((kind) => [kind, ENTRY_KINDS[kind][column]])) as {
    readonly [Kind in KindsWith<Column>]: KindRows[Kind] extends Readonly<Record<Column, infer Value>>
      ? Value
      : never
  }
}

export type StepKind = KindsWith<'party'>

/**
 * Parties of steps: the principal, the performer (if none is named, the agent that activates becomes it), anybody but the
 * performer, or the worker. A verdict of an `auto` gate is the worker's.
 */
export const STEP_PARTIES = columnOf('party')
export type StepParty = (typeof STEP_PARTIES)[StepKind]

export { OFFERED_STEPS } from './kinds/gated.ts'
export type OfferedStep = KindsWith<'offered'>

export type { Subject, SubjectRule } from './kinds/rule.ts'
