import { ApiError } from '../../errors.ts'
import type { OtlpSettings } from '../../ledgers/otlp-settings.ts'
import { quoted } from '../../proof/quoted.ts'
import { DOCUMENT_BYTES_MAX, REFERENCE_CHARS_MAX } from '../../proof/request-limits.ts'
import { isText } from '../../proof/statement/fields.ts'
import { SUBJECT_CHARS_MAX } from '../limits.ts'
import { hashSubject } from '../subjects/label.ts'
import type { BatchRequestItem } from '../write/build-batch.ts'
import { contentOf, digestOfValue } from './content.ts'
import {
  erasedIdentity,
  LOG_TYPE,
  logGroup,
  logIdentity,
  referenceGroup,
  SPAN_TYPE,
  spanIdentity,
  traceGroup,
} from './identity.ts'
import type { Grouped } from './known-items.ts'
import { OTLP_ITEMS_MAX, OTLP_REFUSAL_CHARS_MAX, OTLP_REFUSALS_SHOWN_MAX } from './limits.ts'
import { newObject, type Read, type ReadRequest } from './messages.ts'
import { Budget, type JsonObject, type Written, writtenOf } from './record-documents.ts'
import { Bad, DOUBLED, INEXACT, isId, isNoId } from './values.ts'

/*
 * Makes records from a request's spans and logs (docs/integrations/otlp.md). This file decides which spans and logs are
 * accepted, what is stored of each, and how a span or log that was sent before is recognised.
 */

export type OtlpSignal = 'traces' | 'logs'

export type OtlpItem = {
  readonly record: BatchRequestItem
  /** Search key of the item's group in batch_keys, in hex. */
  readonly group: string
  /** Name of the span or log within its group. */
  readonly identity: string
}

/** Result for a request. `bytes`: size of all documents, including the documents of items that are left out. */
export type OtlpItems = {
  readonly items: OtlpItem[]
  readonly bytes: number
  readonly rejected: number
  readonly message: string
}

type RequestState = { readonly refusals: Refusals; readonly budget: Budget; readonly subjectSalt: Uint8Array }

/**
 * Facts that are known before a request is read. `subjectSalt`: key for the hashes of subject labels. `known`: spans
 * and logs that the ledger already has. They are left out.
 */
export type OtlpContext = {
  readonly settings: OtlpSettings
  readonly subjectSalt: Uint8Array
  readonly known: Grouped
}

/** Returns the items in the order of the request, without duplicates. Throws `body_too_large`. */
export function itemsOf(
  signal: OtlpSignal,
  { request, ignored }: ReadRequest,
  { settings, subjectSalt, known }: OtlpContext,
): OtlpItems {
  const { ofResource, ofScope, name } = NAMES[signal]
  const toItem = signal === 'traces' ? spanItem : logItem
  const refusals = new Refusals(name)
  for (const member of ignored) refusals.warn('unknown member', member)
  const state = { refusals, budget: new Budget(), subjectSalt }
  const seen = new Map(Array.from(known, ([group, identities]) => [group, new Set(identities)]))
  const items: OtlpItem[] = []
  const take = (item: OtlpItem): void => {
    const ofGroup = seen.get(item.group) ?? new Set()
    seen.set(item.group, ofGroup)
    if (ofGroup.has(item.identity)) return
    if (ofGroup.has(erasedIdentity(item.identity))) {
      refusals.add('with the ids of an erased record')
      return
    }
    ofGroup.add(item.identity)
    items.push(item)
    if (items.length > OTLP_ITEMS_MAX)
      throw new ApiError(
        'body_too_large',
        `the request has more than ${OTLP_ITEMS_MAX} spans or logs: send fewer in one request`,
      )
  }
  for (const [grouped, atGroup] of refusals.readable(request[ofResource], `/${ofResource}`)) {
    const resource = originOf('resource', grouped, settings)
    refusals.warnDoubled(grouped['resource'], `${atGroup}/resource`)
    for (const [scoped, atScope] of refusals.readable(grouped[ofScope], `${atGroup}/${ofScope}`)) {
      const scope = originOf('scope', scoped, settings)
      refusals.warnDoubled(scoped['scope'], `${atScope}/scope`)
      const origin = [resource, scope] as Written[]
      const bad = [resource, scope].find((one) => one instanceof Bad)
      for (const [each, at] of refusals.readable(scoped[name], `${atScope}/${name}`, bad)) {
        const item = toItem(each, origin, settings, state)
        if (item === null) continue
        refusals.warnDoubled(each, at)
        take(item)
      }
    }
  }
  return { items, bytes: state.budget.bytes, ...refusals.summary }
}

