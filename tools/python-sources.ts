import { ERROR_CODES } from '../src/errors.ts'
import * as requestLimits from '../src/proof/request-limits.ts'
import { FILTER_ENTRIES } from '../src/proof/statement/record-filters.ts'
import { MEMBER_NAMES, OTHER_MEMBERS } from '../src/proof/statement/record-members.ts'
import type { OpenApi, Schema } from './open-api.ts'
import { operationsOf } from './open-api.ts'
import { repeatOf } from './sdk-sources.ts'
import { definitionsOf, findSchema } from './sdk-types.ts'

/*
 * Generates what the Python client must know about the server: tables in Python, and the schemas from which `npm run
 * python` makes models (python/tools/generate.py).
 */

const MADE_BY = '# Made by `npm run docs` from /openapi.json; not to be edited.\n'
/** Line length of python/'s formatter. */
const LINE_CHARS_MAX = 140
const FOLDER = 'python/src/tallystick/_core'

export function pythonSources(openApi: OpenApi): Record<string, string> {
  return {
    [`${FOLDER}/operations.py`]: operationTable(openApi),
    [`${FOLDER}/advice.py`]: adviceTable(),
    [`${FOLDER}/members.py`]: memberTable(),
    [`${FOLDER}/request_limits.py`]: limitTable(),
  }
}

/**
 * Renders the table of the signed members of records. Methods of the client take members with a text value as arguments
 * by this table alone. The signatures of methods name the other members one by one.
 */
function memberTable(): string {
  const filters = new Set(FILTER_ENTRIES.map(([name]) => name))
  const others = OTHER_MEMBERS.map(([name, { description }]) => ({
    name,
    argument: snakeCase(name),
    description,
  }))
  const typedDict = (name: string, about: string, fields: typeof others) =>
    `class ${name}(TypedDict, total=False):
    """${about}"""
${fields.map(({ argument, description }) => `\n    ${argument}: str | None\n    """${description}"""\n`).join('')}`
  return `# Made by \`npm run docs\` from src/proof/statement/record-members.ts; not to be edited.

from collections.abc import Mapping
from typing import Final, TypedDict

SIGNED_MEMBERS: Final = (
${MEMBER_NAMES.map((name) => `    ${quoted(name)},`).join('\n')}
)
"""Optional members of records, by the server's names, in the order in which statements have them."""


${typedDict('OtherMembers', 'Members that are signed unchanged.', others)}

OTHER_MEMBERS: Final[Mapping[str, str]] = {${others.map(({ name, argument }) => `${quoted(argument)}: ${quoted(name)}`).join(', ')}}
"""Names of these members in the API, by argument."""


${typedDict(
  'OtherFilters',
  'Filters of a search by these members.',
  others.filter(({ name }) => filters.has(name)),
)}`
}

function limitTable(): string {
  const rows = Object.entries(requestLimits).map(([name, value]) => `${name}: Final = ${digits(value)}`)
  return `# Made by \`npm run docs\` from src/proof/request-limits.ts, which says what each is; not to be edited.

from typing import Final

${rows.join('\n')}
`
}

function digits(value: number): string {
  return `${value}`.replaceAll(/\B(?=(\d{3})+$)/g, '_')
}

function operationTable(openApi: OpenApi): string {
  const rows = operationsOf(openApi).map(({ method, path, operation }) => {
    const name = snakeCase(operation.operationId)
    const said = [method.toUpperCase(), path, repeatOf(method, operation)].map(quoted).join(', ')
    const row = `${name.toUpperCase()} = Operation(${said})`
    return row.length <= LINE_CHARS_MAX ? row : `${name.toUpperCase()} = Operation(\n    ${said}\n)`
  })
  return `${MADE_BY}
from typing import Literal, NamedTuple

API_VERSION = ${quoted(openApi.info.version)}
"""Release of the server from which this file was made."""


class Operation(NamedTuple):
    """One route. \`repeat\`: when a request can be repeated without being done twice: always, with the same key, or never."""

    method: str
    path: str
    repeat: Literal['freely', 'with-key', 'never']


${rows.join('\n')}
`
}

function adviceTable(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, [, , , advice]]) => `    ${quoted(code)}: ${quoted(advice)},`,
  )
  return `${MADE_BY}
ADVICE = {
${rows.join('\n')}
}
"""Advice for each error of the server (docs/reference/errors.md)."""
`
}

