import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../errors.ts'
import { previewType } from '../../ledgers/types/preview.ts'
import { findTypeJson, listTypeSummaries, renderType } from '../../ledgers/types/read-types.ts'
import { canonicalOrRefuse, compileOrRefuse } from '../../ledgers/types/refuse-definition.ts'
import { registerType } from '../../ledgers/types/register-type.ts'
import { scopeOfEntry } from '../../proof/entry/entry-scopes.ts'
import { isTypeName } from '../../proof/statement/fields.ts'
import { RECORD_BODY_BYTES_MAX } from '../../records/limits.ts'
import { listTag, pageLimit, parseCursor, toPage } from '../answers/page.ts'
import { sendJson } from '../answers/send-json.ts'
import type { Deps } from '../deps.ts'
import { idempotencyOf, markReplayed } from '../idempotency.ts'
import {
  previewBody,
  previewDefinitionBody,
  previewView,
  registerTypeBody,
  typePage,
  typeParams,
  typesCursor,
  typesQuery,
  typeView,
} from '../schemas/types.ts'
import type { ZodTypes } from '../zod-validation.ts'

/**
 * Definitions are not documents, so more scopes may read them: writers, readers and auditors of records must know
 * what the records mean.
 */
const READ = { scope: ['records:read', 'records:write', 'types:write', 'audit:read'] } as const

export function typeRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.post(
    '/v1/types',
    {
      config: {
        access: { scope: scopeOfEntry('type-registered') },
        problems: ['invalid_schema', 'type_exists', 'invalid_idempotency_key', 'idempotency_key_reused'],
      },
      schema: {
        summary: 'Register a type, for good; 200 if the ledger has exactly this type already',
        body: registerTypeBody,
        response: { 200: typeView, 201: typeView },
      },
      bodyLimit: RECORD_BODY_BYTES_MAX,
    },
    async (request, reply) => {
      const idempotency = idempotencyOf(deps, request)
      const { type, outcome } = await registerType(deps, request.caller, request.body, idempotency)
      markReplayed(reply, outcome === 'replayed').code(outcome === 'existing' ? 200 : 201)
      return sendJson(reply, renderType(type))
    },
  )

  typed.get(
    '/v1/types',
    {
      config: { reads: 'replica', access: READ },
      schema: {
        summary: 'List types, by name',
        querystring: typesQuery,
        response: { 200: typePage },
      },
    },
    async (request, reply) => {
      const { query, caller } = request
      const limit = pageLimit(query)
      const name = query.name ?? null
      const list = listTag(request)
      const after = parseCursor(list, query, typesCursor)?.[0] ?? null
      const about = { name, after, limit: limit + 1 }
      const types = await deps.reads.of(request, reply, ({ readPool }) =>
        listTypeSummaries(readPool, caller.ledgerId, about),
      )
      return toPage(
        list,
        types,
        limit,
        (type) => type,
        ({ type }) => [type],
      )
    },
  )

  typed.get(
    '/v1/types/:name/:version',
    {
      config: { reads: 'replica', access: READ },
      schema: { summary: 'Get a type with its definition', params: typeParams, response: { 200: typeView } },
    },
    async (request, reply) => {
      const name = requireTypeName(request.params)
      const json = await deps.reads.of(request, reply, async ({ readPool }) => {
        const type = await findTypeJson(readPool, request.caller.ledgerId, name)
        if (type === null) throw noType(name)
        return type
      })
      return sendJson(reply, json)
    },
  )

  typed.post(
    '/v1/types/:name/:version/preview',
    {
      config: { access: READ, problems: ['document_too_large', 'schema_too_costly'] },
      schema: {
        summary: 'Validate a payload or evidence by a type; writes nothing',
        params: typeParams,
        body: previewBody,
        response: { 200: previewView },
      },
      bodyLimit: RECORD_BODY_BYTES_MAX,
    },
    async (request) => {
      const name = requireTypeName(request.params)
      const type = await deps.types.find(request.caller, name)
      if (type === null) throw noType(name)
      return previewType(deps.types, request.caller, type, request.body)
    },
  )

  typed.post(
    '/v1/types/preview',
    {
      config: { access: READ, problems: ['document_too_large', 'schema_too_costly', 'invalid_schema'] },
      schema: {
        summary: 'Validate a payload or evidence by an unregistered definition; writes nothing',
        body: previewDefinitionBody,
        response: { 200: previewView },
      },
      bodyLimit: RECORD_BODY_BYTES_MAX,
    },
    async (request) => {
      const { payload, evidence, ...definition } = request.body
      canonicalOrRefuse(definition)
      const type = await compileOrRefuse(deps.types, request.caller, definition)
      return previewType(deps.types, request.caller, type, { payload, evidence })
    },
  )
}

function requireTypeName({ name, version }: { name: string; version: string }): string {
  const type = `${name}/${version}`
  if (!isTypeName(type)) throw new ApiError('not_found', 'the address has no valid type: name/version')
  return type
}

function noType(name: string): ApiError {
  return new ApiError('not_found', `the ledger has no type ${name}`)
}