const NAMES = {
  traces: { ofResource: 'resourceSpans', ofScope: 'scopeSpans', name: 'spans' },
  logs: { ofResource: 'resourceLogs', ofScope: 'scopeLogs', name: 'logRecords' },
} as const

const KINDS = [undefined, 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER']
const STATUS_CODES = [undefined, 'OK', 'ERROR']

/**
 * Names of attributes that mark a span as a span of an agent. They are from OpenTelemetry (former names too),
 * OpenInference, OpenLLMetry and the AI SDK.
 */
const AGENT_ATTRIBUTES = [
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.system',
  'mcp.method.name',
  'openinference.span.kind',
  'traceloop.span.kind',
  'ai.operationId',
]
/** Attribute for the label of the person that a span or log is about. */
const SUBJECT_ATTRIBUTE = 'tallystick.subject'
/** Matches names of agents' events and of some agents' spans, by their prefix. */
const AGENT_NAME = /^(?:gen_ai|claude_code|codex|gemini_cli)\./
/**
 * Matches names of events of coding agents. The attributes of these events have short names. In other events,
 * attributes with the same names may be content.
 */
const CODING_AGENT = /^(?:claude_code|codex|gemini_cli)\./
/** Matches the name of an event. A body that only repeats this name is not content. */
const EVENT_NAME = /^(?:gen_ai|claude_code|codex|gemini_cli)(?:\.[a-z0-9_]{1,64}){1,6}$/

function spanItem(
  span: Read,
  origin: readonly Written[],
  settings: OtlpSettings,
  { refusals, budget, subjectSalt }: RequestState,
): OtlpItem | null {
  const { traceId, spanId, name = '', endTimeUnixNano, startTimeUnixNano } = span as Record<string, string>
  if (!isId(traceId, 32) || !isId(spanId, 16)) return refusals.add('without a valid traceId and spanId')
  const { attributes, subject } = withoutSubject(span)
  if (subject === null) return refusals.add(NO_LABEL)
  const counts = AGENT_NAME.test(name) || AGENT_ATTRIBUTES.some((one) => attributes[one] !== undefined)
  if (!counts && settings.take === 'agents') return refusals.rest(settings)
  const parentSpanId = span['parentSpanId'] as string | undefined
  const links = list(span['links'])
  if (!isIdOrNone(parentSpanId, 16) || !links.every(hasIds))
    return refusals.add('with an invalid parentSpanId or link')
  const content = contentOf(attributes, settings.content, CODING_AGENT.test(name))
  const events = list(span['events'])
  const { droppedAttributesCount, droppedEventsCount, droppedLinksCount, flags } = span
  // Members are added in the order of their names, so that canonical JSON need not sort them. By their names, the
  // members `resource` and `scope` come after the members of `payload` and before the members of `behind`.
  const payload = newObject()
  add(payload, 'attributes', content.attributes)
  add(payload, 'digests', content.digests)
  add(payload, 'droppedAttributesCount', droppedAttributesCount || undefined)
  add(payload, 'droppedEventsCount', droppedEventsCount || undefined)
  add(payload, 'droppedLinksCount', droppedLinksCount || undefined)
  add(payload, 'endTimeUnixNano', timeOf(endTimeUnixNano))
  add(payload, 'events', withContent(events, settings))
  add(payload, 'flags', flags || undefined)
  add(payload, 'kind', nameOf(KINDS, span['kind']))
  add(payload, 'links', withContent(links, settings))
  payload['name'] = name
  add(payload, 'parentSpanId', isNoId(parentSpanId) ? undefined : parentSpanId)
  const behind = newObject()
  behind['spanId'] = spanId
  add(behind, 'startTimeUnixNano', timeOf(startTimeUnixNano))
  add(behind, 'status', statusOf(span['status'] as Read | undefined, settings))
  behind['told'] = 'after'
  behind['traceId'] = traceId
  add(behind, 'traceState', span['traceState'] || undefined)
  const isExact = !(INEXACT in span)
  const document = budget.documentOf(writtenOf(payload, isExact), origin, writtenOf(behind, true))
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
    identity: spanIdentity(spanId, document.bytes, personOf(subjectSalt, subject)),
  }
}