/**
 * Maps answers to their Python names. Pages are left out, because Python has `Page`. OTLP answers are left out, because
 * only exporters read them.
 */
const ANSWERS: Readonly<Record<string, string>> = {
  DeleteRecordsByIdPayloadAnswer: 'ErasureAnswer',
  GetCheckpointsConsistencyAnswer: 'ConsistencyProof',
  GetEventsAnswer: 'EventPage',
  GetLedgerAnswer: 'OwnLedger',
  GetLivezAnswer: 'Liveness',
  GetReadyzAnswer: 'Readiness',
  GetRecordsByIdProofAnswer: 'EntryProof',
  GetRecordsByIdTreeAnswer: 'RecordTree',
  GetWellKnownTallystickKeysJsonAnswer: 'KeyDocument',
  PostExportsAnswer: 'ExportMade',
  PostKeysAnswer: 'KeyWithSecret',
  PostKeysByIdRevokeAnswer: 'KeyRevocation',
  PostLedgersAnswer: 'NewLedger',
  PostRecordsBatchAnswer: 'Batch',
  PostRetentionPreviewAnswer: 'RetentionPreview',
  PostTypesByNameByVersionPreviewAnswer: 'Preview',
  PostWebhooksAnswer: 'WebhookWithSecret',
  PostWebhooksByIdRedeliverDeadAnswer: 'Redelivery',
  PutKeysByIdOtlpAnswer: 'KeyOtlp',
  PutKeysByIdRateLimitAnswer: 'RateLimitAnswer',
  PutLedgersByIdTilesBody: 'LedgerTiles',
}

/** Maps Python names to schemas within answers. The value is the path of one occurrence of the schema. */
const PARTS: Readonly<Record<string, string>> = {
  TypeSummary: 'GetTypesAnswer/properties/data/items',
  CheckpointPlace: 'GetCheckpointsAnswer/properties/data/items',
  RecordHistoryEntry: 'GetRecordsByIdEntriesAnswer/properties/data/items',
}

/** Maps the Python name of a union to the Python names of its members, in the union's order. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  LedgerEvent: ['Record', 'Signal', 'Batch', 'Erasure', 'Received', 'Statement', 'Checkpoint', 'Unknown'].map(
    (kind) => `${kind}Event`,
  ),
  WebhookEvent: [
    ...['Record', 'Signal', 'Batch', 'Erasure', 'Received', 'Statement', 'Checkpoint'],
    ...['WebhookPaused', 'WebhookTest', 'Unknown'],
  ].map((kind) => `Delivered${kind}Event`),
}

type Definitions = Readonly<Record<string, Schema>>
/** JSON Schema in the form in which it is written to a file. */
type Written = Record<string, unknown>

/** Returns the schemas of every answer, and of every schema that answers contain, by name. */
export function answerSchemas(openApi: OpenApi): object {
  const definitions: Record<string, Schema> = { ...definitionsOf(openApi) }
  for (const [name, path] of Object.entries(PARTS)) definitions[name] = findSchema(definitions, path)
  for (const [old, name] of Object.entries(ANSWERS)) definitions[name] = definitions[old]!
  for (const name of ['LedgerEvent', 'WebhookEvent']) definitions[name] = withUnknown(definitions[name]!)
  definitions['KeyWithSecret'] = withSecret(definitions['KeyWithSecret']!)
  const wanted = Object.keys(definitions).filter((name) => !/(Query|Body|Answer|^RpcStatus)$/.test(name))
  return schemasOf(definitions, ANSWERS, [...wanted, 'ErasureAnswer', 'RateLimitAnswer'], open)
}

/** Maps Python names to the values that a caller passes within a body. The value is the path of one occurrence. */
const VALUES: Readonly<Record<string, string>> = {
  BatchItemParam: 'PostRecordsBatchBody/properties/records/items',
  BudgetParam: 'PutPeersByIdBudgetBody/properties/budget/anyOf/0',
  KnownCheckpointParam: 'PostLedgersByIdRestoreBody/properties/known',
  IssuerParam: 'PutRegistrationPolicyBody/properties/issuers/items',
  EndorsementParam: 'PostAgentsByIdSigningKeysBody/properties/endorsement',
  OtlpSettingsParam: 'OtlpSettings',
  RateLimitParam: 'RateLimit',
  RuleParam: 'Rule',
  SharedWithParam: 'SharedWith',
  TypeDefinitionParam: 'PostTypesBody',
  WebhookEventName: 'PostWebhooksBody/properties/events/items',
}

