import { compile, type JSONSchema } from 'json-schema-to-typescript'
import { ERROR_CODES } from '../src/errors.ts'

/* What the SDK knows of the server, as TypeScript: made from /openapi.json and the table of errors, so that nobody repeats them. */

type Schema = JSONSchema & { readonly $ref?: string }
type Parameter = {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}
type Content = Readonly<Record<string, { readonly schema: Schema }>>
type Operation = {
  readonly operationId: string
  readonly summary: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}
export type OpenApi = {
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const MADE_BY = '// Made by `npm run docs` from /openapi.json; not to be edited.\n'

/** Names that mean something else in TypeScript, or too little outside of an address. */
const RENAMED: Readonly<Record<string, string>> = {
  Record: 'LedgerRecord',
  Key: 'ApiKey',
  Type: 'RecordType',
}
const nameOf = (component: string) => RENAMED[component] ?? component

export async function sdkSources(openApi: OpenApi): Promise<Record<string, string>> {
  return {
    'sdk/generated/api.ts': await apiTypes(openApi),
    'sdk/generated/operations.ts': operationTable(openApi),
    'sdk/generated/errors.ts': errorTable(),
  }
}

/** Every component, and of every operation what it takes and answers as JSON: `PostRecordsBody`, `GetRecordsQuery`, `PostRecordsAnswer`. */
async function apiTypes(openApi: OpenApi): Promise<string> {
  const definitions: Record<string, Schema> = {}
  for (const [name, schema] of Object.entries(openApi.components.schemas)) definitions[nameOf(name)] = schema
  for (const { operation } of operationsOf(openApi)) {
    const name = operation.operationId[0]!.toUpperCase() + operation.operationId.slice(1)
    const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
    if (query.length > 0) definitions[`${name}Query`] = querySchema(query)
    const body = operation.requestBody?.content['application/json']
    if (body) definitions[`${name}Body`] = body.schema
    const answer = answerOf(operation)
    if (answer) definitions[`${name}Answer`] = answer
  }
  const schema = {
    type: 'object',
    additionalProperties: false,
    properties: {},
    definitions: prepare(definitions),
  } as unknown as JSONSchema
  const text = await compile(schema, 'Unused', {
    bannerComment: MADE_BY,
    unreachableDefinitions: true,
    additionalProperties: false,
    unknownAny: true,
    format: true,
    style: { semi: false, singleQuote: true, printWidth: 110 },
  })
  return tidy(text)
}

/** Of the statuses that say that it was done, the first that answers JSON. */
function answerOf({ responses }: Operation): Schema | null {
  const contents = Object.entries(responses).filter(([status]) => status.startsWith('2'))
  return contents.map(([, { content }]) => content?.['application/json']?.schema).find(Boolean) ?? null
}

function querySchema(parameters: readonly Parameter[]): Schema {
  return {
    type: 'object',
    properties: Object.fromEntries(
      parameters.map(({ name, schema, description }) => [
        name,
        { ...schema, ...(description && { description }) },
      ]),
    ),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
    additionalProperties: false,
  } as Schema
}

/** References point into `definitions`; what TypeScript cannot say, and would only be repeated in comments, goes. */
function prepare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(prepare)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, of]) => !UNSAID.has(name) || (typeof of === 'object' && name !== 'examples'))
      .map(([name, of]) => [
        name,
        name === '$ref' ? `#/definitions/${nameOf((of as string).split('/').at(-1)!)}` : prepare(of),
      ]),
  )
}

const UNSAID = new Set([
  'pattern',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'examples',
])

/** The compiler's own remarks say nothing here. */
function tidy(text: string): string {
  return text
    .replaceAll(/ *\/\*\*\n(?: *\*\n)? *\* This interface was referenced by[^/]*\*\/\n/g, '')
    .replaceAll(/ *\*\n *\* This interface was referenced by[^/]*?(?=\*\/)/g, ' ')
    .replace(/export interface Unused \{\}\n+/, '')
}

/** `idempotent`: takes an Idempotency-Key, so that it can be repeated without doing it twice. */
function operationTable(openApi: OpenApi): string {
  const rows = operationsOf(openApi).map(({ method, path, operation }) => {
    const headers = (operation.parameters ?? []).filter((parameter) => parameter.in === 'header')
    const idempotent = method === 'get' || headers.some(({ name }) => name === 'Idempotency-Key')
    return `  /** ${operation.summary}. */\n  ${operation.operationId}: { method: '${method.toUpperCase()}', path: '${path}', idempotent: ${idempotent} },`
  })
  return `${MADE_BY}
export type Operation = {
  readonly method: string
  readonly path: string
  /** Can be repeated without doing it twice: it only reads, or takes an Idempotency-Key. */
  readonly idempotent: boolean
}

/** The server's release that this was made from. */
export const API_VERSION = '${openApi.info.version}'

export const operations = {
${rows.join('\n')}
} as const satisfies Record<string, Operation>
`
}

function operationsOf({ paths }: OpenApi) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
}

function errorTable(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, [, , , advice]]) => `  ${code}: ${JSON.stringify(advice)},`,
  )
  return `${MADE_BY}
/** What to do about each error of the server (docs/errors.md). */
export const ADVICE = {
${rows.join('\n')}
} as const

export type ErrorCode = keyof typeof ADVICE
`
}