function logItem(
  log: Read,
  origin: readonly Written[],
  settings: OtlpSettings,
  { refusals, budget, subjectSalt }: RequestState,
): OtlpItem | null {
  const { traceId, spanId, eventName, timeUnixNano, observedTimeUnixNano } = log as Record<string, string>
  if (!hasIds(log)) return refusals.add('with an invalid traceId or spanId')
  const { attributes, subject } = withoutSubject(log)
  if (subject === null) return refusals.add(NO_LABEL)
  const { body, flags, severityNumber } = log
  const names = [eventName, attributes['event.name'], body].filter((one) => typeof one === 'string')
  const counts =
    names.some((one) => AGENT_NAME.test(one)) ||
    Object.keys(attributes).some((one) => one.startsWith('audit.'))
  if (!counts && settings.take === 'agents') return refusals.rest(settings)
  const content = contentOf(
    attributes,
    settings.content,
    names.some((one) => CODING_AGENT.test(one)),
  )
  // Some events repeat their name in the body. Such a body is not content. Every other body is content.
  const keepsBody = settings.content === 'keep' || (typeof body === 'string' && EVENT_NAME.test(body))
  const hasBody = body !== undefined && body !== null
  const payload = newObject()
  add(payload, 'attributes', content.attributes)
  if (hasBody) payload[keepsBody ? 'body' : 'bodyDigest'] = keepsBody ? body : digestOfValue(body)
  add(payload, 'digests', content.digests)
  add(payload, 'droppedAttributesCount', log['droppedAttributesCount'] || undefined)
  add(payload, 'eventName', eventName || undefined)
  add(payload, 'flags', flags || undefined)
  add(payload, 'observedTimeUnixNano', timeOf(observedTimeUnixNano))
  const behind = newObject()
  add(behind, 'severityNumber', severityNumber || undefined)
  add(behind, 'severityText', log['severityText'] || undefined)
  add(behind, 'spanId', isNoId(spanId) ? undefined : spanId)
  add(behind, 'timeUnixNano', timeOf(timeUnixNano))
  behind['told'] = 'after'
  add(behind, 'traceId', isNoId(traceId) ? undefined : traceId)
  const isExact = !(INEXACT in log)
  const document = budget.documentOf(writtenOf(payload, isExact), origin, writtenOf(behind, true))
  if (document === null) return refusals.add(TOO_LARGE)
  const time = timeOf(timeUnixNano) ?? timeOf(observedTimeUnixNano)
  const isTraced = isId(traceId, 32) && isId(spanId, 16)
  const references = referencesOf(attributes)
  const group = isTraced ? null : logGroup(origin, references.filter(isOfConversation), time)
  return {
    record: {
      type: LOG_TYPE,
      payload: document,
      occurredAt: instantOf(time),
      references: group === null ? references : [...references, group],
      traceparent: isTraced ? traceparent(traceId!, spanId!, flags as number | undefined) : undefined,
      subject,
    },
    group: group === null ? traceGroup(traceId!) : referenceGroup(group),
    identity: logIdentity(document.bytes, personOf(subjectSalt, subject)),
  }
}

/**
 * Returns the keyed hash of the label, or null without a label. The hash is part of the identity, because two logs of
 * the same time may differ only in the label. The payload does not contain the label.
 */
function personOf(subjectSalt: Uint8Array, subject: string | undefined): Uint8Array | null {
  return subject === undefined ? null : hashSubject(subjectSalt, subject)
}

/**
 * Removes the label of a person from the attributes, because only a hash of the label is stored. If the label stayed in
 * the payload, it would not be found when the person is erased. `subject`: the label. undefined if there is none, null
 * if the attribute is not a valid label.
 */
