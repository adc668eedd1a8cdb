import type { FastifyInstance, HTTPMethods, RouteOptions } from 'fastify'
import { z } from 'zod'
import type { ErrorCode } from '../../errors.ts'
import { BODY_BYTES_MAX } from '../../load/limits.ts'
import type { Access, PeerAccess } from '../plugins/authenticate.ts'
import { type ReadFrom, takesKnownSize } from '../reads/reads.ts'
import { groupOf } from './groups.ts'
import { problemsOf } from './possible-problems.ts'

export type Operation = {
  readonly method: HTTPMethods
  /** Path in OpenAPI's notation: `/v1/records/{id}`. */
  readonly path: string
  readonly group: string
  readonly summary: string
  readonly access: Exclude<Access, PeerAccess>
  readonly params: z.ZodType | null
  readonly query: z.ZodType | null
  readonly body: z.ZodType | null
  readonly bodyBytesMax: number
  /** True if bodies and problems are in CBOR (SCRAPI). */
  readonly scrapi: boolean
  /** True if bodies and problems have the form of OTLP, in protobuf or JSON. */
  readonly otlp: boolean
  readonly answers: readonly Answer[]
  /** The server from which a GET reads. null if the operation writes. */
  readonly reads: ReadFrom | null
  /** Every error that the operation can answer, in the order of docs/reference/errors.md. */
  readonly problems: readonly ErrorCode[]
}

export type Answer = {
  readonly status: string
  /** null if the answer has no body. */
  readonly content: { readonly mediaType: string; readonly schema: z.ZodType } | null
}

declare module 'fastify' {
  interface FastifySchema {
    /**
     * True if the route is not an operation of the REST API: an answer of 405, a call between the servers of peers,
     * or a message of MCP.
     */
    hide?: boolean
  }
}

/**
 * Collects the operations of all routes that are registered after this call. Registering a route throws if the route
 * has no summary, no answers or no group. So the documentation is always complete.
 */
export function collectOperations(app: FastifyInstance): readonly Operation[] {
  const operations: Operation[] = []
  app.addHook('onRoute', (route) => {
    if (!route.schema?.hide) operations.push(operationOf(route))
  })
  return operations
}

function operationOf(route: RouteOptions): Operation {
  const { summary, params, querystring, body, response } = route.schema ?? {}
  const where = `${route.method} ${route.url}`
  if (!summary || !response)
    throw new Error(`the route ${where} does not say what it is for and what it answers`)
  const method = route.method as HTTPMethods
  const access = route.config!.access!
  if (access === 'peer' || access === 'introduction') throw new Error(`${where} is for peers: hide it`)
  // Fastify does not name a wildcard, so it gets the name `path`.
  const path = route.url.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{path}')
  return {
    method,
    path,
    group: groupOf(path),
    summary,
    access,
    params: (params as z.ZodType | undefined) ?? null,
    query: (querystring as z.ZodType | undefined) ?? null,
    body: (body as z.ZodType | undefined) ?? null,
    bodyBytesMax: route.bodyLimit ?? BODY_BYTES_MAX,
    scrapi: route.config!.scrapi ?? false,
    otlp: route.config!.otlp !== undefined,
    answers: Object.entries(response as Record<string, ResponseSchema>).flatMap(answersOf),
    reads: route.config!.reads ?? null,
    problems: problemsOf({
      method,
      access,
      addressed: route.url.includes(':'),
      takesKnownSize: takesKnownSize(route.config!),
      largeBody: (route.bodyLimit ?? 0) > BODY_BYTES_MAX,
      declared: route.config!.problems ?? [],
    }),
  }
}

/**
 * Schema of an answer. A zod schema means JSON, and `z.undefined()` means that there is no body. For other media
 * types, Fastify's own form is used.
 */
type ResponseSchema = z.ZodType | { readonly content: Readonly<Record<string, { schema: z.ZodType }>> }

function answersOf([status, response]: [string, ResponseSchema]): Answer[] {
  if (response instanceof z.ZodUndefined) return [{ status, content: null }]
  if (response instanceof z.ZodType) {
    return [{ status, content: { mediaType: 'application/json', schema: response } }]
  }
  return Object.entries(response.content).map(([mediaType, { schema }]) => ({
    status,
    content: { mediaType, schema },
  }))
}
