import { FORMATS } from './formats.ts'
import type { JsonObject, JsonValue } from './json.ts'
import { formatPointer } from './json-pointer.ts'
import { SCHEMA_ENUM_VALUES_MAX } from './limits.ts'

/*
 * Every supported keyword with its allowed values (JSON Schema 2020-12). All other keywords are refused:
 *
 * - keywords that refer to other documents, or that make the meaning of a reference depend on its position ($id,
 *   $dynamicRef, $dynamicAnchor, $vocabulary)
 * - keywords of earlier drafts (definitions, dependencies, additionalItems)
 * - keywords that never refuse a value (contentEncoding and similar keywords)
 */

/** Functions of the schema reader (read-schema.ts) that keywords use. `path`: position of the keyword. */
type KeywordReader = {
  readSubschema(schema: JsonValue, path: string[], around: string | null): void
  pattern(pattern: string, path: string[]): void
  reference(reference: string, path: string[]): void
  anchor(name: string, path: string[]): void
  error(path: readonly string[], detail: string): Error
}

type ReadKeyword = (reader: KeywordReader, value: JsonValue, path: string[]) => void

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'
const ANCHOR = /^[A-Za-z_][-A-Za-z0-9._]*$/
const TYPE_NAMES = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']

export function isJsonObject(value: JsonValue): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function must(test: (value: JsonValue) => boolean, be: string): ReadKeyword {
  return (reader, value, path) => {
    if (!test(value)) throw reader.error(path, `must be ${be}`)
  }
}

const isText = (value: JsonValue) => typeof value === 'string'
const isNames = (value: JsonValue): value is string[] =>
  Array.isArray(value) && value.every(isText) && new Set(value).size === value.length

const text = must(isText, 'a string')
const flag = must((value) => typeof value === 'boolean', 'a boolean')
const number = must((value) => typeof value === 'number', 'a number')
const count = must((value) => Number.isSafeInteger(value) && (value as number) >= 0, 'an integer ≥ 0')
const names = must(isNames, 'an array of different strings')
const anything: ReadKeyword = () => {}

/**
 * Returns the reader of a keyword whose value is a subschema. `inPlace`: true if the subschema checks the same value as
 * the surrounding schema.
 */
function subschema(inPlace: boolean): ReadKeyword {
  return (reader, value, path) => reader.readSubschema(value, path, inPlace ? schemaPointerOf(path) : null)
}

function subschemaList(inPlace: boolean): ReadKeyword {
  return (reader, value, path) => {
    if (!Array.isArray(value) || value.length === 0)
      throw reader.error(path, 'must be a non-empty array of schemas')
    for (const [i, schema] of value.entries())
      reader.readSubschema(schema, [...path, `${i}`], inPlace ? schemaPointerOf(path) : null)
  }
}

function subschemaMap(inPlace: boolean): ReadKeyword {
  return (reader, value, path) => {
    if (!isJsonObject(value)) throw reader.error(path, 'must be an object of schemas')
    for (const [name, schema] of Object.entries(value))
      reader.readSubschema(schema, [...path, name], inPlace ? schemaPointerOf(path) : null)
  }
}

/** Returns the pointer of the schema that has the keyword at `path`. */
function schemaPointerOf(path: readonly string[]): string {
  return formatPointer(path.slice(0, -1))
}

const readPatternProperties: ReadKeyword = (reader, value, path) => {
  subschemaMap(false)(reader, value, path)
  for (const pattern of Object.keys(value as JsonObject)) reader.pattern(pattern, [...path, pattern])
}

const readDependentRequired: ReadKeyword = (reader, value, path) => {
  if (!isJsonObject(value) || !Object.values(value).every(isNames))
    throw reader.error(path, 'must be an object whose values are arrays of different strings')
}

const readEnum: ReadKeyword = (reader, value, path) => {
  if (!Array.isArray(value) || value.length === 0) throw reader.error(path, 'must be a non-empty array')
  if (value.length > SCHEMA_ENUM_VALUES_MAX)
    throw reader.error(path, `has more than ${SCHEMA_ENUM_VALUES_MAX} values`)
}

const isTypeName = (value: JsonValue) => TYPE_NAMES.includes(value as string)
const isTypes = (value: JsonValue) =>
  isTypeName(value) || (isNames(value) && value.length > 0 && value.every(isTypeName))

const readPattern: ReadKeyword = (reader, value, path) => {
  text(reader, value, path)
  reader.pattern(value as string, path)
}

const readReference: ReadKeyword = (reader, value, path) => {
  text(reader, value, path)
  reader.reference(value as string, path)
}

const readAnchor: ReadKeyword = (reader, value, path) => {
  must((name) => typeof name === 'string' && ANCHOR.test(name), 'a name')(reader, value, path)
  reader.anchor(value as string, path)
}

/** Reads $schema. It is allowed only at the root, because a subschema with another $schema would follow other rules. */
const readDialect: ReadKeyword = (reader, value, path) => {
  if (value !== DIALECT || path.length > 1) throw reader.error(path, `must be ${DIALECT}, at the root only`)
}

export const KEYWORDS: Readonly<Record<string, ReadKeyword>> = {
  $schema: readDialect,
  $ref: readReference,
  $defs: subschemaMap(false),
  $anchor: readAnchor,
  $comment: text,
  title: text,
  description: text,
  default: anything,
  examples: must(Array.isArray, 'an array'),
  deprecated: flag,
  readOnly: flag,
  writeOnly: flag,

  type: must(isTypes, `one of ${TYPE_NAMES.join(', ')}, or an array of them`),
  enum: readEnum,
  const: anything,
  multipleOf: must((value) => typeof value === 'number' && value > 0, 'a number > 0'),
  maximum: number,
  exclusiveMaximum: number,
  minimum: number,
  exclusiveMinimum: number,
  maxLength: count,
  minLength: count,
  pattern: readPattern,
  format: must(
    (value) => typeof value === 'string' && Object.hasOwn(FORMATS, value),
    `one of ${Object.keys(FORMATS).join(', ')}`,
  ),
  maxItems: count,
  minItems: count,
  uniqueItems: flag,
  maxContains: count,
  minContains: count,
  maxProperties: count,
  minProperties: count,
  required: names,
  dependentRequired: readDependentRequired,

  allOf: subschemaList(true),
  anyOf: subschemaList(true),
  oneOf: subschemaList(true),
  not: subschema(true),
  if: subschema(true),
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: subschema(true),
  else: subschema(true),
  dependentSchemas: subschemaMap(true),
  prefixItems: subschemaList(false),
  items: subschema(false),
  contains: subschema(false),
  properties: subschemaMap(false),
  patternProperties: readPatternProperties,
  additionalProperties: subschema(false),
  propertyNames: subschema(false),
  unevaluatedItems: subschema(false),
  unevaluatedProperties: subschema(false),
}

/** Maps a keyword to another keyword without which it has no effect. */
export const PARTNERS: Readonly<Record<string, string>> = {
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: 'if',
  else: 'if',
  minContains: 'contains',
  maxContains: 'contains',
}
