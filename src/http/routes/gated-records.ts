import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, type ErrorCode } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { Scope } from '../../ledgers/scopes.ts'
import {
  type OfferRequest,
  type OfferResult,
  offerActivation,
  offerCompletion,
  refuseAtGuest,
} from '../../outside/federation/offers.ts'
import { scopeOfEntry } from '../../proof/entry/entry-scopes.ts'
import { parseId } from '../../proof/ids.ts'
import { shareRecord } from '../../records/gated/share-record.ts'
import {
  activate,
  cancel,
  complete,
  overturn,
  renderVerdict,
  requestRevision,
  type StepInput,
} from '../../records/gated/steps.ts'
import type { StepResult } from '../../records/gated/take-step.ts'
import { RECORD_BODY_BYTES_MAX } from '../../records/limits.ts'
import { openEnvelope, sharedUnsigned } from '../../records/write/agent-envelope.ts'
import { resolveOnBehalfOf } from '../../records/write/on-behalf-of.ts'
import { etagOf, ifVersionsOf } from '../answers/conditions.ts'
import { sendJson } from '../answers/send-json.ts'
import { sendRecord } from '../answers/send-record.ts'
import type { Deps } from '../deps.ts'
import { idempotencyOf, markReplayed } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import { idParams } from '../schemas/common.ts'
import {
  activateBody,
  completionBody,
  overturnBody,
  reasonBody,
  shareBody,
  verdictBody,
} from '../schemas/gated.ts'
import { recordView } from '../schemas/records.ts'
import { SIGNING_PROBLEMS } from '../signing-problems.ts'
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
  'not_home',
  'not_signable',
  ...SIGNING_PROBLEMS,
] as const satisfies readonly ErrorCode[]

/** Errors of steps that an agent of this ledger takes in a record of another ledger. */
const OFFER_PROBLEMS = ['peer_not_active', 'offer_pending'] as const satisfies readonly ErrorCode[]

const SHARE_PROBLEMS = [
  'not_found',
  'unknown_agent',
  'agent_disabled',
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'not_entitled',
  'not_shareable',
  'already_shared',
  'state_conflict',
  'unknown_peer',
  'peer_not_active',
  'weak_salt',
  'integrity_fault',
] as const satisfies readonly ErrorCode[]

type StepBody = {
  readonly onBehalfOf?: string | undefined
  readonly occurredAt?: string | undefined
  readonly envelope?: string | undefined
  /** The peer that sent the record. Present only in steps that can be offered to another ledger. */
  readonly peer?: string | undefined
}

