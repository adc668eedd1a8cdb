import type { FastifyInstance } from 'fastify'
import { findKey, type KeyRow, listKeys } from '../../db/ledgers/api-keys.ts'
import { ApiError } from '../../errors.ts'
import { createKey, rotateKey } from '../../ledgers/keys.ts'
import { revokeKey } from '../../ledgers/revoke-keys.ts'
import { scopeOfEntry } from '../../proof/entry/entry-scopes.ts'
import { formatId, parseId } from '../../proof/ids.ts'
import { parseTime } from '../../records/documents.ts'
import { refusePast } from '../../records/write/first-outcome.ts'
import { listTag, pageLimit, parseCursor, toPage } from '../answers/page.ts'
import type { Deps } from '../deps.ts'
import { idempotencyOf, markReplayed, refuseIdempotencyKey } from '../idempotency.ts'
import { KEY_OVERLAP_SECONDS_DEFAULT } from '../limits.ts'
import { pathId } from '../path-id.ts'
import { idParams } from '../schemas/common.ts'
import {
  createKeyBody,
  keyAnswer,
  keyPage,
  keyRevoked,
  keysCursor,
  keysQuery,
  keyWithSecret,
  revokeKeyBody,
  rotateKeyBody,
} from '../schemas/keys.ts'
import type { ZodTypes } from '../zod-validation.ts'

export function keyRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const manage = { scope: scopeOfEntry('key-created') } as const
  const read = { scope: ['keys:manage', 'audit:read'] } as const

  typed.post(
    '/v1/keys',
    {
      config: {
        access: manage,
        problems: [
          'scope_not_held',
          'expiry_not_held',
          'unknown_agent',
          'agent_disabled',
          'idempotency_key_reused',
        ],
      },
      schema: {
        summary: 'Create an API key for an agent',
        body: createKeyBody,
        response: { 201: keyWithSecret },
      },
    },
    async (request, reply) => {
      const { name, agent, scopes, expiresAt } = request.body
      const expiresAtMs = expiresAt === undefined ? null : parseTime(expiresAt, '/expiresAt')
      const idempotency = idempotencyOf(deps, request)
      await refusePast(deps, request.caller, idempotency, { ms: expiresAtMs, path: '/expiresAt' })
      const made = await createKey(deps, request.caller, {
        name,
        agentId: agent === undefined ? null : parseId('agt', agent),
        scopes,
        expiresAtMs,
        idempotency,
      })
      return markReplayed(reply, made.secret === null)
        .code(201)
        .header('cache-control', 'no-store')
        .send({ ...render(made.key), key: made.secret })
    },
  )

  typed.get(
    '/v1/keys',
    {
      config: { reads: 'primary', access: read },
      schema: {
        summary: 'List API keys, oldest first',
        querystring: keysQuery,
        response: { 200: keyPage },
      },
    },
    async (request) => {
      const { query } = request
      const limit = pageLimit(query)
      const list = listTag(request)
      const cursor = parseCursor(list, query, keysCursor)
      const rows = await listKeys(deps.readPool, request.caller.ledgerId, {
        agentId: query.agent === undefined ? null : parseId('agt', query.agent),
        after: cursor && parseId('key', cursor[0]),
        limit: limit + 1,
      })
      return toPage(list, rows, limit, render, ({ id }) => [id])
    },
  )

  typed.get(
    '/v1/keys/:id',
    {
      config: { reads: 'primary', access: read },
      schema: { summary: 'Get an API key', params: idParams, response: { 200: keyAnswer } },
    },
    async (request) => {
      const key = await findKey(deps.readPool, request.caller.ledgerId, pathId('key', request.params.id))
      if (!key) throw new ApiError('not_found', `the ledger has no key ${request.params.id}`)
      return render(key)
    },
  )

  typed.post(
    '/v1/keys/:id/rotate',
    {
      config: {
        access: manage,
        problems: [
          'scope_not_held',
          'expiry_not_held',
          'already_ended',
          'state_conflict',
          'invalid_idempotency_key',
        ],
      },
      schema: {
        summary: 'Rotate the secret of an API key; older secrets stay valid for a while',
        params: idParams,
        body: rotateKeyBody,
        response: { 200: keyWithSecret },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const overlapMs = (request.body.overlapSeconds ?? KEY_OVERLAP_SECONDS_DEFAULT) * 1_000
      const rotated = await rotateKey(deps, request.caller, pathId('key', request.params.id), overlapMs)
      return reply.header('cache-control', 'no-store').send({ ...render(rotated.key), key: rotated.secret })
    },
  )

  typed.post(
    '/v1/keys/:id/revoke',
    {
      config: { access: manage, problems: ['already_ended', 'idempotency_key_reused'] },
      schema: {
        summary:
          'Revoke an API key, and on request the keys made with it; every server refuses them within 5 s',
        params: idParams,
        body: revokeKeyBody,
        response: { 200: keyRevoked },
      },
    },
    async (request, reply) => {
      const keyId = pathId('key', request.params.id)
      const { key, replayed, alsoRevoked, hasMore } = await revokeKey(deps, request.caller, keyId, {
        alsoMade: request.body.alsoMade ?? false,
        idempotency: idempotencyOf(deps, request),
      })
      return markReplayed(reply, replayed).send({
        ...render(key),
        alsoRevoked: alsoRevoked.map((id) => formatId('key', id)),
        hasMore,
      })
    },
  )
}

function render(key: KeyRow) {
  return {
    id: formatId('key', key.keyId),
    name: key.name,
    agent: formatId('agt', key.agentId),
    scopes: key.scopes,
    createdAt: key.createdAt.toISOString(),
    madeBy: key.madeBy && formatId('key', key.madeBy),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
    rateLimit: key.rateLimit,
    otlp: key.otlp,
    secrets: key.secrets.map(({ expiresAtMs }) => ({
      expiresAt: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
    })),
  }
}
