import type pg from 'pg'
import type { AgentSigned } from '../../append/agent-signature.ts'
import { type AppendDeps, appendOne } from '../../append/append-one.ts'
import type { IdempotencyRow } from '../../db/chain/append-entries.ts'
import type { Lookups } from '../../db/records/lookups.ts'
import type { RenderedRow } from '../../db/records/read-records.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { Signer } from '../../proof/crypto.ts'
import type { Uuid } from '../../proof/ids.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import type { RecordState, StepKind, Subject } from '../../proof/statement/kinds.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import { deadlineError, overtakenError, refuseStep } from '../lifecycle.ts'
import { idsOf, renderRow } from '../read/read.ts'
import { sharedUnsigned } from '../write/agent-envelope.ts'
import { findFirstOutcome } from '../write/first-outcome.ts'
import { traceparentOf } from '../write/new-record.ts'
import { type OnBehalfOf, partyOf } from '../write/on-behalf-of.ts'
import { type Current, getForStep } from './current.ts'
import { type NamedDocument, rememberSigned, signEvent } from './sign-step.ts'
import { verifyJudged } from './verify-judged.ts'
import { integrityFault } from './verify-state.ts'

export type StepDeps = AppendDeps & {
  readonly readPool: pg.Pool
  readonly lookups: Lookups
  readonly envelopeKeys: EnvelopeKeys
  readonly now: () => number
}

/** Content of one step, apart from the members that all steps have. */
type Draft = {
  readonly to: RecordState
  /** Subjects that an earlier entry digests, such as the judged completion. */
  readonly subjects?: readonly Subject[]
  readonly document?: NamedDocument | null
  readonly predicate?: object
}

export type StepRequest = {
  readonly kind: StepKind
  readonly recordId: Uuid
  readonly onBehalfOf: OnBehalfOf | null
  /** Versions that the record may have. null if any version is allowed. */
  readonly ifVersions: readonly number[] | null
  readonly occurredAt: string | null
  readonly traceparent: string | null
  readonly idempotency: IdempotencyRow | null
  /** Signature by the agent. null if the server signs. */
  readonly signed: AgentSigned | null
  /**
   * Decides the content of the step. Called again if the record got a newer entry meanwhile. `judged`: statement about
   * the judged completion, or null if the step judges nothing.
   */
  readonly draft: (current: Current, judged: ParsedStatement | null) => Draft
}

/**
 * Result of a step: the record as JSON. For a repeated request, instead the seq of the entry that the first request
 * with the same Idempotency-Key wrote.
 */
export type StepResult =
  | { readonly record: string; readonly version: number }
  | { readonly replayedSeq: number }

/**
 * Takes one step of a gated record. Returns when the step is committed. If another step was appended after `first` was
 * read, this step is decided, built and signed again. If the new state does not allow the step, the error names that
 * state.
 */
export async function takeStep(
  deps: StepDeps,
  caller: Caller,
  request: StepRequest,
  first: Current,
): Promise<StepResult> {
  let current: Current | null = first
  const build = async (signer: Signer) => {
    current ??= await getForStep(deps, caller, request)
    const built = await buildStep(deps, signer, caller, request, current)
    current = null
    return built
  }
  try {
    const written = await appendOne(deps, caller, build)
    if (written.replayed) return { replayedSeq: written.seq }
    const { render, version, entry } = written.built
    rememberSigned(deps.envelopeKeys, entry)
    return { record: render(written.seq, written.chain), version }
  } catch (error) {
    return await explainRefusal(deps, caller, request, error)
  }
}

const REFUSED: ReadonlySet<string> = new Set([
  'not_entitled',
  'version_mismatch',
  'state_conflict',
  'deadline_passed',
])

/**
 * Throws the error that explains, by the current record, why the step was refused. If an earlier try with the same
 * Idempotency-Key took the step, returns its result instead.
 */
async function explainRefusal(
  deps: StepDeps,
  caller: Caller,
  request: StepRequest,
  error: unknown,
): Promise<StepResult> {
  if (!(error instanceof ApiError && REFUSED.has(error.code))) throw error
  const first = await findFirstOutcome(deps, caller, request.idempotency)
  if (first) return first
  const { row } = await getForStep(deps, caller, request)
  refuseStep(row, wantedOf(caller, request))
  if (error.code === 'deadline_passed') throw deadlineError(row)
  // An error that has the member `state` comes from the check before signing. It is thrown unchanged.
  throw error.code === 'state_conflict' && !('state' in error.members) ? overtakenError(row) : error
}

