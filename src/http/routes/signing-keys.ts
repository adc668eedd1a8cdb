import type { FastifyInstance } from 'fastify'
import { findAgent } from '../../db/ledgers/agents.ts'
import { listSigningKeys, type SigningKeyRow } from '../../db/ledgers/signing-keys.ts'
import { ApiError } from '../../errors.ts'
import { registerSigningKey, revokeSigningKey } from '../../ledgers/signing-keys.ts'
import { listTag, pageLimit, parseCursor, toPage } from '../answers/page.ts'
import type { Deps } from '../deps.ts'
import { idempotencyOf, markReplayed } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import { idParams, noMembers } from '../schemas/common.ts'
import {
  signingKeyAnswer,
  signingKeyBody,
  signingKeyPage,
  signingKeyParams,
  signingKeysCursor,
  signingKeysQuery,
} from '../schemas/signing-keys.ts'
import type { ZodTypes } from '../zod-validation.ts'

/** Serves the agents' own signing keys. An agent that may write records can rotate and revoke its own keys. */
export function signingKeyRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const change = { scope: ['agents:manage', 'records:write'] } as const

  typed.post(
    '/v1/agents/:id/signing-keys',
    {
      config: {
        access: change,
        problems: [
          'not_found',
          'agent_disabled',
          'key_proof_refused',
          'endorsement_needed',
          'signing_key_exists',
          'idempotency_key_reused',
        ],
      },
      schema: {
        summary: 'Register a key with which an agent signs its own entries',
        params: idParams,
        body: signingKeyBody,
        response: { 201: signingKeyAnswer },
      },
    },
    async (request, reply) => {
      const agentId = pathId('agt', request.params.id)
      const idempotency = idempotencyOf(deps, request)
      const { key, replayed } = await registerSigningKey(
        deps,
        request.caller,
        agentId,
        request.body,
        idempotency,
      )
      return markReplayed(reply, replayed).code(201).send(render(key))
    },
  )

  typed.get(
    '/v1/agents/:id/signing-keys',
    {
      config: {
        reads: 'replica',
        access: { scope: ['agents:manage', 'records:write', 'audit:read', 'records:read'] },
        problems: ['not_found'],
      },
      schema: {
        summary: 'List the signing keys of an agent, oldest first',
        params: idParams,
        querystring: signingKeysQuery,
        response: { 200: signingKeyPage },
      },
    },
    async (request, reply) => {
      const limit = pageLimit(request.query)
      const list = listTag(request)
      const after = parseCursor(list, request.query, signingKeysCursor)?.[0] ?? -1
      const agentId = pathId('agt', request.params.id)
      const { ledgerId } = request.caller
      const rows = await deps.reads.of(request, reply, async ({ readPool }) => {
        if (!(await findAgent(readPool, ledgerId, agentId)))
          throw new ApiError('not_found', `the ledger has no agent ${request.params.id}`)
        return listSigningKeys(readPool, ledgerId, agentId, { after, limit: limit + 1 })
      })
      return toPage(list, rows, limit, render, ({ seq }) => [seq])
    },
  )

  typed.post(
    '/v1/agents/:id/signing-keys/:kid/revoke',
    {
      config: { access: change, problems: ['not_found', 'already_ended', 'idempotency_key_reused'] },
      schema: {
        summary: 'Revoke a signing key for good: what it signs is refused from then on',
        params: signingKeyParams,
        body: noMembers,
        response: { 200: signingKeyAnswer },
      },
    },
    async (request, reply) => {
      const { id, kid } = request.params
      const idempotency = idempotencyOf(deps, request)
      const { key, replayed } = await revokeSigningKey(
        deps,
        request.caller,
        pathId('agt', id),
        kid,
        idempotency,
      )
      return markReplayed(reply, replayed).send(render(key))
    },
  )
}

function render(key: SigningKeyRow) {
  return {
    kid: key.kid.toString('hex'),
    alg: key.alg,
    spki: key.spki.toString('base64'),
    required: key.required,
    registeredAt: key.registeredAt.toISOString(),
    revokedAt: key.revokedAt?.toISOString() ?? null,
    seq: key.registeredSeq,
    revokedSeq: key.revokedSeq,
  }
}
