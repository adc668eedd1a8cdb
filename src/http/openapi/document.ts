import { readFileSync } from 'node:fs'
import { STATUS_CODES } from 'node:http'
import type { z } from 'zod'
import { ERROR_CODES, type ErrorCode } from '../../errors.ts'
import { VERSION } from '../../observe/version.ts'
import { EVENT_STREAM } from '../answers/accept.ts'
import { otlpStatus, PROTOBUF_TYPE } from '../answers/otlp-answers.ts'
import { STATEMENT_TYPES } from '../plugins/json-body.ts'
import { CONCISE_PROBLEM_TYPE, PROBLEM_TYPE } from '../plugins/problems.ts'
import { SIZE_TEXT } from '../schemas/common.ts'
import { rpcStatus } from '../schemas/otlp.ts'
import { problem } from '../schemas/problem.ts'
import { mayOmitBody } from '../zod-validation.ts'
import { inGroupOrder, isOfReference } from './groups.ts'
import { makeHeaders } from './headers.ts'
import type { Operation } from './operations.ts'
import { takesIdempotencyKey, takesIfMatch } from './possible-problems.ts'
import { SchemaComponents } from './schema-components.ts'
import { describeWebhooks } from './webhooks.ts'

type Json = Record<string, unknown>

const describeUse = (
  publicUrl: string,
) => `An open, self-hosted accountability ledger for AI-agent fleets. Every address refuses unknown fields and
parameters (422) and unsupported methods (405, with \`Allow\`). Errors are problem documents
(RFC 9457) with a stable \`code\`.

A first call, with the key that \`npm start\` printed:

\`\`\`sh
curl -s ${publicUrl}/v1/records \\
  -H "Authorization: Bearer $TALLYSTICK_API_KEY" -H 'Content-Type: application/json' \\
  -d '{"type":"generic/1","payload":{"did":"sent the invoice"}}'
\`\`\``

/** Example answers of a real ledger, by method, path and status. tools/example-answers.ts writes them. */
const EXAMPLES: Json = JSON.parse(readFileSync(new URL('./example-answers.json', import.meta.url), 'utf8'))

/**
 * Returns the OpenAPI 3.1 document of the operations, for `GET /openapi.json`. `publicUrl`: URL by which clients
 * reach this server.
 */
export function describeOperations(operations: readonly Operation[], publicUrl: string): Json {
  const schemas = new SchemaComponents()
  const paths: Record<string, Json> = {}
  const ordered = inGroupOrder(operations)
  for (const operation of ordered) {
    paths[operation.path] ??= {}
    paths[operation.path]![operation.method.toLowerCase()] = describeOperation(operation, schemas)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tallystick',
      version: VERSION,
      description: describeUse(publicUrl),
      license: { name: 'Apache-2.0' },
    },
    // The URL is relative to the address of this document, because the server does not know which proxies are in
    // front of it.
    servers: [{ url: '/' }],
    tags: [...new Set(ordered.filter((each) => !isOfReference(each)).map(({ group }) => group))].map(
      (name) => ({
        name,
      }),
    ),
    paths,
    webhooks: describeWebhooks(schemas),
    components: {
      schemas: schemas.all(),
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', bearerFormat: 'tly_…', description: 'a key of a ledger' },
        operatorKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'tlo_…',
          description: 'the operator’s key',
        },
      },
    },
  }
}

function describeOperation(operation: Operation, schemas: SchemaComponents): Json {
  const { summary, access, body } = operation
  return {
    operationId: operationIdOf(operation),
    summary,
    ...(isOfReference(operation) ? { 'x-internal': true } : { tags: [operation.group] }),
    ...(access !== 'public' && { security: securityOf(access) }),
    // With a key that has only this scope, a caller can read only the records of its own agent.
    ...(typeof access === 'object' && access.own !== undefined && { 'x-own-records-scope': access.own }),
    parameters: [
      ...parametersOf('path', operation.params, schemas),
      ...parametersOf('query', operation.query, schemas),
      ...headerParametersOf(operation),
    ],
    ...(body && {
      requestBody: {
        description: `at most ${operation.bodyBytesMax / 1024} KiB`,
        required: !mayOmitBody(body),
        content: {
          ...Object.fromEntries(
            (operation.scrapi ? STATEMENT_TYPES : ['application/json']).map((type) => [
              type,
              { schema: schemas.add(body) },
            ]),
          ),
          ...(operation.otlp && { [PROTOBUF_TYPE]: { schema: PROTOBUF } }),
        },
      },
    }),
    responses: { ...describeAnswers(operation, schemas), ...describeProblems(operation, schemas) },
  }
}

/**
 * Returns an id that consists of the method and the words of the path: `getRecordsById`. The id must not change,
 * because clients are generated from the ids.
 */
