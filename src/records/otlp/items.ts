import { chunkKey } from '../../db/chunks/chunk-keys.ts'
import { ApiError } from '../../errors.ts'
import type { OtlpSettings } from '../../ledgers/otlp-settings.ts'
import { DOCUMENT_BYTES_MAX } from '../../ledgers/types/limits.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { isText } from '../../proof/statement/fields.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import type { BatchRequestItem } from '../build-batch.ts'
import { CanonicalDocument, ESCAPED_NUL } from '../documents.ts'
import { contentOf, digestOfValue } from './content.ts'
import { LOG_TYPE, logGroup, logIdentity, SPAN_TYPE, spanIdentity } from './identity.ts'
import { OTLP_ITEMS_MAX, OTLP_RECORD_BYTES_MAX, OTLP_REFERENCE_CHARS_MAX } from './limits.ts'
import { newObject, type Read } from './messages.ts'

/*
 * Records of a request's spans and logs (docs/otlp.md): which of them count, what of each is kept, and by what a second one of it is
 * known.
 */

export type OtlpSignal = 'traces' | 'logs'

export type OtlpItem = {
  readonly record: BatchRequestItem
  /** Key in batch_keys that every record of the same group has, in hex. */
  readonly group: string
  /** Name of the span or log within its group. */
  readonly identity: string
}

export type OtlpItems = { readonly items: OtlpItem[]; readonly rejected: number; readonly message: string }

type Origin = { readonly resource: JsonObject; readonly scope: JsonObject }
type JsonObject = Record<string, unknown>
/** Over all of a request. */
type Kept = { readonly refusals: Refusals; readonly budget: Budget }

/** In the order of the request; each once. Throws `body_too_large`. */
export function itemsOf(signal: OtlpSignal, request: Read, settings: OtlpSettings): OtlpItems {
  const { ofResource, ofScope, name } = NAMES[signal]
  const toItem = signal === 'traces' ? spanItem : logItem
  const refusals = new Refusals(name)
  const budget = new Budget()
  const seen = new Set<string>()
  const items: OtlpItem[] = []
  for (const grouped of list(request[ofResource])) {
    const resource = withSchemaUrl(grouped['resource'], grouped['schemaUrl'])
    for (const scoped of list(grouped[ofScope])) {
      const scope = withSchemaUrl(scoped['scope'], scoped['schemaUrl'])
      const origin = { resource, scope }
      for (const each of list(scoped[name])) {
        const item = toItem(each, origin, settings, { refusals, budget })
        if (item === null) continue
        // The person was taken out of the payload: logs of one moment may differ in nothing else.
        const key = `${item.group}${item.identity}${item.record.subject ?? ''}`
        if (seen.has(key)) continue
        seen.add(key)
        items.push(item)
        if (items.length > OTLP_ITEMS_MAX)
          throw new ApiError(
            'body_too_large',
            `more than ${OTLP_ITEMS_MAX} spans or logs: send at most so many in a request`,
          )
      }
    }
  }
  return { items, ...refusals.told }
}

const NAMES = {
  traces: { ofResource: 'resourceSpans', ofScope: 'scopeSpans', name: 'spans' },
  logs: { ofResource: 'resourceLogs', ofScope: 'scopeLogs', name: 'logRecords' },
} as const

