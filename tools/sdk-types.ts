import { compile, type JSONSchema } from 'json-schema-to-typescript'
import {
  MADE_BY,
  type OpenApi,
  type Operation,
  operationsOf,
  type Parameter,
  type Schema,
} from './open-api.ts'

/**
 * Maps the names of components to new names. The old names mean something else in TypeScript, or too little outside a
 * URL.
 */
const RENAMED: Readonly<Record<string, string>> = {
  Record: 'LedgerRecord',
  Key: 'ApiKey',
  Type: 'RecordType',
}
const nameOf = (component: string) => RENAMED[component] ?? component

/**
 * Maps names to schemas that occur in several answers and are not components of /openapi.json. The value is the path of
 * one occurrence.
 */
const NAMED: Readonly<Record<string, string>> = {
  Scope: 'ApiKey/properties/scopes/items',
  EntryKind: 'EntryPlace/properties/kind',
  RecordState: 'LedgerRecord/properties/state',
  RateLimit: 'ApiKey/properties/rateLimit/anyOf/0',
  Rule: 'PostTypesBody/properties/rules/items',
  RuleOutcome: 'Verification/properties/rules/items',
  SignedEntry: 'GetEntriesBySeqProofAnswer/properties/entry',
  HashedItem: 'EntryLine/properties/items/anyOf/0/items',
  PageQuery: 'GetLedgersQuery',
  NewKey: 'PostLedgersAnswer/properties/key',
  Erasure: 'DeleteRecordsByIdPayloadAnswer/properties/erasure',
}

/**
 * Generates types for every component, and for the JSON input and answer of each operation: `PostRecordsBody`,
 * `GetRecordsQuery`, `PostRecordsAnswer`.
 */
export async function apiTypes(openApi: OpenApi): Promise<string> {
  const schema = {
    type: 'object',
    additionalProperties: false,
    properties: {},
    definitions: definitionsOf(openApi),
  } as unknown as JSONSchema
  const text = await compile(schema, 'Unused', {
    bannerComment: `${MADE_BY}import type { ErrorCode } from './errors.ts'\n`,
    unreachableDefinitions: true,
    additionalProperties: false,
    unknownAny: true,
    format: true,
    style: { semi: false, singleQuote: true, printWidth: 110 },
  })
  return allowUndefined(tidy(text))
}

/** Returns the definitions of `apiTypes` as schemas, by name. A reference to a definition is a `tsType`. */
export function definitionsOf(openApi: OpenApi): Record<string, Schema> {
  return shareNames(prepare(collectDefinitions(openApi)) as Record<string, Schema>)
}

function collectDefinitions(openApi: OpenApi): Record<string, Schema> {
  const definitions: Record<string, Schema> = {}
  for (const [name, schema] of Object.entries(openApi.components.schemas)) definitions[nameOf(name)] = schema
  for (const { operation } of operationsOf(openApi)) {
    const name = operation.operationId[0]!.toUpperCase() + operation.operationId.slice(1)
    const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
    if (query.length > 0) definitions[`${name}Query`] = querySchema(query)
    const body = operation.requestBody?.content['application/json']
    if (body && Object.keys(body.schema.properties ?? {}).length > 0) definitions[`${name}Body`] = body.schema
    const answer = answerOf(operation)
    if (answer) definitions[`${name}Answer`] = answer
  }
  return definitions
}

/**
 * Returns the JSON schema of an operation's first successful status with a JSON answer. Returns null if there is no
 * such status.
 */
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
        { ...(isNumber(schema) ? { type: 'number' } : schema), ...(description && { description }) },
      ]),
    ),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
    additionalProperties: false,
  } as Schema
}

/** Returns true for the schema of a text of digits. A URL contains text, but callers pass a number. */
function isNumber({ pattern }: Schema): boolean {
  return pattern !== undefined && new RegExp(pattern).test('7') && !new RegExp(pattern).test('a')
}

/** Replaces references by names. Removes rules that TypeScript cannot express and that comments would only repeat. */
function prepare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(prepare)
  if (value === null || typeof value !== 'object') return value
  const { $ref, ...members } = value as Schema
  if ($ref !== undefined) return { ...members, tsType: nameOf($ref.split('/').at(-1)!) }
  return Object.fromEntries(
    Object.entries(members)
      .filter(([name, of]) => !UNSAID.has(name) || (typeof of === 'object' && name !== 'examples'))
      .map(([name, of]) => [name, prepare(of)]),
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

/** Gives a repeated schema one name. Schemas are equal if they differ only in their descriptions. */
function shareNames(definitions: Record<string, Schema>): Record<string, Schema> {
  const names = new Map<string, string>()
  const shared: Record<string, Schema> = {}
  const share = (value: unknown, isNamed = false): unknown => {
    if (Array.isArray(value)) return value.map((item) => share(item))
    if (value === null || typeof value !== 'object') return value
    const name = isNamed ? undefined : names.get(meaningOf(value))
    const { description } = value as Schema
    if (name !== undefined) return { ...(description && { description }), tsType: name }
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, share(member)]))
  }
  names.set(meaningOf(findSchema(definitions, 'Problem/properties/code')), 'ErrorCode')
  for (const [name, path] of Object.entries(NAMED)) {
    const schema = findSchema(definitions, path)
    names.set(meaningOf(schema), name)
    const { description: _, ...named } = schema
    shared[name] = share(named, true) as Schema
  }
  for (const [name, schema] of Object.entries(definitions)) {
    shared[name] = share(schema) as Schema
    // An alias is skipped, because the definition to which it refers already has the name.
    if (schema.tsType === undefined && !names.has(meaningOf(schema))) names.set(meaningOf(schema), name)
  }
  return shared
}

function meaningOf(schema: object): string {
  return JSON.stringify({ ...schema, description: undefined })
}

/** Returns the schema at a path such as `Webhook/properties/id`. */
export function findSchema(definitions: Record<string, Schema>, path: string): Schema {
  // biome-ignore lint/suspicious/noExplicitAny: JSON
  const found = path.split('/').reduce<any>((value, name) => value?.[name], definitions)
  if (found === undefined)
    throw new Error(`/openapi.json has nothing at ${path}: name another place in NAMED`)
  return found
}

/** Removes the remarks that the compiler adds, because they are useless here. */
function tidy(text: string): string {
  return text
    .replaceAll(/ *\/\*\*\n(?: *\*\n)? *\* This interface was referenced by[^/]*\*\/\n/g, '')
    .replaceAll(/ *\*\n *\* This interface was referenced by[^/]*?(?=\*\/)/g, ' ')
    .replace(/export interface Unused \{\}\n+/, '')
}

/**
 * Makes optional members accept undefined, so that a caller can pass on a missing value, also under
 * `exactOptionalPropertyTypes`. The compiler has no option for this. The end of a member is found by the indentation of
 * the compiler's output.
 */
function allowUndefined(text: string): string {
  const lines = text.split('\n')
  const indents: number[] = []
  return lines
    .map((line, i) => {
      const optional = /^( +)[\w']+\?:( |$)/.exec(line)
      if (optional) indents.push(optional[1]!.length)
      let ended = line
      while (indents.length > 0 && !goesOn(lines[i + 1]!, indents.at(-1)!)) {
        ended += ' | undefined'
        indents.pop()
      }
      return ended
    })
    .join('\n')
}

function goesOn(next: string, indent: number): boolean {
  const depth = next.search(/\S/)
  return depth > indent || (depth === indent && /^\s*[})\]|]/.test(next))
}