function withoutSubject(read: Read): { attributes: JsonObject; subject: string | undefined | null } {
  const all = (read['attributes'] ?? {}) as JsonObject
  if (!(SUBJECT_ATTRIBUTE in all)) return { attributes: all, subject: undefined }
  const { [SUBJECT_ATTRIBUTE]: value, ...attributes } = all
  if (value === undefined || value === null || value === '') return { attributes, subject: undefined }
  const isInteger = typeof value === 'bigint' || Number.isSafeInteger(value)
  const subject = isInteger ? `${value}` : value
  const isLabel = typeof subject === 'string' && isText(subject) && hasAtMost(SUBJECT_CHARS_MAX, subject)
  return { attributes, subject: isLabel ? subject : null }
}

/** Returns true if a text has at most `charsMax` code points. The schemas of other routes count code points too. */
function hasAtMost(charsMax: number, text: string): boolean {
  return text.length <= charsMax || (text.length <= 2 * charsMax && [...text].length <= charsMax)
}

const NO_LABEL = `whose ${SUBJECT_ATTRIBUTE} is not a text of 1 to ${SUBJECT_CHARS_MAX} characters`
const TOO_LARGE = `larger than ${DOCUMENT_BYTES_MAX} bytes as a record`

/**
 * Counts rejected spans and logs by reason. The text for the answer also names the path and the fault of the first few.
 */
class Refusals {
  readonly #name: string
  readonly #reasons = new Map<string, number>()
  readonly #first: string[] = []
  /** Warnings about spans and logs that were accepted. */
  readonly #warnings: string[] = []
  /** Path of the current span or log. */
  #at = ''

  constructor(name: string) {
    this.#name = name
  }

  /**
   * Yields the readable items of a list with their paths. Counts the other items as rejected. If `above` is bad,
   * rejects all items of the list.
   */
  *readable(value: unknown, path: string, above?: Bad): Generator<readonly [Read, string]> {
    for (const [i, each] of list(value).entries()) {
      this.#at = `${path}/${i}`
      const bad = above ?? (each instanceof Bad ? each : null)
      if (bad === null) yield [each, this.#at]
      else this.add('with an invalid value', bad.reason, bad.items)
    }
  }

  add(reason: string, detail = reason, count = 1): null {
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + count)
    this.#note(this.#first, this.#at, detail)
    return null
  }

  rest({ rest }: OtlpSettings): null {
    if (rest === 'drop') return null
    return this.add(
      'not about an agent (set `otlp` of the API key to accept all, or to drop the rest silently)',
      '',
    )
  }

  /** Adds a warning if a name occurs twice in a message. */
  warnDoubled(read: unknown, at: string): void {
    const name = (read as { [DOUBLED]?: string } | undefined)?.[DOUBLED]
    if (name !== undefined) this.warn(at, `${quoted(name)} occurs twice: the last value is taken`)
  }

  warn(at: string, what: string): void {
    this.#note(this.#warnings, at, what)
  }