/** Registers the steps of a gated record. Each step is one call and one entry. */
export function gatedRecordRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.post(
    '/v1/records/:id/activate',
    offeredRoute('Activate: take the work on', activateBody, ['deadline_passed']),
    (request, reply) =>
      answer(
        request,
        reply,
        request.body,
        (caller, about) => activate(deps, caller, about),
        (caller, about) => offerActivation(deps, caller, about),
      ),
  )
  typed.post(
    '/v1/records/:id/completions',
    {
      ...offeredRoute('Complete: deliver the work, with evidence', completionBody, [
        'deadline_passed',
        'document_too_large',
        'evidence_invalid',
        'schema_too_costly',
        'weak_salt',
      ]),
      bodyLimit: RECORD_BODY_BYTES_MAX,
    },
    (request, reply) =>
      answer(
        request,
        reply,
        request.body,
        (caller, about) => complete(deps, caller, { ...request.body, ...about }),
        (caller, about) => offerCompletion(deps, caller, { ...request.body, ...about }),
      ),
  )
  typed.post(
    '/v1/records/:id/verdict',
    stepRoute('Render a verdict on the completion', verdictBody),
    (request, reply) =>
      answer(request, reply, request.body, (caller, about) =>
        renderVerdict(deps, caller, { ...request.body, ...about }),
      ),
  )
  typed.post('/v1/records/:id/revision', stepRoute('Request a revision', reasonBody), (request, reply) =>
    answer(request, reply, request.body, (caller, about) =>
      requestRevision(deps, caller, { ...request.body, ...about }),
    ),
  )
  typed.post(
    '/v1/records/:id/cancel',
    stepRoute('Cancel work that is not delivered', reasonBody),
    (request, reply) =>
      answer(request, reply, request.body, (caller, about) =>
        cancel(deps, caller, { ...request.body, ...about }),
      ),
  )
  typed.post(
    '/v1/records/:id/overturn',
    stepRoute('Overturn a rejection', overturnBody, [], scopeOfEntry('verdict-overturned')),
    (request, reply) =>
      answer(request, reply, request.body, (caller, about) =>
        overturn(deps, caller, { ...request.body, ...about }),
      ),
  )

  typed.post(
    '/v1/records/:id/share',
    {
      config: {
        access: { scope: scopeOfEntry('record-shared') },
        problems: SHARE_PROBLEMS,
      },
      schema: {
        summary: 'Share a gated record with peers, from its first entry on, for good',
        params: idParams,
        body: shareBody,
        response: { 200: recordView },
      },
    },
    async (request, reply) => {
      const { caller, body } = request
      const recordId = pathId('rec', request.params.id)
      const idempotency = idempotencyOf(deps, request)
      const onBehalfOf = await resolveOnBehalfOf(deps, caller, body.onBehalfOf, idempotency)
      const about = { recordId, onBehalfOf, share: body.share, idempotency }
      const { record, version, replayed } = await shareRecord(deps, caller, about)
      return sendJson(markReplayed(reply.header('etag', etagOf(version)), replayed), record)
    },
  )

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    { onBehalfOf, occurredAt, peer, envelope }: StepBody,
    take: (caller: Caller, about: StepInput) => Promise<StepResult>,
    offer: (caller: Caller, about: OfferRequest) => Promise<OfferResult | null> = (caller, about) =>
      refuseAtGuest(deps, caller, about),
  ): Promise<FastifyReply> {
    const { caller } = request
    const recordId = pathId('rec', (request.params as { id: string }).id)
    const idempotency = idempotencyOf(deps, request)
    const ifVersions = ifVersionsOf(request)
    const about = {
      recordId,
      peerId: peer === undefined ? undefined : parseId('peer', peer),
      onBehalfOf: await resolveOnBehalfOf(deps, caller, onBehalfOf, idempotency),
      occurredAt,
      ifVersions,
      traceparent: traceparentOf(request),
      idempotency,
      signed: await openEnvelope(deps, caller, envelope),
    }
    const taken = peer === undefined ? take(caller, about) : Promise.reject(notSent(peer))
    const result = await taken.catch(async (error) => {
      if (!isNotFound(error)) throw error
      const offered = await (about.signed ? refuseSigned(caller, about) : offer(caller, about))
      if (offered) return { offered }
      throw error
    })
    if (!('offered' in result)) return sendRecord(deps, request, reply, result)
    const { record, version, replayed } = result.offered
    return sendJson(markReplayed(reply.code(202).header('etag', etagOf(version)), replayed), record)
  }

  /**
   * Called for a step that an agent signed itself. Throws `not_signable` if the record belongs to another ledger,
   * because that ledger knows only the keys of servers. Returns null if the caller can see no such record.
   */
  function refuseSigned(caller: Caller, about: OfferRequest): Promise<null> {
    return refuseAtGuest(deps, caller, about).catch((error) => {
      throw error instanceof ApiError && error.code === 'not_home' ? sharedUnsigned('/envelope') : error
    })
  }
}

function notSent(peer: string): ApiError {
  return new ApiError('not_found', `${peer} has sent no record with this id`)
}

function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'not_found'
}

/**
 * Makes the config of a route whose step can be offered. It adds the answer 202: the record belongs to another ledger,
 * which decides about the step later.
 */
function offeredRoute<Body>(summary: string, body: Body, problems: readonly ErrorCode[]) {
  const { schema, ...route } = stepRoute(summary, body, [...OFFER_PROBLEMS, ...problems])
  return { ...route, schema: { ...schema, response: { 200: recordView, 202: recordView } } }
}

function stepRoute<Body>(
  summary: string,
  body: Body,
  problems: readonly ErrorCode[] = [],
  scope: Scope = scopeOfEntry('record-activated'),
) {
  return {
    config: { access: { scope }, problems: [...STEP_PROBLEMS, ...problems] },
    schema: { summary, params: idParams, body, response: { 200: recordView } },
  }
}
