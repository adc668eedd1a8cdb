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
import { MACHINES, type StateOf, type StateTransition } from './machines.ts'
import { extend } from './predicates.ts'

/*
 * The table of kinds (docs/formats/statements.md): one row for each kind of entry, from kinds/. `npm run docs` prints
 * it to docs/reference/kinds.json. The database's copy is generated from that file, and the second verifier is tested
 * against it. Lists that users see have the same order.
 */

/** Rows as written, without derived columns. */
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

/** Exact types, which show the columns of each row. */
export type KindRows = typeof KINDS

/** Row of a kind with derived columns. */
export type EntryKindRule = KindRule & {
  /** Whether it makes or moves one record: its predicate then has `record` and `version`. */
  readonly movesRecord: boolean
}

const NAMES = Object.keys(KINDS) as EntryKind[]
const isReceived = receivedOfKinds(NAMES)
const isOffering = eitherOf(isActor, isRemoteAgent)
const RECEIVING: ReadonlySet<string | undefined> = new Set(
  Object.values<KindRule>(KINDS).map(({ receivedBy }) => receivedBy),
)

/**
 * Returns the predicate's members, with those that other columns imply. These are the received entry, and the offer
 * that the step takes.
 */
function fieldsOf(kind: string, { fields, offered }: KindRule): Fields {
  const all = RECEIVING.has(kind) ? extend(fields, { received: isReceived }) : fields
  return offered ? extend(all, { actor: isOffering }, { offer: isTakenOffer }) : all
}

/** Adds the derived columns to a row. */
export function rowOf(kind: string, rule: KindRule): EntryKindRule {
  const movesRecord = rule.records === 'makes' || rule.records === 'moves'
  return { ...rule, fields: fieldsOf(kind, rule), movesRecord }
}

export const ENTRY_KINDS = Object.fromEntries(
  NAMES.map((kind) => [kind, rowOf(kind, KINDS[kind])]),
) as Readonly<Record<EntryKind, EntryKindRule>>

/**
 * Kind of an entry whose envelope is another issuer's Signed Statement (src/proof/scitt). It has no row, because no
 * statement of the ledger has this kind. The `statement-registered` right behind it answers for it.
 */
export const STATEMENT = 'statement'

/** Returns whether agents may sign entries of the kind with their own keys (docs/formats/statements.md). */
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

/** Returns null for an unknown predicate type. */
export function findKind(predicateType: string): EntryKind | null {
  return KIND_OF_PREDICATE_TYPE.get(predicateType) ?? null
}

export type RecordState = StateOf<'record'>
export const RECORD_STATES: readonly RecordState[] = MACHINES.record.states

type Transition = StateTransition & {
  readonly from: RecordState | null
  readonly kind: EntryKind
  readonly to: RecordState
}

/** All transitions of a record. `from` null: its first event. */
export const LIFECYCLE: readonly Transition[] = MACHINES.record.ways

/**
 * States of a gated record that has not ended. REJECTED is not among them, although an overturning moves it to
 * ACCEPTED.
 */
export const OPEN_STATES: readonly string[] = RECORD_STATES.filter((state) =>
  LIFECYCLE.some(({ from, kind }) => from === state && kind !== 'verdict-overturned'),
)

/** Kinds whose row has this column. */
type KindsWith<Column extends keyof KindRule> = {
  [Kind in EntryKind]: KindRows[Kind] extends Readonly<Record<Column, unknown>> ? Kind : never
}[EntryKind]

/** Returns the values of a column, by kind, in the order of the table. */
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
 * Party of each step.
 *
 * - `principal`: the principal. A verdict of an `auto` gate is the worker's.
 * - `performer`: the performer. If none is named, the agent that activates the record becomes it.
 * - `other than the performer`: anyone else.
 * - `worker`: the worker.
 */
export const STEP_PARTIES = columnOf('party')
export type StepParty = (typeof STEP_PARTIES)[StepKind]

export { OFFERED_STEPS } from './kinds/gated.ts'
export type OfferedStep = KindsWith<'offered'>

export type { Subject, SubjectRule } from './kinds/rule.ts'