  #note(notes: string[], at: string, what: string): void {
    if (what === '' || notes.length >= OTLP_REFUSALS_SHOWN_MAX) return
    const note = `${at}: ${what}`
    notes.push(note.length > OTLP_REFUSAL_CHARS_MAX ? `${note.slice(0, OTLP_REFUSAL_CHARS_MAX)}…` : note)
  }

  get summary(): { rejected: number; message: string } {
    const reasons = [...this.#reasons].map(([reason, n]) => `${n} ${this.#name} ${reason}`)
    const rejected = [...this.#reasons.values()].reduce((sum, n) => sum + n, 0)
    const message = [...reasons, ...this.#first, ...this.#warnings].join('; ')
    return { rejected, message: message.toWellFormed() }
  }
}

/**
 * Returns the resource or the scope of a group, as a member for the group's records. Returns Bad if it cannot be read.
 */
function originOf(name: 'resource' | 'scope', group: Read, settings: OtlpSettings): Written | Bad {
  const about = (group[name] ?? {}) as JsonObject | Bad
  if (about instanceof Bad) return new Bad(`/${name}: ${about.reason}`)
  const made = newObject()
  const content = contentOf((about['attributes'] ?? {}) as JsonObject, settings.content)
  add(made, 'attributes', content.attributes)
  add(made, 'digests', content.digests)
  add(made, 'droppedAttributesCount', about['droppedAttributesCount'] || undefined)
  add(made, 'name', about['name'] || undefined)
  add(made, 'schemaUrl', group['schemaUrl'] || undefined)
  add(made, 'version', about['version'] || undefined)
  return writtenOf(Object.keys(made).length === 0 ? {} : { [name]: made }, !(INEXACT in about))
}

/** Returns events or links. Their attributes are split by contentOf. Returns undefined if there are none. */
function withContent(read: readonly Read[], settings: OtlpSettings): JsonObject[] | undefined {
  if (read.length === 0) return undefined
  return read.map((each) => {
    const { attributes, ...others } = each as JsonObject
    const made = newObject()
    const content = contentOf((attributes ?? {}) as JsonObject, settings.content)
    add(made, 'attributes', content.attributes)
    add(made, 'digests', content.digests)
    for (const [name, value] of Object.entries(others)) if (value !== 0 && value !== '') made[name] = value
    return made
  })
}

/** Returns true if `traceId` and `spanId` of a log or a link are valid. An absent id is valid. */
function hasIds(read: Read): boolean {
  const { traceId, spanId } = read as Record<string, string>
  return isIdOrNone(traceId, 32) && isIdOrNone(spanId, 16)
}

function isIdOrNone(digits: string | undefined, length: 16 | 32): boolean {
  return isId(digits, length) || isNoId(digits)
}

/** Returns the status of a span. The status message is the text of an error, so it is treated as content. */
function statusOf(status: Read | undefined, { content }: OtlpSettings): JsonObject | undefined {
  const code = nameOf(STATUS_CODES, status?.['code'])
  const message = status?.['message'] || undefined
  if (code === undefined && message === undefined) return undefined
  const made = newObject()
  add(made, 'code', code)
  if (content === 'keep') add(made, 'message', message)
  else if (message !== undefined) made['messageDigest'] = digestOfValue(message)
  return made
}

/**
 * Returns the name of an enum's value. Returns the number if OTLP 1.11 does not name the value. Returns undefined for
 * 0, which means that there is no value.
 */
function nameOf(names: readonly (string | undefined)[], value: unknown): string | number | undefined {
  const number = (value ?? 0) as number
  return number < names.length ? names[number] : number
}

function add(payload: JsonObject, name: string, value: unknown): void {
  if (value !== undefined) payload[name] = value
}

/**
 * Attributes that connect records of the same call, conversation or agent. The key is OpenTelemetry's name, the list
 * has all names that are accepted for it.
 */
const REFERENCES = {
  'gen_ai.agent.id': ['gen_ai.agent.id'],
  'gen_ai.conversation.id': ['gen_ai.conversation.id', 'session.id', 'conversation.id'],
  'gen_ai.tool.call.id': ['gen_ai.tool.call.id', 'gen_ai.tool.call_id', 'tool_use_id', 'call_id'],
}

function referencesOf(attributes: JsonObject): string[] {
  const references: string[] = []
  for (const [name, sources] of Object.entries(REFERENCES)) {
    const value = sources.map((source) => attributes[source]).find((one) => one !== undefined)
    if (typeof value !== 'string' || value === '') continue
    const reference = `${name}:${value}`
    if (hasAtMost(REFERENCE_CHARS_MAX, reference) && !CONTROLS.test(reference)) references.push(reference)
  }
  return references
}

const CONTROLS = /[\p{Cc}\p{Cs}]/u

/**
 * Returns true if a reference names a conversation. Only these references form groups, because each other reference
 * belongs to only a few records.
 */
function isOfConversation(reference: string): boolean {
  return reference.startsWith('gen_ai.conversation.id:')
}

function traceparent(traceId: string, spanId: string, flags = 0): string {
  return `00-${traceId}-${spanId}-${(flags & 0xff).toString(16).padStart(2, '0')}`
}

/** Returns the time. Returns undefined for 0, which means that the time is unknown. */
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
