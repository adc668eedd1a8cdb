import type { IdPrefix } from '../ids.ts'

/**
 * The kinds of entries (docs/formats/statements.md), with the subject of each, and the state to which it moves a
 * record.
 */

/**
 * Name of a subject: an id; `type`, a record type `name/version`; a document beside the chain that has no id: the values that
 * rules compared, `<cmp_…>/values`, and a reason in free text, `<rec_…>/reason`; `erased`, any of them that was erased; or
 * `entry`, another ledger's, `<led_…>/<seq>`. Only the last subject may be optional.
 */
export type SubjectRule =
  | Exclude<IdPrefix, 'whk' | 'evt'>
  | 'type'
  | 'values'
  | 'reason?'
  | 'erased'
  | 'entry'
  | 'cmp?'

type KindRule = {
  readonly subjects: readonly [SubjectRule, ...SubjectRule[]]
  /** Whether it makes or moves a record: its predicate then has `record` and `version`. SQL: `entry_kinds.record_event`. */
  readonly movesRecord: boolean
}

const ABOUT_RECORD = { subjects: ['rec'], movesRecord: true } as const
const ABOUT_RECORD_WITH_REASON = { subjects: ['rec', 'reason?'], movesRecord: true } as const
const VERDICT = { subjects: ['rec', 'cmp', 'reason?'], movesRecord: true } as const
const ABOUT_PEER = { subjects: ['peer'], movesRecord: false } as const
const ABOUT_ENTRY = { subjects: ['entry'], movesRecord: false } as const

const KINDS = {
  'ledger-created': { subjects: ['led'], movesRecord: false },
  'server-key-rotated': { subjects: ['led'], movesRecord: false },
  'agent-registered': { subjects: ['agt'], movesRecord: false },
  'agent-disabled': { subjects: ['agt'], movesRecord: false },
  'agent-key-registered': { subjects: ['agt'], movesRecord: false },
  'agent-key-revoked': { subjects: ['agt'], movesRecord: false },
  'key-created': { subjects: ['key'], movesRecord: false },
  'key-revoked': { subjects: ['key'], movesRecord: false },
  'type-registered': { subjects: ['type'], movesRecord: false },
  'record-notarized': ABOUT_RECORD,
  'batch-notarized': { subjects: ['bat'], movesRecord: false },
  'record-created': ABOUT_RECORD,
  'record-activated': ABOUT_RECORD,
  'completion-submitted': { subjects: ['rec', 'cmp'], movesRecord: true },
  'completion-verified': { subjects: ['rec', 'cmp', 'values'], movesRecord: true },
  'verdict-rendered': VERDICT,
  'verdict-overturned': VERDICT,
  'revision-requested': ABOUT_RECORD_WITH_REASON,
  'record-cancelled': ABOUT_RECORD_WITH_REASON,
  'record-expired': ABOUT_RECORD,
  'payload-erased': { subjects: ['erased'], movesRecord: false },
  'ledger-restored': { subjects: ['led'], movesRecord: false },
  'peer-added': ABOUT_PEER,
  'peer-suspended': ABOUT_PEER,
  'peer-resumed': ABOUT_PEER,
  'peer-revoked': ABOUT_PEER,
  'peer-key-rotated': ABOUT_PEER,
  'record-shared': { subjects: ['rec'], movesRecord: false },
  'entry-received': ABOUT_ENTRY,
  'step-offered': { subjects: ['rec', 'cmp?'], movesRecord: false },
  'offer-refused': ABOUT_ENTRY,
  'registration-policy-set': { subjects: ['led'], movesRecord: false },
  'statement-registered': { subjects: ['stm'], movesRecord: false },
  'retention-set': { subjects: ['led'], movesRecord: false },
  'hold-set': { subjects: ['led'], movesRecord: false },
  'hold-lifted': { subjects: ['led'], movesRecord: false },
  'subject-erased': { subjects: ['led'], movesRecord: false },
  'export-made': { subjects: ['led'], movesRecord: false },
} as const satisfies Record<string, KindRule>

export type EntryKind = keyof typeof KINDS

/**
 * Kind of an entry whose envelope is a Signed Statement of somebody else (src/proof/scitt): no statement of the ledger has it. The
 * `statement-registered` right behind it speaks for it.
 */
export const STATEMENT = 'statement'

export const ENTRY_KINDS: Readonly<Record<EntryKind, KindRule>> = KINDS

const PREDICATE_TYPE_START = 'https://tallystick.dev/predicates/'
const PREDICATE_TYPE_END = '/v1'

export function predicateTypeOf(kind: EntryKind): string {
  return PREDICATE_TYPE_START + kind + PREDICATE_TYPE_END
}

const KIND_OF_PREDICATE_TYPE: ReadonlyMap<string, EntryKind> = new Map(
  Object.keys(KINDS).map((kind) => [predicateTypeOf(kind as EntryKind), kind as EntryKind]),
)

/** null for a predicate type that is not known here. */
export function findKind(predicateType: string): EntryKind | null {
  return KIND_OF_PREDICATE_TYPE.get(predicateType) ?? null
}