const KINDS = [undefined, 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER']
const STATUS_CODES = [undefined, 'OK', 'ERROR']

/** Attributes of which a span of an agent has one: of OpenTelemetry, older ones of it, OpenInference, OpenLLMetry and the AI SDK. */
const AGENT_ATTRIBUTES = [
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.system',
  'mcp.method.name',
  'openinference.span.kind',
  'traceloop.span.kind',
  'ai.operationId',
]
/** Label of the person that a span or log is about. */
const SUBJECT_ATTRIBUTE = 'tallystick.subject'
/** Names of agents' events, and of the spans of some. */
const AGENT_NAME = /^(?:gen_ai|claude_code|codex)\./

function spanItem(
  span: Read,
  { resource, scope }: Origin,
  settings: OtlpSettings,
  { refusals, budget }: Kept,
): OtlpItem | null {
  const { traceId, spanId, name = '', endTimeUnixNano, startTimeUnixNano } = span as Record<string, string>
  if (!isTraceId(traceId) || !isSpanId(spanId)) return refusals.add('without a valid traceId and spanId')
  const { attributes, subject } = withoutSubject(span)
  const counts = AGENT_NAME.test(name) || AGENT_ATTRIBUTES.some((one) => attributes[one] !== undefined)
  if (!counts && settings.take === 'agents') return refusals.rest(settings)
  const content = contentOf(attributes, settings.content)
  const status = statusOf(span['status'] as Read | undefined)
  const events = list(span['events']).map((event) => withContent(event, settings))
  const links = list(span['links']).map((link) => withContent(link, settings))
  const { droppedAttributesCount, droppedEventsCount, droppedLinksCount, flags } = span
  const parentSpanId = span['parentSpanId'] as string | undefined
  // In the order of their names, so that canonical JSON need not sort them.
  const payload = newObject()
  add(payload, 'attributes', content.attributes)
  add(payload, 'digests', content.digests)
  add(payload, 'droppedAttributesCount', droppedAttributesCount || undefined)
  add(payload, 'droppedEventsCount', droppedEventsCount || undefined)
  add(payload, 'droppedLinksCount', droppedLinksCount || undefined)
  add(payload, 'endTimeUnixNano', timeOf(endTimeUnixNano))
  add(payload, 'events', events.length > 0 ? events : undefined)
  add(payload, 'flags', flags || undefined)
  add(payload, 'kind', KINDS[span['kind'] as number])
  add(payload, 'links', links.length > 0 ? links : undefined)
  payload['name'] = name
  add(payload, 'parentSpanId', isSpanId(parentSpanId) ? parentSpanId : undefined)
  addOrigin(payload, resource, scope)
  payload['spanId'] = spanId
  add(payload, 'startTimeUnixNano', timeOf(startTimeUnixNano))
  add(payload, 'status', status)
  payload['told'] = 'after'
  payload['traceId'] = traceId
  add(payload, 'traceState', span['traceState'] || undefined)
  const document = budget.documentOf(payload)
  if (document === null) return refusals.add(TOO_LARGE)
  return {
    record: {
      type: SPAN_TYPE,
      payload: document,
      occurredAt: instantOf(timeOf(endTimeUnixNano) ?? timeOf(startTimeUnixNano)),
      references: referencesOf(attributes),
      traceparent: traceparent(traceId, spanId, flags as number | undefined),
      subject,
    },
    group: traceGroup(traceId),
    identity: spanIdentity(spanId),
  }
}

function logItem(
  log: Read,
  { resource, scope }: Origin,
  settings: OtlpSettings,
  { refusals, budget }: Kept,
): OtlpItem | null {
  const { traceId, spanId, eventName, timeUnixNano, observedTimeUnixNano } = log as Record<string, string>
  const { attributes, subject } = withoutSubject(log)
  const { body, flags, severityNumber } = log
  const names = [eventName, attributes['event.name'], body].filter((one) => typeof one === 'string')
  const counts =
    names.some((one) => AGENT_NAME.test(one)) ||
    Object.keys(attributes).some((one) => one.startsWith('audit.'))
  if (!counts && settings.take === 'agents') return refusals.rest(settings)
  const content = contentOf(attributes, settings.content)
  // Some repeat the event's name there; everything else is content.
  const keepsBody = settings.content === 'keep' || (typeof body === 'string' && AGENT_NAME.test(body))
  const hasBody = body !== undefined && body !== null
  const payload = newObject()
  add(payload, 'attributes', content.attributes)
  if (hasBody) payload[keepsBody ? 'body' : 'bodyDigest'] = keepsBody ? body : digestOfValue(body)
  add(payload, 'digests', content.digests)
  add(payload, 'droppedAttributesCount', log['droppedAttributesCount'] || undefined)
  add(payload, 'eventName', eventName || undefined)
  add(payload, 'flags', flags || undefined)
  add(payload, 'observedTimeUnixNano', timeOf(observedTimeUnixNano))
  addOrigin(payload, resource, scope)
  const severity = severityNumber as number
  add(payload, 'severityNumber', severity >= 1 && severity <= 24 ? severity : undefined)
  add(payload, 'severityText', log['severityText'] || undefined)
  add(payload, 'spanId', isSpanId(spanId) ? spanId : undefined)
  add(payload, 'timeUnixNano', timeOf(timeUnixNano))
  payload['told'] = 'after'
  add(payload, 'traceId', isTraceId(traceId) ? traceId : undefined)
  const document = budget.documentOf(payload)
  if (document === null) return refusals.add(TOO_LARGE)
  const time = timeOf(timeUnixNano) ?? timeOf(observedTimeUnixNano)
  const isTraced = isTraceId(traceId) && isSpanId(spanId)
  const references = referencesOf(attributes)
  const group = isTraced ? null : logGroup(resource, references.filter(isOfConversation), time)
  return {
    record: {
      type: LOG_TYPE,
      payload: document,
      occurredAt: instantOf(time),
      references: group === null ? references : [...references, group],
      traceparent: isTraced ? traceparent(traceId!, spanId!, flags as number | undefined) : undefined,
      subject,
    },
    group: group === null ? traceGroup(traceId!) : toHex(chunkKey.reference(group)),
    identity: logIdentity(document.bytes),
  }
}

/** Attributes but for the label of a person, which is kept as a hash alone. One that is no label is an attribute like others. */
function withoutSubject(read: Read): { attributes: JsonObject; subject: string | undefined } {
  const { [SUBJECT_ATTRIBUTE]: subject, ...attributes } = (read['attributes'] ?? {}) as JsonObject
  const isLabel = typeof subject === 'string' && isText(subject)
  return isLabel
    ? { attributes, subject }
    : { attributes: (read['attributes'] ?? {}) as JsonObject, subject: undefined }
}

const TOO_LARGE = `larger than ${DOCUMENT_BYTES_MAX} bytes as a record`

/** Counts spans and logs that were not taken, by their reasons. */
class Refusals {
  readonly #name: string
  readonly #reasons = new Map<string, number>()

  constructor(name: string) {
    this.#name = name
  }

  add(reason: string): null {
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1)
    return null
  }

  rest({ rest }: OtlpSettings): null {
    if (rest === 'drop') return null
    return this.add('not an agent’s (set `otlp` of the API key to take all, or to drop the rest silently)')
  }

  get told(): { rejected: number; message: string } {
    const reasons = [...this.#reasons].map(([reason, n]) => `${n} ${this.#name} ${reason}`)
    const rejected = [...this.#reasons.values()].reduce((sum, n) => sum + n, 0)
    return { rejected, message: reasons.join('; ') }
  }
}

function withSchemaUrl(about: unknown, schemaUrl: unknown): JsonObject {
  const { attributes, droppedAttributesCount, name, version } = (about ?? {}) as JsonObject
  const made = newObject()
  add(made, 'attributes', attributes)
  add(made, 'droppedAttributesCount', droppedAttributesCount || undefined)
  add(made, 'name', name || undefined)
  add(made, 'schemaUrl', schemaUrl || undefined)
  add(made, 'version', version || undefined)
  return made
}

/** An event or a link. */
function withContent(read: Read, settings: OtlpSettings): JsonObject {
  const { attributes, ...others } = read as JsonObject
  const made = newObject()
  const content = contentOf((attributes ?? {}) as JsonObject, settings.content)
  add(made, 'attributes', content.attributes)
  add(made, 'digests', content.digests)
  for (const [name, value] of Object.entries(others)) if (value !== 0 && value !== '') made[name] = value
  return made
}

function statusOf(status: Read | undefined): JsonObject | undefined {
  const code = STATUS_CODES[(status?.['code'] ?? 0) as number]
  const message = status?.['message'] || undefined
  if (code === undefined && message === undefined) return undefined
  const made = newObject()
  add(made, 'code', code)
  add(made, 'message', message)
  return made
}

function addOrigin(payload: JsonObject, resource: JsonObject, scope: JsonObject): void {
  if (!isEmpty(resource)) payload['resource'] = resource
  if (!isEmpty(scope)) payload['scope'] = scope
}

function isEmpty(object: JsonObject): boolean {
  for (const _ in object) return false
  return true
}

function add(payload: JsonObject, name: string, value: unknown): void {
  if (value !== undefined) payload[name] = value
}

/**
 * Bytes that a request's documents have together. A resource is sent once and stands in each record: a few kilobytes, compressed, could
 * become gigabytes.
 */
class Budget {
  #left = OTLP_RECORD_BYTES_MAX

  /** null: it is too large for a record. Throws `body_too_large`. */
  documentOf(payload: JsonObject): CanonicalDocument | null {
    const text = canonicalize(payload as JsonValue)
    this.#left -= Buffer.byteLength(text)
    if (this.#left < 0)
      throw new ApiError(
        'body_too_large',
        `the records, each with its resource and scope, have more than ${OTLP_RECORD_BYTES_MAX} bytes together: send fewer spans or logs in a request, or a smaller resource`,
      )
    if (text.length > DOCUMENT_BYTES_MAX) return null
    const document = new CanonicalDocument(
      text.includes(ESCAPED_NUL) ? canonicalize(withoutNul(payload) as JsonValue) : text,
    )
    return document.bytes.length > DOCUMENT_BYTES_MAX ? null : document
  }
}

/** Protobuf's texts may hold U+0000, and documents may not: U+FFFD stands for it. Digests were made before, of what was sent. */
function withoutNul(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\0', '\ufffd')
  if (Array.isArray(value)) return value.map(withoutNul)
  if (typeof value !== 'object' || value === null) return value
  const made = newObject()
  for (const [name, member] of Object.entries(value))
    made[name.replaceAll('\0', '\ufffd')] = withoutNul(member)
  return made
}

/** Attributes by which records of one call, conversation or agent find each other: the name of OpenTelemetry, and those of others. */
const REFERENCES = {
  'gen_ai.agent.id': ['gen_ai.agent.id'],
  'gen_ai.conversation.id': ['gen_ai.conversation.id', 'session.id', 'conversation.id'],
  'gen_ai.tool.call.id': ['gen_ai.tool.call.id', 'tool_use_id', 'call_id'],
}

function referencesOf(attributes: JsonObject): string[] {
  const references: string[] = []
  for (const [name, sources] of Object.entries(REFERENCES)) {
    const value = sources.map((source) => attributes[source]).find((one) => one !== undefined)
    if (typeof value !== 'string' || value === '') continue
    const reference = `${name}:${value}`
    if (reference.length <= OTLP_REFERENCE_CHARS_MAX && !CONTROLS.test(reference)) references.push(reference)
  }
  return references
}

const CONTROLS = /\p{Cc}/u

/** Other references are of fewer records, and would make a group of each. */
function isOfConversation(reference: string): boolean {
  return reference.startsWith('gen_ai.conversation.id:')
}

function traceGroup(traceId: string): string {
  return toHex(chunkKey.traceId(traceId))
}

function traceparent(traceId: string, spanId: string, flags = 0): string {
  return `00-${traceId}-${spanId}-${(flags & 0xff).toString(16).padStart(2, '0')}`
}

function isTraceId(id: string | undefined): id is string {
  return id?.length === 32 && !/^0+$/.test(id)
}

function isSpanId(id: string | undefined): id is string {
  return id?.length === 16 && !/^0+$/.test(id)
}

/** 0 means that it is not known. */
function timeOf(nanoseconds: string | undefined): string | undefined {
  return nanoseconds === undefined || nanoseconds === '0' ? undefined : nanoseconds
}

function instantOf(nanoseconds: string | undefined): string | undefined {
  if (nanoseconds === undefined) return undefined
  return new Date(Number(nanoseconds.slice(0, -6))).toISOString()
}

function list(value: unknown): readonly Read[] {
  return (value ?? []) as readonly Read[]
}
