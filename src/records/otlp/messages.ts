/*
 * Lists the messages of OTLP 1.11 (opentelemetry-proto) from which spans and log records are read. Each field has a
 * number, a name and a kind. Protobuf and JSON use the same table. Fields outside of the table are skipped, as both
 * encodings require.
 */

/**
 * Form into which a field is read. Attributes become an object, an id becomes hex text, and nanoseconds become decimal
 * digits.
 */
type Kind = 'text' | 'id' | 'nanoseconds' | 'number' | 'attributes' | 'value'

export type Field = {
  readonly name: string
  readonly kind: Kind | Message
  readonly repeated: boolean
}

/**
 * Says what is rejected if a message has a bad value.
 *
 * - `item`: the message is a span or a log. Only this item is rejected.
 * - `origin`: the message is a resource or a scope. All items of this resource or scope are rejected.
 * - `group`: the message contains items. All of them are rejected. An unknown member is reported, because it may
 *   contain items.
 * - `part`: the surrounding message is rejected.
 */
type Role = 'item' | 'origin' | 'group' | 'part'

export class Message {
  /** Maps a field's number to the field. */
  readonly fields: readonly (Field | undefined)[]
  readonly names: ReadonlyMap<string, Field>
  readonly role: Role

  constructor(
    fields: Readonly<Record<number, readonly [name: string, kind: Kind | Message | [Message]]>>,
    role: Role = 'part',
  ) {
    const made: Field[] = []
    for (const [number, [name, kind]] of Object.entries(fields))
      made[Number(number)] = Array.isArray(kind)
        ? { name, kind: kind[0]!, repeated: true }
        : { name, kind, repeated: false }
    this.role = role
    this.fields = made
    this.names = new Map(made.flatMap((field) => (field ? [[field.name, field]] : [])))
  }
}

const resource = new Message(
  { 1: ['attributes', 'attributes'], 2: ['droppedAttributesCount', 'number'] },
  'origin',
)

const scope = new Message(
  {
    1: ['name', 'text'],
    2: ['version', 'text'],
    3: ['attributes', 'attributes'],
    4: ['droppedAttributesCount', 'number'],
  },
  'origin',
)

const event = new Message({
  1: ['timeUnixNano', 'nanoseconds'],
  2: ['name', 'text'],
  3: ['attributes', 'attributes'],
  4: ['droppedAttributesCount', 'number'],
})

const link = new Message({
  1: ['traceId', 'id'],
  2: ['spanId', 'id'],
  3: ['traceState', 'text'],
  4: ['attributes', 'attributes'],
  5: ['droppedAttributesCount', 'number'],
  6: ['flags', 'number'],
})

const status = new Message({ 2: ['message', 'text'], 3: ['code', 'number'] })

const span = new Message(
  {
    1: ['traceId', 'id'],
    2: ['spanId', 'id'],
    3: ['traceState', 'text'],
    4: ['parentSpanId', 'id'],
    5: ['name', 'text'],
    6: ['kind', 'number'],
    7: ['startTimeUnixNano', 'nanoseconds'],
    8: ['endTimeUnixNano', 'nanoseconds'],
    9: ['attributes', 'attributes'],
    10: ['droppedAttributesCount', 'number'],
    11: ['events', [event]],
    12: ['droppedEventsCount', 'number'],
    13: ['links', [link]],
    14: ['droppedLinksCount', 'number'],
    15: ['status', status],
    16: ['flags', 'number'],
  },
  'item',
)

const logRecord = new Message(
  {
    1: ['timeUnixNano', 'nanoseconds'],
    2: ['severityNumber', 'number'],
    3: ['severityText', 'text'],
    5: ['body', 'value'],
    6: ['attributes', 'attributes'],
    7: ['droppedAttributesCount', 'number'],
    8: ['flags', 'number'],
    9: ['traceId', 'id'],
    10: ['spanId', 'id'],
    11: ['observedTimeUnixNano', 'nanoseconds'],
    12: ['eventName', 'text'],
  },
  'item',
)

/** Returns the top message of a request. Requests with spans and requests with logs are nested in the same way. */
function request(ofResource: string, ofScope: string, name: string, item: Message): Message {
  const scoped = new Message({ 1: ['scope', scope], 2: [name, [item]], 3: ['schemaUrl', 'text'] }, 'group')
  const grouped = new Message(
    { 1: ['resource', resource], 2: [ofScope, [scoped]], 3: ['schemaUrl', 'text'] },
    'group',
  )
  return new Message({ 1: [ofResource, [grouped]] }, 'group')
}

export const TRACES = request('resourceSpans', 'scopeSpans', 'spans', span)
export const LOGS = request('resourceLogs', 'scopeLogs', 'logRecords', logRecord)

/** A decoded message. Members that were not sent are absent. */
export type Read = { readonly [name: string]: unknown }

/** `ignored`: names of skipped members that may contain spans or logs. */
export type ReadRequest = { readonly request: Read; readonly ignored: ReadonlySet<string> }

/** Returns an object without a prototype, because an attribute may be named `__proto__`. */
export function newObject(): Record<string, unknown> {
  return Object.create(null)
}
