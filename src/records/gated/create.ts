import type pg from 'pg'
import { appendOne } from '../../append/append-one.ts'
import { translateConstraint } from '../../db/connect/constraints.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { RecordType } from '../../ledgers/types/built-in.ts'
import { parseTolerances } from '../../ledgers/types/rules/tolerances.ts'
import type { Signer } from '../../proof/crypto.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { GATED_REVISIONS_DEFAULT } from '../../proof/request-limits.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { parseTime, saltPayload } from '../documents.ts'
import { requireSalt, sharedUnsigned } from '../write/agent-envelope.ts'
import { refusePast } from '../write/first-outcome.ts'
import type { WriteDeps } from '../write/notarize.ts'
import { partyOf } from '../write/on-behalf-of.ts'
import { requireAgentSigned, verifyPayload } from '../write/typed-payload.ts'
import { buildCreation, type CreateRequest, type Terms } from './build-creation.ts'
import { isDigestsOnly, refuseWeakSalt } from './share.ts'
import { rememberSigned } from './sign-step.ts'
import type { StepResult } from './take-step.ts'

/** Creates a gated record. Its terms are signed and never change. Returns when the entry is committed. */
export async function createGated(
  deps: WriteDeps & { readonly readPool: pg.Pool; readonly envelopeKeys: EnvelopeKeys },
  caller: Caller,
  type: RecordType,
  request: CreateRequest,
): Promise<StepResult> {
  requireAgentSigned(type, request.signed !== null)
  const terms = parseTerms(caller, type, request)
  if (isDigestsOnly(request.share)) refuseWeakSalt(request.salt)
  requireSalt(request.signed, request.salt)
  if (request.signed && request.share) throw sharedUnsigned('/share')
  const deadline = { ms: terms.deadlineMs, path: '/deadline' }
  const first = await refusePast(deps, caller, request.idempotency, deadline)
  if (first) return first
  const payload = saltPayload(deps.entropy, request)
  await verifyPayload(deps, caller, type, payload)
  const build = (signer: Signer) => buildCreation(deps, signer, caller, { ...request, type, terms, payload })
  const written = await appendOne(deps, caller, build).catch(translateConstraint)
  if (written.replayed) return { replayedSeq: written.seq }
  rememberSigned(deps.envelopeKeys, written.built.entry)
  return { record: written.built.render(written.seq, written.chain), version: 1 }
}

function parseTerms(caller: Caller, type: RecordType, request: CreateRequest): Terms {
  const { performer, gate = 'principal', deadline, maxRevisions = GATED_REVISIONS_DEFAULT } = request
  if (performer && performer.agentId === partyOf(caller, request.onBehalfOf))
    throw invalidTerm('/performer', 'the principal cannot perform its own record')
  const deadlineMs = deadline === undefined ? null : parseTime(deadline, '/deadline')
  return {
    performer,
    gate,
    deadlineMs,
    maxRevisions,
    tolerances:
      request.tolerances === undefined ? null : parseTolerances(type.rules, request.tolerances as JsonValue),
  }
}

function invalidTerm(path: string, detail: string): ApiError {
  return new ApiError('invalid_request', `${path}: ${detail}`, { members: { path } })
}