/**
 * Returns the schemas of VALUES, and of enums that a caller passes. The schemas accept exactly what the server accepts.
 */
export function valueSchemas(openApi: OpenApi): object {
  const definitions: Record<string, Schema> = { ...definitionsOf(openApi) }
  for (const [name, path] of Object.entries(VALUES)) definitions[name] = findSchema(definitions, path)
  const renamed = { Rule: 'RuleParam', SharedWith: 'SharedWithParam', RateLimit: 'RateLimitParam' }
  const words = ['RecordState', 'Scope', 'EntryKind']
  return schemasOf(definitions, renamed, [...Object.keys(VALUES), ...words], (schema) => schema)
}

/**
 * Returns the wanted schemas and the schemas that they refer to. Every object gets a name, which is made from its
 * path.
 */
function schemasOf(
  definitions: Definitions,
  renamed: Readonly<Record<string, string>>,
  wanted: readonly string[],
  change: (schema: Written, place: readonly string[]) => Written,
): object {
  const found: Record<string, unknown> = {}
  const take = (alias: string): string => {
    const name = renamed[alias] ?? alias
    const { tsType } = definitions[alias]!
    if (typeof tsType === 'string') return take(tsType)
    if (name in found) return name
    found[name] = null
    found[name] = written(definitions[alias], [name])
    return name
  }
  const written = (value: unknown, place: readonly string[]): unknown => {
    if (Array.isArray(value)) {
      const members = value.length > 1 ? MEMBERS[place.join('')] : undefined
      const objects = value.filter((item) => item?.properties !== undefined).length
      return value.map((item, i) =>
        written(item, members ? [members[i]!] : objects > 1 ? [...place, `${i + 1}`] : place),
      )
    }
    if (value === null || typeof value !== 'object') return value
    const { tsType, ...members } = value as Schema
    if (tsType === 'ErrorCode') return { ...members, type: 'string' }
    if (typeof tsType === 'string') return { ...members, $ref: `#/components/schemas/${take(tsType)}` }
    const schema = Object.fromEntries(
      Object.entries(members).map(([key, of]) => [
        key,
        key === 'properties' ? properties(of, place) : written(of, place),
      ]),
    )
    return change({ ...schema, ...(schema['properties'] !== undefined && { title: place.join('') }) }, place)
  }
  const properties = (of: object, place: readonly string[]) =>
    Object.fromEntries(
      Object.entries(of).map(([name, schema]) => [name, written(schema, [...place, pascalCase(name)])]),
    )
  for (const name of wanted) take(name)
  const schemas = Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)))
  return { openapi: '3.1.0', info: { title: 'Tallystick', version: '1' }, paths: {}, components: { schemas } }
}

/** Adds a member for events of a type that this release does not know. */
function withUnknown(union: Schema): Schema {
  const members = (union.oneOf ?? union.anyOf) as readonly Schema[]
  const [first] = members
  const unknown = { ...first, properties: { ...first!.properties, type: { type: 'string' }, data: {} } }
  return { anyOf: [...members, unknown] } as Schema
}

/**
 * Makes the secret required. If an answer has no secret, the client raises an error instead of returning the answer.
 */
function withSecret({ properties, ...schema }: Schema): Schema {
  return { ...schema, properties: { ...properties, key: { type: 'string' } } } as Schema
}

/**
 * Makes a schema accept enum values and members of newer servers. The type of an event stays closed, because it
 * selects the union's member.
 */
function open({ additionalProperties, ...schema }: Written, place: readonly string[]): Written {
  const { enum: words = schema['const'] === undefined ? [] : [schema['const']] } = schema
  const isTag = place.length === 2 && place[1] === 'Type' && EVENTS.has(place[0]!)
  const isWords = Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === 'string')
  if (isWords && !isTag) {
    const { type: _type, enum: _enum, const: _const, ...rest } = schema
    return { ...rest, anyOf: [{ type: 'string', enum: words }, { type: 'string' }] }
  }
  const isMap = schema['properties'] === undefined && additionalProperties !== undefined
  return { ...schema, ...(isMap && { additionalProperties }) }
}

const EVENTS = new Set(Object.values(MEMBERS).flat())

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function quoted(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\')
  return escaped.includes("'") && !escaped.includes('"')
    ? `"${escaped}"`
    : `'${escaped.replaceAll("'", "\\'")}'`
}

function pascalCase(name: string): string {
  return name[0]!.toUpperCase() + name.slice(1)
}
