import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FastifyInstance, FastifyTypeProvider } from 'fastify'
import { z } from 'zod'
import { ApiError, type ErrorCode } from '../errors.ts'
import { isPlainText } from '../proof/names.ts'
import { isName, NAME_RULE, TEXT_RULE } from './schemas/names.ts'
import { TIME, TIME_DESCRIPTION } from './schemas/times.ts'

/** Unknown parameters are refused. So a route without a query schema accepts no parameters. */
const noQuery = z.strictObject({})

/**
 * A route's types and its validation come from the same zod schema. ajv validates with code compiled from the schema:
 * 0.2 µs for a batch item. zod's own parse takes 0.9 to 1.9 µs. Therefore a request schema must not contain a
 * transform, nor a refinement that JSON Schema cannot express. `z.toJSONSchema` throws for a transform, but a
 * refinement must be found by reviewers.
 */
export interface ZodTypes extends FastifyTypeProvider {
  readonly validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown
}

declare module 'fastify' {
  interface FastifySchema {
    summary?: string
  }
  interface FastifyContextConfig {
    /** Problems of this route, in addition to the problems of its kind. */
    problems?: readonly ErrorCode[]
    /** `useZodValidation` sets it. */
    mayOmitBody?: boolean
  }
}

/**
 * Returns whether the body may be missing, which is so if `{}` is valid. For example, an operator who freezes a
 * ledger in a hurry sends no body.
 */
export function mayOmitBody(body: unknown): boolean {
  return body instanceof z.ZodType && body.safeParse({}).success
}

// Nothing is converted, added or removed: a request is accepted unchanged or refused.
const ajv = new Ajv2020({
  strict: true,
  allowUnionTypes: true,
  validateSchema: false,
  // Adds schema and data to errors, so that the error can name all missing members.
  verbose: true,
  formats: { name: isName, text: isPlainText },
})
/**
 * Compiled schemas. Routes, and the 405 answers at their addresses, use 172 schemas, but only 40 different ones.
 * Compiling each use took 0.1 s of each start.
 */
const compiled = new WeakMap<z.ZodType, ValidateFunction>()

export function useZodValidation(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    route.schema = { querystring: noQuery, ...route.schema }
    if (mayOmitBody(route.schema.body)) route.config = { ...route.config!, mayOmitBody: true }
  })
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.body === undefined && request.routeOptions.config.mayOmitBody) request.body = {}
    done()
  })
  // Schemas of responses are only for the documentation. Tests check every answer against its schema.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  app.setValidatorCompiler<z.ZodType>(({ schema, httpPart }) => {
    const isValid = compileOnce(schema)
    return (data: unknown) => {
      if (data instanceof ValidatedBody || isValid(data)) return { value: data }
      return { error: toApiError(httpPart ?? 'body', isValid.errors![0]!) }
    }
  })
}

/** A body that was already validated when it was read (`readBody` of a route's config). */
export abstract class ValidatedBody {}

/** Returns `data` if it is valid. Otherwise throws ApiError. */
export function validate(schema: z.ZodType, part: string, data: unknown): unknown {
  const isValid = compileOnce(schema)
  if (isValid(data)) return data
  throw toApiError(part, isValid.errors![0]!)
}

function compileOnce(schema: z.ZodType): ValidateFunction {
  const found = compiled.get(schema)
  if (found) return found
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema)
  const made = ajv.compile(jsonSchema)
  compiled.set(schema, made)
  return made
}

function toApiError(part: string, error: ErrorObject): ApiError {
  const path = error.instancePath
  const fault = describeFault(error)
  const place = path === '' ? `the ${part === 'querystring' ? 'query' : part}` : path
  const item = /^\/records\/(\d+)/.exec(path)
  return new ApiError('invalid_request', `${place} ${fault}`, {
    members: { path, ...(item ? { index: Number(item[1]) } : {}) },
  })
}

/**
 * Describes a fault better than ajv does. ajv does not list the values of an enum, and for a time it shows a pattern
 * of 200 characters.
 */
function describeFault({ keyword, params, message, parentSchema, data }: ErrorObject): string {
  if (keyword === 'required') {
    const missing = (parentSchema!['required'] as string[]).filter(
      (name) => !Object.hasOwn(data as object, name),
    )
    return `must have ${missing.join(', ')}: ${missing.length > 1 ? 'they are missing' : 'it is missing'}`
  }
  if (keyword === 'additionalProperties')
    return `must not have the member ${JSON.stringify(params['additionalProperty'])}`
  if (keyword === 'enum') return `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`
  if (keyword === 'format') return params['format'] === 'name' ? NAME_RULE : TEXT_RULE
  const isTime = keyword === 'pattern' && params['pattern'] === TIME.source
  return isTime ? `must be a time such as 2026-11-20T12:00:00Z (${TIME_DESCRIPTION})` : message!
}
