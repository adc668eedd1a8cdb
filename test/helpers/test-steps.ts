import { randomBytes } from 'node:crypto'
import type { DocumentName, DocumentRow, GatedRow } from '../../src/db/chain/append-entries.ts'
import { type Uuid, uuidOfBytes } from '../../src/proof/ids.ts'
import { STEP_PARTIES, type StepKind } from '../../src/proof/statement/kinds.ts'
import { makeEntry, randomId, type TestEntry, type TestLedger } from './test-ledger.ts'

/* Gated records for tests of the database. Their principal is always the ledger's first agent. */

export const TEST_PERFORMER = uuidOfBytes(Buffer.alloc(16, 0xbb))
export const TEST_STRANGER = uuidOfBytes(Buffer.alloc(16, 0xcc))

export const STEP_KINDS = Object.keys(STEP_PARTIES) as StepKind[]

/** Maps each step to the state to which it leads. If a step can lead to two states, the first of them is used. */
const FIRST_ENDS: Record<StepKind, string> = {
  'record-activated': 'ACTIVE',
  'completion-submitted': 'SUBMITTED',
  'completion-verified': 'VERIFIED',
  'verdict-rendered': 'ACCEPTED',
  'verdict-overturned': 'ACCEPTED',
  'revision-requested': 'ACTIVE',
  'record-cancelled': 'CANCELLED',
  'record-expired': 'EXPIRED',
}
const PERFORMERS_STEPS: readonly string[] = ['record-activated', 'completion-submitted']
const WORKERS_STEPS: readonly string[] = ['completion-verified', 'record-expired']

export function makeCreation(
  ledger: TestLedger,
  terms: Partial<GatedRow> = {},
  changes: Partial<TestEntry> = {},
): TestEntry {
  return makeEntry(ledger, {
    kind: 'record-created',
    toState: 'CREATED',
    partyId: ledger.agentId,
    gated: {
      performerId: TEST_PERFORMER,
      gate: 'principal',
      deadlineMs: null,
      maxRevisions: 1,
      tolerances: null,
      ...terms,
    },
    ...changes,
  })
}

/** The record's last entry, or the parts of it that the next step names. */
export type LastEntry = Pick<TestEntry, 'subjectId' | 'version' | 'leaf'>

export function makeStep(
  ledger: TestLedger,
  last: LastEntry,
  kind: StepKind,
  changes: Partial<TestEntry> = {},
): TestEntry {
  const step = {
    kind,
    subjectId: last.subjectId,
    version: last.version! + 1,
    toState: FIRST_ENDS[kind],
    previousLeaf: last.leaf,
    records: [],
    document: makeStepDocument(kind),
  }
  return makeEntry(ledger, { ...step, ...partyOf(ledger, kind), ...changes })
}

export function makeAutoVerdict(
  ledger: TestLedger,
  last: LastEntry,
  changes: Partial<TestEntry> = {},
): TestEntry {
  return makeStep(ledger, last, 'verdict-rendered', { ...bySystem, ...changes })
}

/** Returns the columns of an entry whose agent acts for itself. */
export const by = (agentId: Uuid) => ({ actorId: agentId, partyId: agentId })
const bySystem = { actorId: null, partyId: undefined, keyId: null }

function partyOf(ledger: TestLedger, kind: StepKind) {
  if (WORKERS_STEPS.includes(kind)) return bySystem
  return by(PERFORMERS_STEPS.includes(kind) ? TEST_PERFORMER : ledger.agentId)
}

function makeStepDocument(kind: StepKind): DocumentRow | undefined {
  if (kind === 'completion-submitted') return makeDocument('evidence', randomId())
  if (kind === 'completion-verified') return makeDocument('values', randomId())
  return undefined
}

export function makeDocument(name: DocumentName, subjectId: Uuid): DocumentRow {
  return { name, subjectId, digest: randomBytes(32), salt: randomBytes(16), content: '{"test":true}' }
}

const WAYS: Record<string, readonly StepKind[]> = {
  CREATED: [],
  ACTIVE: ['record-activated'],
  SUBMITTED: ['record-activated', 'completion-submitted'],
  VERIFIED: ['record-activated', 'completion-submitted', 'completion-verified'],
  DISCREPANT: ['record-activated', 'completion-submitted', 'completion-verified'],
  ACCEPTED: ['record-activated', 'completion-submitted', 'completion-verified', 'verdict-rendered'],
  REJECTED: ['record-activated', 'completion-submitted', 'completion-verified', 'verdict-rendered'],
  CANCELLED: ['record-cancelled'],
  EXPIRED: ['record-expired'],
}

/** Returns the entries that lead a new record to a state, in order. The system's entries need the worker's login. */
export function makeWay(ledger: TestLedger, state: string, terms: Partial<GatedRow> = {}): TestEntry[] {
  const way = [makeCreation(ledger, terms)]
  const kinds = WAYS[state]!
  for (const [i, kind] of kinds.entries()) {
    const last = way.at(-1)!
    const auto = kind === 'verdict-rendered' && terms.gate === 'auto'
    const step = auto ? makeAutoVerdict(ledger, last) : makeStep(ledger, last, kind)
    way.push(i === kinds.length - 1 ? { ...step, toState: state } : step)
  }
  return way
}