export const RECORD_STATES = [
  'RECORDED',
  'CREATED',
  'ACTIVE',
  'SUBMITTED',
  'VERIFIED',
  'DISCREPANT',
  'ACCEPTED',
  'REJECTED',
  'CANCELLED',
  'EXPIRED',
] as const
export type RecordState = (typeof RECORD_STATES)[number]

/** One way that a record's state may go. `outcome`: the statement's `outcome` or `verdict`, where that decides. */
type Transition = {
  readonly from: RecordState | null
  readonly kind: EntryKind
  readonly outcome?: 'pass' | 'fail' | 'accept' | 'reject'
  readonly to: RecordState
}

/** The lifecycle, whole: a step that is not here is refused. From null: the record's first event. */
export const LIFECYCLE: readonly Transition[] = [
  { from: null, kind: 'record-notarized', to: 'RECORDED' },
  { from: null, kind: 'record-created', to: 'CREATED' },
  { from: 'CREATED', kind: 'record-activated', to: 'ACTIVE' },
  { from: 'ACTIVE', kind: 'completion-submitted', to: 'SUBMITTED' },
  { from: 'SUBMITTED', kind: 'completion-verified', outcome: 'pass', to: 'VERIFIED' },
  { from: 'SUBMITTED', kind: 'completion-verified', outcome: 'fail', to: 'DISCREPANT' },
  { from: 'VERIFIED', kind: 'verdict-rendered', outcome: 'accept', to: 'ACCEPTED' },
  { from: 'DISCREPANT', kind: 'verdict-rendered', outcome: 'accept', to: 'ACCEPTED' },
  { from: 'VERIFIED', kind: 'verdict-rendered', outcome: 'reject', to: 'REJECTED' },
  { from: 'DISCREPANT', kind: 'verdict-rendered', outcome: 'reject', to: 'REJECTED' },
  { from: 'VERIFIED', kind: 'revision-requested', to: 'ACTIVE' },
  { from: 'DISCREPANT', kind: 'revision-requested', to: 'ACTIVE' },
  { from: 'CREATED', kind: 'record-cancelled', to: 'CANCELLED' },
  { from: 'ACTIVE', kind: 'record-cancelled', to: 'CANCELLED' },
  { from: 'CREATED', kind: 'record-expired', to: 'EXPIRED' },
  { from: 'ACTIVE', kind: 'record-expired', to: 'EXPIRED' },
  { from: 'REJECTED', kind: 'verdict-overturned', to: 'ACCEPTED' },
]

/** States in which a gated record has not ended. A rejection is an end, which an overturning moves to another one. */
export const OPEN_STATES: readonly string[] = RECORD_STATES.filter((state) =>
  LIFECYCLE.some(({ from, kind }) => from === state && kind !== 'verdict-overturned'),
)

/** Where an event moves a record; null where the lifecycle does not allow it. */
export function nextState(from: string | null, kind: EntryKind, outcome?: string): RecordState | null {
  const found = LIFECYCLE.find((way) => way.from === from && way.kind === kind && way.outcome === outcome)
  return found?.to ?? null
}

/**
 * Parties of steps: the principal, the performer (if none is named, the agent that activates becomes it), anybody but the
 * performer, or the worker. A verdict of an `auto` gate is the worker's.
 */
export const STEP_PARTIES = {
  'record-activated': 'performer',
  'completion-submitted': 'performer',
  'completion-verified': 'worker',
  'verdict-rendered': 'principal',
  'verdict-overturned': 'other than the performer',
  'revision-requested': 'principal',
  'record-cancelled': 'principal',
  'record-expired': 'worker',
} as const satisfies Partial<Record<EntryKind, string>>

/** The steps that a remote performer may offer. */
export const OFFERED_STEPS = ['record-activated', 'completion-submitted'] as const
export type OfferedStep = (typeof OFFERED_STEPS)[number]

/**
 * Kinds of another ledger's entries that an `entry-received` receives. An offer is received by the step that takes it or by its
 * refusal, a rotation by `peer-key-rotated`; no other kind is shared.
 */
export const RECEIVED_KINDS: ReadonlySet<EntryKind> = new Set([
  ...(Object.keys(STEP_PARTIES) as StepKind[]),
  'record-created',
  'record-shared',
  'payload-erased',
  'offer-refused',
  'peer-added',
  'peer-revoked',
])

/**
 * Kinds of entries that an agent may sign with a key of its own (docs/formats/statements.md). Kinds that share a
 * record are not among them: a peer knows the keys of servers alone.
 */
export const SIGNED_BY_AGENTS: ReadonlySet<string> = new Set([
  'record-notarized',
  'batch-notarized',
  'record-created',
  'record-activated',
  'completion-submitted',
  'verdict-rendered',
  'verdict-overturned',
  'revision-requested',
  'record-cancelled',
])

export type StepKind = keyof typeof STEP_PARTIES
export type StepParty = (typeof STEP_PARTIES)[StepKind]

/** `sha256`: lower-case hex. */
export type Subject = { readonly name: string; readonly sha256: string }
