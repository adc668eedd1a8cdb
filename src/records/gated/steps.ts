import type { Caller } from '../../ledgers/caller.ts'
import { formatId } from '../../proof/ids.ts'
import { ownRecordId } from '../../proof/statement/batch-ids.ts'
import { completionIdOf } from '../../proof/statement/completion-ids.ts'
import { formatDocumentSubject } from '../../proof/statement/document-subjects.ts'
import type { StepKind, Subject } from '../../proof/statement/kinds.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import type { Entropy } from '../../signing/entropy.ts'
import { nativeProviders } from '../../signing/native.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import { parseTime, saltDocument } from '../documents.ts'
import { requireSalt } from '../write/agent-envelope.ts'
import { type FirstOutcome, refusePast } from '../write/first-outcome.ts'
import { getType, requireAgentSigned, type TypeDeps, verifyEvidence } from '../write/typed-payload.ts'
import { type Current, getForStep } from './current.ts'
import { isDigestsOnly, refuseWeakSalt } from './share.ts'
import type { NamedDocument } from './sign-step.ts'
import { acceptSignal, overturnSignal, rejectSignal } from './signal.ts'
import { type StepDeps, type StepRequest, type StepResult, takeStep } from './take-step.ts'

type StepsDeps = StepDeps & TypeDeps & { readonly entropy: Entropy }

export type StepInput = Omit<StepRequest, 'kind' | 'draft' | 'occurredAt'> & {
  readonly occurredAt?: string | undefined
}

/**
 * Input of a step that has a reason in free text. `salt`: salt of the reason's digest, if the agent signs the step
 * itself.
 */
type ReasonInput = StepInput & { readonly reason: string; readonly salt?: string | undefined }

export function activate(deps: StepsDeps, caller: Caller, input: StepInput): Promise<StepResult> {
  return step(deps, caller, input, 'record-activated', () => ({ to: 'ACTIVE' }))
}

/**
 * Submits a completion. Throws `evidence_invalid` if the record's type refuses the evidence. Throws `weak_salt` if
 * somebody could guess the salt (refuseWeakSalt).
 */
export async function complete(
  deps: StepsDeps,
  caller: Caller,
  input: StepInput & { readonly evidence: unknown; readonly salt?: string | undefined },
): Promise<StepResult> {
  const current = await getForStep(deps, caller, input)
  if (isDigestsOnly(current.row.share)) refuseWeakSalt(input.salt)
  requireSalt(input.signed, input.salt)
  const salted = saltDocument(deps.entropy, input.evidence, input.salt)
  if (current.row.gate !== null) {
    const type = await getType(deps, caller, current.row.type)
    requireAgentSigned(type, input.signed !== null)
    await verifyEvidence(deps, caller, type, { value: input.evidence, canonical: salted.canonical })
  }
  const made = ownRecordId(deps.entropy.uuidv7(deps.now()))
  const draft = ({ row }: Current) => {
    const subjectId = input.signed
      ? completionIdOf(nativeProviders.sha256, row.recordId, row.version + 1)
      : made
    const completion = formatId('cmp', subjectId)
    const document: NamedDocument = { ...salted, name: 'evidence', subject: completion, subjectId }
    return { to: 'SUBMITTED', document, predicate: { completion } } as const
  }
  return takeStep(deps, caller, requestOf(input, 'completion-submitted', draft), current)
}

export async function renderVerdict(
  deps: StepsDeps,
  caller: Caller,
  input: StepInput & {
    readonly verdict: 'accept' | 'reject'
    readonly reason?: string | undefined
    readonly salt?: string | undefined
    readonly validUntil?: string | undefined
  },
): Promise<StepResult> {
  const validUntil = parseValidUntil(input.validUntil)
  const first = await refuseLate(deps, caller, input, validUntil)
  if (first) return first
  return step(deps, caller, input, 'verdict-rendered', (_current, judged) => {
    const { predicate: verified } = judged!
    const completion = completionOf(judged!)
    const { verdict } = input
    return {
      to: verdict === 'accept' ? 'ACCEPTED' : 'REJECTED',
      subjects: [completion],
      document: reasonOf(deps, input),
      predicate: {
        completion: completion.name,
        verdict,
        by: 'principal',
        signal:
          verdict === 'accept' ? acceptSignal(verified, validUntil) : rejectSignal(verified, validUntil),
      },
    }
  })
}

export function requestRevision(deps: StepsDeps, caller: Caller, input: ReasonInput): Promise<StepResult> {
  return step(deps, caller, input, 'revision-requested', (_current, judged) => ({
    to: 'ACTIVE',
    document: reasonOf(deps, input),
    predicate: { completion: completionOf(judged!).name },
  }))
}

export function cancel(deps: StepsDeps, caller: Caller, input: ReasonInput): Promise<StepResult> {
  return step(deps, caller, input, 'record-cancelled', () => ({
    to: 'CANCELLED',
    document: reasonOf(deps, input),
  }))
}

export async function overturn(
  deps: StepsDeps,
  caller: Caller,
  input: ReasonInput & { readonly validUntil?: string | undefined },
): Promise<StepResult> {
  const validUntil = parseValidUntil(input.validUntil)
  const first = await refuseLate(deps, caller, input, validUntil)
  if (first) return first
  return step(deps, caller, input, 'verdict-overturned', ({ row }, judged) => {
    const completion = completionOf(judged!)
    return {
      to: 'ACCEPTED',
      subjects: [completion],
      document: reasonOf(deps, input),
      predicate: {
        completion: completion.name,
        signal: overturnSignal(judged!.predicate, validUntil),
        supersedes: toHex(row.leaf),
      },
    }
  })
}

async function step(
  deps: StepsDeps,
  caller: Caller,
  input: StepInput,
  kind: StepKind,
  draft: StepRequest['draft'],
): Promise<StepResult> {
  const current = await getForStep(deps, caller, input)
  requireAgentSigned(await getType(deps, caller, current.row.type), input.signed !== null)
  return takeStep(deps, caller, requestOf(input, kind, draft), current)
}

function requestOf(input: StepInput, kind: StepKind, draft: StepRequest['draft']): StepRequest {
  const { occurredAt } = input
  const at = occurredAt === undefined ? null : new Date(parseTime(occurredAt, '/occurredAt')).toISOString()
  return { ...input, kind, draft, occurredAt: at }
}

/** Returns the judged completion. It is the second subject of a `completion-verified` statement and of a verdict. */
function completionOf(judged: ParsedStatement): Subject {
  return judged.subjects[1]!
}

function reasonOf(
  deps: StepsDeps,
  {
    recordId,
    reason,
    salt,
    signed,
  }: Pick<StepInput, 'recordId' | 'signed'> & {
    readonly reason?: string | undefined
    readonly salt?: string | undefined
  },
): NamedDocument | null {
  if (reason === undefined) return null
  requireSalt(signed, salt)
  const subject = formatDocumentSubject('reason', recordId)
  return { ...saltDocument(deps.entropy, reason, salt), name: 'reason', subject, subjectId: recordId }
}

function parseValidUntil(validUntil: string | undefined): string | null {
  return validUntil === undefined ? null : new Date(parseTime(validUntil, '/validUntil')).toISOString()
}

/** Throws if the signal would already have expired. */
function refuseLate(
  deps: StepsDeps,
  caller: Caller,
  { idempotency }: StepInput,
  validUntil: string | null,
): Promise<FirstOutcome | null> {
  const ms = validUntil === null ? null : Date.parse(validUntil)
  return refusePast(deps, caller, idempotency, { ms, path: '/validUntil' })
}