function wantedOf(caller: Caller, { kind, onBehalfOf, ifVersions }: StepRequest) {
  return { kind, partyId: partyOf(caller, onBehalfOf), actorId: caller.agentId, ifVersions }
}

const JUDGED: ReadonlySet<StepKind> = new Set([
  'verdict-rendered',
  'verdict-overturned',
  'revision-requested',
])

/**
 * Verifies the judged completion. If another step was appended while the record was being read, a mismatch is not an
 * integrity fault.
 */
async function verifyUnmoved(
  deps: StepDeps,
  caller: Caller,
  request: StepRequest,
  current: Current,
): Promise<ParsedStatement> {
  try {
    return await verifyJudged(deps, caller, current)
  } catch (error) {
    const { row } = await getForStep(deps, caller, request)
    if (row.version !== current.row.version) throw overtakenError(row)
    return integrityFault(error)
  }
}

/**
 * Throws if a statement that the agent signed names an older version. The statement also names the previous step, so
 * the agent must read the record and decide again.
 */
function refuseUnsignable({ statement }: AgentSigned, { row }: Current): void {
  if (row.share !== null) throw sharedUnsigned('/envelope')
  if (statement.predicate['version'] === row.version + 1) return
  const { state, nextEvents } = overtakenError(row).members
  throw new ApiError('state_conflict', 'the record has changed since the agent signed the step', {
    members: { state, version: row.version, nextEvents },
  })
}

/** Builds a step. Checks the step before signing, so that no refused step is ever signed. */
async function buildStep(
  deps: StepDeps,
  signer: Signer,
  caller: Caller,
  request: StepRequest,
  current: Current,
) {
  const draft = await refuse(deps, caller, request, current)
  return signStep(deps, signer, caller, request, current, draft)
}

/**
 * Returns the content to sign. Throws if the step is not allowed. Verifies the judged completion first, because money
 * moves on a verdict.
 */
async function refuse(
  deps: StepDeps,
  caller: Caller,
  request: StepRequest,
  current: Current,
): Promise<Draft> {
  refuseStep(current.row, wantedOf(caller, request))
  const judged = JUDGED.has(request.kind) ? await verifyUnmoved(deps, caller, request, current) : null
  const draft = request.draft(current, judged)
  if (request.signed) refuseUnsignable(request.signed, current)
  return draft
}

/**
 * Signs the entry of a step. Also returns `render`, which renders the record once its position in the chain is known.
 */
function signStep(
  { now }: Pick<StepDeps, 'now'>,
  signer: Signer,
  caller: Caller,
  request: StepRequest,
  { row, record, steps }: Current,
  { to, subjects = [], document = null, predicate: drafted }: Draft,
) {
  const { kind, onBehalfOf, occurredAt, idempotency, recordId, signed } = request
  const traceparent = traceparentOf(request)
  const version = row.version + 1
  const recordedAtMs = signed?.statement.recordedAtMs ?? now()
  const { entry, predicate } = signEvent(signed ?? signer, caller, {
    ...{ kind, record, recordId, version, to, recordedAtMs, onBehalfOf, subjects, document, idempotency },
    digest: toHex(row.digest),
    from: row.state as RecordState,
    previous: toHex(row.leaf),
    predicate: {
      ...(occurredAt !== null && { occurredAt }),
      ...(traceparent !== null && { traceparent }),
      ...drafted,
    },
  })
  const render = (seq: number, chain: string): string => {
    const step = {
      ...{ kind, version, seq },
      recordedAt: new Date(recordedAtMs).toISOString(),
      predicate: predicate as JsonObject,
      document: document && { ...document, content: document.canonical, erasedBy: null },
    }
    const moved = {
      ...row,
      ...{ state: to, version, seq, kind, leaf: toHex(entry.leaf), chain },
      performerId: kind === 'record-activated' ? partyOf(caller, onBehalfOf) : row.performerId,
      revisions: row.revisions! + (kind === 'revision-requested' ? 1 : 0),
      signedBy: signed ? 'agent' : 'server',
    } as RenderedRow
    return renderRow(idsOf(caller.ledgerId, row), moved, { ...steps, [kind]: step })
  }
  return { entry, render, version }
}
