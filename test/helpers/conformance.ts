import assert from 'node:assert/strict'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FastifyInstance, LightMyRequestResponse as Response } from 'fastify'

export type OpenApi = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

type DocumentedOperation = {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string; readonly in: string }[]
  readonly responses: Readonly<Record<string, DocumentedAnswer>>
}

type DocumentedAnswer = {
  readonly headers?: Readonly<Record<string, object>>
  readonly content?: Readonly<Record<string, { readonly schema: object }>>
}

type Request = {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Headers that must be declared in the OpenAPI document if an answer has them. */
const DOCUMENTED_HEADERS = [
  'Idempotency-Replayed',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Tallystick-Ledger-Size',
  'WWW-Authenticate',
] as const
/** Maximum number of NDJSON lines that are checked. Exports are long, and their lines are alike. */
const LINES_MAX = 200

/** OpenAPI document that all applications of this process share. */
let document: Promise<OpenApi> | undefined
/**
 * Validators are made without optimization, because each of them runs only a few times. This reduces the total cost by
 * 40 %.
 */
const ajv = new Ajv2020({
  strict: false,
  validateSchema: false,
  validateFormats: false,
  code: { optimize: false },
  inlineRefs: false,
})
/** Maps the text of a schema to its validator. A thousand answers share about a hundred schemas. */
const validators = new Map<string, ValidateFunction>()

/** Fails unless `/openapi.json` declares the answer for this address: its status, media type, headers and body. */
export async function assertDocumented(
  app: FastifyInstance,
  request: Request,
  response: Response,
): Promise<void> {
  // These addresses are not in the document. Only servers call federation (docs/formats/federation.md). /mcp has its
  // own protocol (docs/integrations/mcp.md). The console is static files.
  if (request.url.startsWith('/v1/federation/') || request.url === '/mcp') return
  if (/^\/console(\/|$)/.test(request.url)) return
  document ??= readDocument(app)
  const { paths } = await document
  const path = findPath(paths, request.url)
  // OPTIONS has the same answer at every address (src/http/plugins/methods.ts), so it is not checked. HEAD is checked
  // like GET, but without content.
  if (request.method === 'OPTIONS') return
  const isHead = request.method === 'HEAD'
  const operation = path && paths[path]![isHead ? 'get' : request.method.toLowerCase()]
  const where = `${request.method} ${path ?? request.url} → ${response.statusCode}`
  if (!operation) {
    assert.ok(
      [400, 404, 405, 414].includes(response.statusCode),
      `${where}: /openapi.json does not know the operation`,
    )
    return
  }
  if (isHead && response.statusCode === 405) return
  const answer = operation.responses[response.statusCode]
  const code = response.body.slice(0, 300)
  assert.ok(answer, `${where} is not in /openapi.json (config.problems, or schema.response): ${code}`)
  for (const name of DOCUMENTED_HEADERS) {
    if (response.headers[name.toLowerCase()] === undefined) continue
    assert.ok(answer.headers?.[name], `${where}: /openapi.json does not name the header ${name}`)
  }
  if (response.statusCode < 300 && request.headers['idempotency-key'] !== undefined) {
    const taken = operation.parameters.some(({ name }) => name === 'Idempotency-Key')
    assert.ok(taken, `${where}: the route must declare \`idempotency_key_reused\` to take an Idempotency-Key`)
  }
  if (isHead) return assert.equal(response.body, '', where)
  assertBody(answer, `${path}/${request.method.toLowerCase()}`, response, where)
}

function assertBody(answer: DocumentedAnswer, place: string, response: Response, where: string): void {
  if (!answer.content) {
    assert.equal(response.body, '', `${where} has a body that /openapi.json does not know`)
    return
  }
  const sent = String(response.headers['content-type'])
  const mediaType = Object.keys(answer.content).find((type) => sent.split(';')[0] === type.split(';')[0])
  assert.ok(mediaType, `${where}: /openapi.json does not know ${sent}`)
  const schema = JSON.stringify(answer.content[mediaType]!.schema)
  const validate = validatorOf(schema, [place, String(response.statusCode), mediaType])
  for (const value of valuesOf(mediaType, response.body)) {
    if (validate(value)) continue
    const [first] = validate.errors!
    const got = JSON.stringify(value).slice(0, 300)
    const fault = `${first!.instancePath} ${first!.message} ${JSON.stringify(first!.params)}`
    assert.fail(`${where} is not as /openapi.json says (src/http/schemas): ${fault}: ${got}`)
  }
}

function valuesOf(mediaType: string, body: string): unknown[] {
  if (mediaType.includes('ndjson')) {
    const lines = body.split('\n').slice(0, -1)
    return [...lines.slice(0, LINES_MAX), ...lines.slice(LINES_MAX).slice(-1)].map((line) => JSON.parse(line))
  }
  return [mediaType.includes('json') ? JSON.parse(body) : body]
}

function validatorOf(
  schema: string,
  [place, status, mediaType]: [place: string, status: string, mediaType: string],
): ValidateFunction {
  const found = validators.get(schema)
  if (found) return found
  const pointer = ['paths', ...splitPlace(place), 'responses', status, 'content', mediaType, 'schema']
    .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
    .join('/')
  const made = ajv.compile({ $ref: `openapi#/${pointer}` })
  validators.set(schema, made)
  return made
}

function splitPlace(place: string): [path: string, method: string] {
  const end = place.lastIndexOf('/')
  return [place.slice(0, end), place.slice(end + 1)]
}

/** Returns the documented path of a URL. A path without parameters takes precedence. */
function findPath(paths: OpenApi['paths'], url: string): string | undefined {
  const [address] = url.split('?')
  if (Object.hasOwn(paths, address!)) return address
  return Object.keys(paths).find((path) =>
    new RegExp(
      `^${path
        .replaceAll('.', '\\.')
        .replace('{path}', '.+')
        .replaceAll(/\{\w+\}/g, '[^/]+')}$`,
    ).test(address!),
  )
}

async function readDocument(app: FastifyInstance): Promise<OpenApi> {
  const response = await app.inject('/openapi.json')
  assert.equal(response.statusCode, 200, response.body)
  const read = response.json() as OpenApi
  ajv.addSchema(read, 'openapi')
  return read
}
