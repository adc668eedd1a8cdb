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
 * The table of kinds (docs/formats/statements.md). It has one row for each kind of entry, from kinds/. `npm run docs`
 * prints the table to docs/reference/kinds.json. The database's copy is generated from that file, and the second
 * verifier is tested against that file. Lists that users see have the order of the table.
 */

/** Rows of the table as they are written in kinds/, without derived columns. */
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

export type KindRows = typeof KINDS

/** Row of a kind, including derived columns. */
export type EntryKindRule = KindRule & {
  /** True if an entry makes one record or changes it by a step. Its predicate then has `record` and `version`. */
  readonly movesRecord: boolean
}

const NAMES = Object.keys(KINDS) as EntryKind[]
const isReceived = receivedOfKinds(NAMES)
const isOffering = eitherOf(isActor, isRemoteAgent)
const RECEIVING: ReadonlySet<string | undefined> = new Set(
  Object.values<KindRule>(KINDS).map(({ receivedBy }) => receivedBy),
)

/**
 * Returns the members of the predicate: all members in `fields`, and those that other columns of the table of kinds
 * imply. If another kind names this kind in `receivedBy`, the member `received` is added. If the step can be offered,
 * the member `offer` is added.
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
 * Kind of an entry whose envelope is a Signed Statement of another issuer (src/proof/scitt). KINDS has no row for this
 * kind, because its envelope has no in-toto statement of the ledger. The next entry, a `statement-registered`, names
 * who registered the Signed Statement.
 */
export const STATEMENT = 'statement'

/** Returns true if agents may sign entries of this kind with their own keys (docs/formats/statements.md). */
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

/** All transitions of a record. `from` is null for the record's first event. */
export const LIFECYCLE: readonly Transition[] = MACHINES.record.ways

/**
 * States of a gated record that has not ended. REJECTED counts as ended, although an overturned verdict can still
 * change the state to ACCEPTED.
 */
export const OPEN_STATES: readonly string[] = RECORD_STATES.filter((state) =>
  LIFECYCLE.some(({ from, kind }) => from === state && kind !== 'verdict-overturned'),
)

type KindsWith<Column extends keyof KindRule> = {
  [Kind in EntryKind]: KindRows[Kind] extends Readonly<Record<Column, unknown>> ? Kind : never
}[EntryKind]

/** Maps each kind that has the column to the column's value, in the order of the table. */
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
 * Maps each kind of step to the party that takes the step.
 *
 * - `principal`: the principal. If the gate is `auto`, the worker makes the verdict instead.
 * - `performer`: the performer. If the terms name none, the agent that activates the record becomes the performer.
 * - `other than the performer`: any agent except the performer.
 * - `worker`: the worker.
 */
export const STEP_PARTIES = columnOf('party')
export type StepParty = (typeof STEP_PARTIES)[StepKind]

export { OFFERED_STEPS } from './kinds/gated.ts'
export type OfferedStep = KindsWith<'offered'>

export type { Subject, SubjectRule } from './kinds/rule.ts'
