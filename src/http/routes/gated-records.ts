import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../../deps.ts'
import type { ErrorCode } from '../../errors.ts'
import { RECORD_BODY_BYTES_MAX } from '../../limits.ts'
import {
  type About,
  activate,
  cancel,
  complete,
  overturn,
  renderVerdict,
  requestRevision,
} from '../../records/gated/steps.ts'
import type { StepResult } from '../../records/gated/take-step.ts'
import { resolveOnBehalfOf } from '../../records/on-behalf-of.ts'
import type { Caller } from '../../tenancy/caller.ts'
import type { Scope } from '../../tenancy/scopes.ts'
import { idempotencyOf } from '../idempotency.ts'
import { ifVersionOf } from '../if-match.ts'
import { pathId } from '../path-id.ts'
import { idParams } from '../schemas/common.ts'
import { activateBody, completionBody, overturnBody, reasonBody, verdictBody } from '../schemas/gated.ts'
import { recordView } from '../schemas/records.ts'
import { sendRecord } from '../send-record.ts'
import { traceparentOf } from '../traceparent.ts'
import type { ZodTypes } from '../zod-validation.ts'

const STEP_PROBLEMS = [
  'not_found',
  'unknown_agent',
  'agent_disabled',
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'not_entitled',
  'version_mismatch',
  'state_conflict',
  'integrity_fault',
] as const satisfies readonly ErrorCode[]

type OfStep = { readonly onBehalfOf?: string | undefined; readonly occurredAt?: string | undefined }

/** The steps of a gated record: each is one call and one entry. */
export function gatedRecordRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.post(
    '/v1/records/:id/activate',
    stepRoute('Take the work on', activateBody, ['deadline_passed']),
    (request, reply) =>
      answer(request, reply, request.body, (caller, about) => activate(deps, caller, about)),
  )
  typed.post(
    '/v1/records/:id/completions',
    stepRoute('Deliver the work, with evidence', completionBody, [
      'deadline_passed',
      'document_too_large',
      'evidence_invalid',
      'schema_too_costly',
    ]),
    (request, reply) =>
      answer(request, reply, request.body, (caller, about) =>
        complete(deps, caller, { ...request.body, ...about }),
      ),
  )
  typed.post('/v1/records/:id/verdict', stepRoute('Judge the completion', verdictBody), (request, reply) =>
    answer(request, reply, request.body, (caller, about) =>
      renderVerdict(deps, caller, { ...request.body, ...about }),
    ),
  )
  typed.post('/v1/records/:id/revision', stepRoute('Ask for a revision', reasonBody), (request, reply) =>
    answer(request, reply, request.body, (caller, about) =>
      requestRevision(deps, caller, { ...request.body, ...about }),
    ),
  )
  typed.post(
    '/v1/records/:id/cancel',
    stepRoute('Cancel what is not delivered', reasonBody),
    (request, reply) =>
      answer(request, reply, request.body, (caller, about) =>
        cancel(deps, caller, { ...request.body, ...about }),
      ),
  )
  typed.post(
    '/v1/records/:id/overturn',
    stepRoute('Overturn a rejection', overturnBody, [], 'verdicts:overturn'),
    (request, reply) =>
      answer(request, reply, request.body, (caller, about) =>
        overturn(deps, caller, { ...request.body, ...about }),
      ),
  )

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    { onBehalfOf, occurredAt }: OfStep,
    take: (caller: Caller, about: About) => Promise<StepResult>,
  ): Promise<FastifyReply> {
    const { caller } = request
    const recordId = pathId('rec', (request.params as { id: string }).id)
    const idempotency = idempotencyOf(deps, request)
    const ifVersion = ifVersionOf(request)
    const agents = await resolveOnBehalfOf(deps.lookups, caller, [onBehalfOf], 'record')
    const result = await take(caller, {
      recordId,
      onBehalfOf: agents.get(onBehalfOf ?? '') ?? null,
      occurredAt,
      ifVersion,
      traceparent: traceparentOf(request),
      idempotency,
    })
    return sendRecord(deps, request, reply, result)
  }
}

function stepRoute<Body>(
  summary: string,
  body: Body,
  problems: readonly ErrorCode[] = [],
  scope: Scope = 'records:write',
) {
  return {
    config: { access: { scope }, problems: [...STEP_PROBLEMS, ...problems] },
    schema: { summary, params: idParams, body, response: { 200: recordView } },
    bodyLimit: RECORD_BODY_BYTES_MAX,
  }
}
