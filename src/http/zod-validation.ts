import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FastifyInstance, FastifyTypeProvider } from 'fastify'
import { z } from 'zod'
import { ApiError, type ErrorCode } from '../errors.ts'
import { isPlainText } from '../proof/names.ts'
import { isName, NAME_RULE, TEXT_RULE } from './schemas/names.ts'
import { TIME, TIME_DESCRIPTION } from './schemas/times.ts'

/** Unknown parameters are refused, so a route without a query schema accepts none. */
const noQuery = z.strictObject({})

/**
 * One zod schema is the source of a route's types and of its validation. ajv validates, compiled from the schema: 0.2
 * µs for a batch item, for which zod's own parse takes 0.9 to 1.9. So a request schema may contain no transform, and
 * no refinement that JSON Schema cannot express. `z.toJSONSchema` throws on the first; reviewers must find the
 * second.
 */
export interface ZodTypes extends FastifyTypeProvider {
  readonly validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown
}

declare module 'fastify' {
  interface FastifySchema {
    summary?: string
  }
  interface FastifyContextConfig {
    /** Problems of this route beyond those of its kind. */
    problems?: readonly ErrorCode[]
    /** Set by `useZodValidation`. */
    mayOmitBody?: boolean
  }
}

/** Returns whether the body may be missing: `{}` is valid. An operator who freezes a ledger in a hurry sends none. */
export function mayOmitBody(body: unknown): boolean {
  return body instanceof z.ZodType && body.safeParse({}).success
}

// No coercion, no defaults, no removal: a request is accepted unchanged, or refused.
const ajv = new Ajv2020({
  strict: true,
  allowUnionTypes: true,
  validateSchema: false,
  // Adds schema and data to errors, so that a fault can name all missing members.
  verbose: true,
  formats: { name: isName, text: isPlainText },
})
/**
 * Routes, and the 405 answers at their addresses, name 172 schemas, of which 40 differ. Compiling all of them took
 * 0.1 s of each start.
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
  // Responses are described for the documentation only. Tests check every answer against its description.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  app.setValidatorCompiler<z.ZodType>(({ schema, httpPart }) => {
    const isValid = compileOnce(schema)
    return (data: unknown) => {
      if (data instanceof ValidatedBody || isValid(data)) return { value: data }
      return { error: toApiError(httpPart ?? 'body', isValid.errors![0]!) }
    }
  })
}

/** A body that was validated when it was read (`readBody` of a route's config). */
export abstract class ValidatedBody {}

/** Returns `data` if it is valid. Throws ApiError otherwise. */
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
 * Describes a fault better than ajv, which lists no values of an enum, and shows a pattern of 200 characters for a
 * time.
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
