import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { IdempotencyRow } from '../../db/chain/append-entries.ts'
import { ApiError } from '../../errors.ts'
import { RATE_LIMIT_RECORDS_PER_REQUEST } from '../../ledgers/limits.ts'
import { scopeOfEntry } from '../../proof/entry/entry-scopes.ts'
import { createGated } from '../../records/gated/create.ts'
import { resolveShare } from '../../records/gated/share.ts'
import { BATCH_BODY_BYTES_MAX, RECORD_BODY_BYTES_MAX } from '../../records/limits.ts'
import { hashSubject } from '../../records/subjects/label.ts'
import { openEnvelope } from '../../records/write/agent-envelope.ts'
import { fingerprintOfHash } from '../../records/write/idempotency.ts'
import { resolveParent } from '../../records/write/lineage.ts'
import { notarize } from '../../records/write/notarize.ts'
import { notarizeBatch } from '../../records/write/notarize-batch.ts'
import { resolveOnBehalfOf, resolvePerformer } from '../../records/write/on-behalf-of.ts'
import { getType } from '../../records/write/typed-payload.ts'
import { sendJson } from '../answers/send-json.ts'
import { sendRecord, sendReplay } from '../answers/send-record.ts'
import { type BatchBody, readBatchBody } from '../bodies/batch-body.ts'
import { RecordBody, readRecordBody } from '../bodies/record-body.ts'
import type { Deps } from '../deps.ts'
import { idempotencyOf } from '../idempotency.ts'
import { terms } from '../schemas/gated.ts'
import { batchBody, batchView, notarizeBody, recordView } from '../schemas/records.ts'
import { SIGNING_PROBLEMS } from '../signing-problems.ts'
import { traceparentOf } from '../traceparent.ts'
import type { ZodTypes } from '../zod-validation.ts'

const NOTARIZE_PROBLEMS = [
  'document_too_large',
  'metadata_too_large',
  'unknown_type',
  'payload_invalid',
  'schema_too_costly',
  'unknown_agent',
  'agent_disabled',
  'invalid_idempotency_key',
  'idempotency_key_reused',
  ...SIGNING_PROBLEMS,
  'duplicate_envelope',
] as const

export function recordRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.post(
    '/v1/records',
    {
      config: {
        access: { scope: scopeOfEntry('record-notarized') },
        readBody: readRecordBody,
        problems: [
          ...NOTARIZE_PROBLEMS,
          'not_gated',
          'unknown_parent',
          'parent_too_deep',
          'unknown_peer',
          'peer_not_active',
          'performer_not_shared',
          'weak_salt',
          'not_signable',
        ],
      },
      schema: {
        summary: 'Notarize a record, or create a gated one',
        body: notarizeBody,
        response: { 201: recordView },
      },
      bodyLimit: RECORD_BODY_BYTES_MAX,
    },
    async (request, reply) => {
      const { body, idempotency } = opened(deps, request)
      const { caller } = request
      const found = getType(deps, caller, body.type)
      const type = found instanceof Promise ? await found : found
      if (!type.gated) refuseTerms(body)
      const about = {
        ...body,
        onBehalfOf: await resolveOnBehalfOf(deps, caller, body.onBehalfOf, idempotency),
        parent: await resolveParent(deps.readPool, caller.ledgerId, body.parent),
        subject: body.subject === undefined ? null : hashSubject(caller.subjectSalt, body.subject),
        traceparent: traceparentOf(request),
        idempotency,
        signed: await openEnvelope(deps, caller, body.envelope),
      }
      if (type.gated) {
        const share = await resolveShare(deps, caller, body.share, idempotency)
        const performer = await resolvePerformer(deps, caller, body.performer, share, idempotency)
        const result = await createGated(deps, caller, type, { ...about, performer, share })
        return sendRecord(deps, request, reply.code(201), result)
      }
      const result = await notarize(deps, caller, type, about)
      return sendRecord(deps, request, reply.code(201), result)
    },
  )

  typed.post(
    '/v1/records/batch',
    {
      config: {
        access: { scope: scopeOfEntry('batch-notarized') },
        problems: [...NOTARIZE_PROBLEMS, 'not_notarizable', 'unknown_parent', 'parent_too_deep'],
        readBody: readBatchBody,
        furtherCost: (body) => (body as BatchBody).built.count / RATE_LIMIT_RECORDS_PER_REQUEST,
      },
      schema: {
        summary: 'Notarize a batch of records in one entry, all or nothing',
        body: batchBody,
        response: { 201: batchView },
      },
      bodyLimit: BATCH_BODY_BYTES_MAX,
    },
    async (request, reply) => {
      const { caller, headers } = request
      const { built } = request.body as unknown as BatchBody
      const idempotency = fingerprintOfHash(deps.entropy, headers['idempotency-key'], built.requestHash)
      const result = await notarizeBatch(deps, caller, built, idempotency)
      reply.code(201)
      if (result.batch !== null) return sendJson(reply, result.batch)
      return sendReplay(deps, request, reply, result.seq)
    },
  )
}

/**
 * Returns the members of the request, and the fingerprint of its Idempotency-Key. For a large record, a thread has
 * already made both.
 */
function opened(
  deps: Deps,
  request: FastifyRequest,
): {
  readonly body: z.output<typeof notarizeBody> | RecordBody['members']
  readonly idempotency: IdempotencyRow | null
} {
  const body = request.body as z.output<typeof notarizeBody> | RecordBody
  if (!(body instanceof RecordBody)) return { body, idempotency: idempotencyOf(deps, request) }
  const key = request.headers['idempotency-key']
  return { body: body.members, idempotency: fingerprintOfHash(deps.entropy, key, body.requestHash) }
}

const TERMS = Object.keys(terms) as (keyof typeof terms)[]

function refuseTerms(
  body: { readonly type: string } & { readonly [Name in keyof typeof terms]?: unknown },
): void {
  const term = TERMS.find((name) => body[name] !== undefined)
  if (term === undefined) return
  throw new ApiError('not_gated', `${body.type} is not gated: leave out ${term}`, {
    members: { path: `/${term}`, recordType: body.type },
  })
}
