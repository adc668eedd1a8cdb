import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { ApiError } from '../../errors.ts'
import { ENTRY_KINDS, type EntryKind } from '../../proof/statement/kinds.ts'
import { predicateSchemaOf } from '../../proof/statement/predicate-schema.ts'
import type { ZodTypes } from '../zod-validation.ts'

const SCHEMA_TYPE = 'application/schema+json'

/**
 * Serves the schemas of predicates. The predicateType in a statement has the same path, but a host that is not this
 * server.
 */
export function predicateRoutes(app: FastifyInstance): void {
  const jsonSchema = z.looseObject({ $schema: z.string(), $id: z.string() })
  app.withTypeProvider<ZodTypes>().get(
    '/predicates/:kind/v1',
    {
      config: { reads: 'nothing', access: 'public' },
      schema: {
        summary: 'Get the JSON Schema of a kind of statement',
        params: z.strictObject({ kind: z.string().describe('of an entry: `record-notarized`, …') }),
        response: { 200: { content: { [SCHEMA_TYPE]: { schema: jsonSchema } } } },
      },
    },
    async (request, reply) => {
      const { kind } = request.params
      if (!Object.hasOwn(ENTRY_KINDS, kind))
        throw new ApiError('not_found', 'there is no kind of entry with this name')
      return reply.header('content-type', SCHEMA_TYPE).send(predicateSchemaOf(kind as EntryKind))
    },
  )
}