function operationIdOf({ method, path }: Pick<Operation, 'method' | 'path'>): string {
  const words = path
    .replace(/^\/v1\//, '')
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => `by-${name}`)
    .split(/[^A-Za-z0-9]+/)
  const named = words.filter(Boolean)
  return [method.toLowerCase(), ...(named.length > 0 ? named : ['root']).map(capitalize)].join('')
}

function capitalize(word: string): string {
  return word[0]!.toUpperCase() + word.slice(1)
}

/** Returns the ways in which a request can authenticate, as alternatives. A request must satisfy only one of them. */
function securityOf(access: Exclude<Operation['access'], 'public'>): Json[] {
  if (access === 'operator') return [{ operatorKey: [] }]
  const keys = [access.scope, access.own ?? []].flat().map((scope) => ({ apiKey: [scope] }))
  return access.orPublic ? [...keys, {}] : keys
}

function parametersOf(place: 'path' | 'query', schema: z.ZodType | null, schemas: SchemaComponents): Json[] {
  if (!schema) return []
  const { properties = {}, required = [] } = schemas.add(schema) as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name: name === '*' ? 'path' : name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description !== undefined && { description }),
    schema: property,
  }))
}

function headerParametersOf({ problems, answers, reads }: Operation): Json[] {
  const isStream = answers.some(({ content }) => content?.mediaType === EVENT_STREAM)
  return [
    ...(takesIdempotencyKey(problems) ? [IDEMPOTENCY_KEY] : []),
    ...(takesIfMatch(problems) ? [IF_MATCH] : []),
    ...(answers.some(({ status }) => Number(status) === 304) ? [IF_NONE_MATCH] : []),
    ...(problems.includes('ledger_smaller') ? [IF_KNOWN_SIZE] : []),
    ...(reads === 'replica' ? [CACHE_CONTROL] : []),
    ...(isStream ? [LAST_EVENT_ID] : []),
  ]
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'a retry of the same request with the same key gets the first outcome',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
}

const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description: 'the version that the record must have, in quotes, as in its ETag; or a list of versions',
  schema: { type: 'string' },
}

const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'ETags of answers that the client has: 304 while one of them is current',
  schema: { type: 'string' },
}

const IF_KNOWN_SIZE = {
  name: 'If-Known-Size',
  in: 'header',
  required: false,
  description:
    'a ledger size from an earlier answer: this answer then covers at least that number of entries',
  schema: { type: 'string', pattern: SIZE_TEXT.source },
}

const CACHE_CONTROL = {
  name: 'Cache-Control',
  in: 'header',
  required: false,
  description: '`no-cache`: the answer shows the newest state, read from the primary',
  schema: { type: 'string' },
}

const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'when a stream reconnects: the last `id` that it received, used instead of a cursor',
  schema: { type: 'string' },
}

function describeAnswers(operation: Operation, schemas: SchemaComponents): Json {
  const answers: Record<string, { description: string; headers?: object; content?: Json }> = {}
  for (const { status, content } of operation.answers) {
    answers[status] ??= { description: STATUS_CODES[status]!, ...makeHeaders(operation, Number(status)) }
    if (!content) continue
    answers[status].content ??= {}
    const example = EXAMPLES[`${operation.method} ${operation.path} ${status}`]
    answers[status].content[content.mediaType] = {
      schema: schemas.add(content.schema),
      ...(example !== undefined && { example }),
    }
    if (operation.otlp) answers[status].content[PROTOBUF_TYPE] = { schema: PROTOBUF }
  }
  return answers
}

/**
 * Describes the problems of each status. The text of a status lists the codes with which this operation can answer
 * that status.
 */
function describeProblems(operation: Operation, schemas: SchemaComponents): Json {
  const statusOf = (code: ErrorCode): number =>
    operation.otlp ? otlpStatus(ERROR_CODES[code][0]) : ERROR_CODES[code][0]
  const byStatus = Map.groupBy(operation.problems, statusOf)
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `\`${code}\`: ${ERROR_CODES[code][1]}`).join('; '),
        ...makeHeaders(operation, status),
        content: operation.otlp
          ? { 'application/json': { schema: schemas.add(rpcStatus) }, [PROTOBUF_TYPE]: { schema: PROTOBUF } }
          : {
              ...(operation.scrapi && { [CONCISE_PROBLEM_TYPE]: { schema: CONCISE_PROBLEM } }),
              [PROBLEM_TYPE]: { schema: problemOf(codes, schemas) },
            },
      },
    ]),
  )
}

const PROTOBUF = {
  type: 'string',
  format: 'binary',
  description: 'the same message as in JSON, encoded in protobuf',
}

/**
 * Schema of a problem in CBOR, which is the default for SCRAPI's operations. Clients that ask for JSON get a problem
 * document in JSON.
 */
const CONCISE_PROBLEM = { type: 'string', description: 'RFC 9290' }

function problemOf(codes: readonly ErrorCode[], schemas: SchemaComponents): Json {
  return { allOf: [schemas.add(problem), { type: 'object', properties: { code: { enum: codes } } }] }
}
