import { LOGS, type Message, TRACES } from '../../src/records/otlp/messages.ts'

/*
 * Builds OTLP requests byte by byte in both encodings, including invalid requests. `Raw` is a fragment of a body: JSON
 * text, or bytes of a protobuf message.
 */

export type Raw = Buffer

export const raw = (...parts: (string | Uint8Array)[]): Raw =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))

export function varint(value: bigint | number): Raw {
  const bytes: number[] = []
  let left = BigInt.asUintN(64, BigInt(value))
  for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128)
  return Buffer.from([...bytes, Number(left)])
}

const tag = (field: number, wire: number) => varint((field << 3) | wire)
export const varintField = (field: number, value: bigint | number): Raw => raw(tag(field, 0), varint(value))
export const bytesField = (field: number, bytes: string | Uint8Array): Raw =>
  raw(tag(field, 2), varint(Buffer.byteLength(bytes as string)), bytes)
export const groupField = (field: number, inner: Uint8Array): Raw => raw(tag(field, 3), inner, tag(field, 4))
export function fixed64Field(field: number, value: bigint): Raw {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt.asUintN(64, value))
  return raw(tag(field, 1), bytes)
}
function doubleField(field: number, value: number): Raw {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return raw(tag(field, 1), bytes)
}

/** Value of an attribute. The bytes of `text` may be invalid UTF-8. */
export type Value =
  | { readonly text: Uint8Array }
  | { readonly bool: boolean }
  | { readonly int: bigint }
  | { readonly double: number }
  | { readonly bytes: Uint8Array }
  | { readonly list: readonly Value[] }
  | { readonly map: readonly (readonly [name: Uint8Array, value: Value])[] }
  | null

/**
 * Maps a field's name to its value. Texts are bytes, ids are hex, nanoseconds are bigints, and attributes are lists of
 * pairs.
 */
export type Members = { readonly [name: string]: unknown }

export function protobufOf(message: Message, members: Members): Raw {
  const parts: Raw[] = []
  message.fields.forEach((field, number) => {
    const given = field && members[field.name]
    if (given === undefined) return
    const { kind, repeated } = field!
    for (const each of (repeated || kind === 'attributes' ? given : [given]) as unknown[]) {
      if (kind === 'text') parts.push(bytesField(number, each as Uint8Array))
      else if (kind === 'id') parts.push(bytesField(number, Buffer.from(each as string, 'hex')))
      else if (kind === 'nanoseconds') parts.push(fixed64Field(number, each as bigint))
      else if (kind === 'number') parts.push(varintField(number, each as number))
      else if (kind === 'value') parts.push(bytesField(number, protobufValue(each as Value)))
      else if (kind === 'attributes') parts.push(bytesField(number, protobufPair(each as never)))
      else parts.push(bytesField(number, protobufOf(kind, each as Members)))
    }
  })
  return raw(...parts)
}

function protobufPair([name, value]: readonly [Uint8Array, Value]): Raw {
  return raw(bytesField(1, name), bytesField(2, protobufValue(value)))
}

export function protobufValue(value: Value): Raw {
  if (value === null) return raw()
  if ('text' in value) return bytesField(1, value.text)
  if ('bool' in value) return varintField(2, value.bool ? 1 : 0)
  if ('int' in value) return varintField(3, value.int)
  if ('double' in value) return doubleField(4, value.double)
  if ('list' in value)
    return bytesField(5, raw(...value.list.map((each) => bytesField(1, protobufValue(each)))))
  if ('map' in value) return bytesField(6, raw(...value.map.map((pair) => bytesField(1, protobufPair(pair)))))
  return bytesField(7, value.bytes)
}

/** Style of JSON. `numbers`: true if 64-bit integers are JSON numbers instead of strings. */
export type JsonStyle = { readonly numbers: boolean }

export function jsonOf(message: Message, members: Members, style: JsonStyle = { numbers: false }): Raw {
  const parts = [...message.names.values()].flatMap(({ name, kind, repeated }) => {
    const given = members[name]
    if (given === undefined) return []
    const write = (each: unknown): Raw => {
      if (kind === 'text') return jsonText(each as Uint8Array)
      if (kind === 'id') return raw(JSON.stringify(each))
      if (kind === 'nanoseconds') return integer(each as bigint, style)
      if (kind === 'number') return raw(`${each}`)
      if (kind === 'value') return jsonValue(each as Value, style)
      if (kind === 'attributes') return listOf((each as never[]).map((pair) => jsonPair(pair, style)))
      return jsonOf(kind, each as Members, style)
    }
    return [raw(`"${name}":`, repeated ? listOf((given as unknown[]).map(write)) : write(given))]
  })
  return raw('{', joined(parts), '}')
}

function jsonPair([name, value]: readonly [Uint8Array, Value], style: JsonStyle): Raw {
  return raw('{"key":', jsonText(name), ',"value":', jsonValue(value, style), '}')
}

export function jsonValue(value: Value, style: JsonStyle): Raw {
  if (value === null) return raw('{}')
  if ('text' in value) return raw('{"stringValue":', jsonText(value.text), '}')
  if ('bool' in value) return raw(`{"boolValue":${value.bool}}`)
  if ('int' in value) return raw('{"intValue":', integer(value.int, style), '}')
  if ('double' in value) return raw(`{"doubleValue":${double(value.double)}}`)
  if ('list' in value)
    return raw('{"arrayValue":{"values":', listOf(value.list.map((each) => jsonValue(each, style))), '}}')
  if ('map' in value)
    return raw('{"kvlistValue":{"values":', listOf(value.map.map((pair) => jsonPair(pair, style))), '}}')
  return raw(`{"bytesValue":"${Buffer.from(value.bytes).toString('base64')}"}`)
}

/** Returns a JSON string of bytes. Escapes only bytes that JSON must escape. Invalid UTF-8 stays unchanged. */
export function jsonText(bytes: Uint8Array): Raw {
  const parts = Array.from(bytes, (byte) =>
    byte < 0x20 || byte === 0x22 || byte === 0x5c
      ? raw(`\\u${byte.toString(16).padStart(4, '0')}`)
      : Buffer.from([byte]),
  )
  return raw('"', ...parts, '"')
}

function integer(value: bigint, { numbers }: JsonStyle): Raw {
  return raw(numbers ? `${value}` : `"${value}"`)
}

function double(value: number): string {
  if (Object.is(value, -0)) return '-0'
  return Number.isFinite(value) ? `${value}` : `"${value}"`
}

export const listOf = (parts: readonly Raw[]): Raw => raw('[', joined(parts), ']')

function joined(parts: readonly Raw[]): Raw {
  return raw(...parts.flatMap((part, i) => (i === 0 ? [part] : [raw(','), part])))
}

export type Signal = 'traces' | 'logs'

export const NAMES = {
  traces: { groups: 'resourceSpans', scopes: 'scopeSpans', items: 'spans' },
  logs: { groups: 'resourceLogs', scopes: 'scopeLogs', items: 'logRecords' },
} as const

export function itemMessage(signal: Signal): Message {
  const { groups, scopes, items } = NAMES[signal]
  const below = (message: Message, name: string) => message.names.get(name)!.kind as Message
  return below(below(below(signal === 'traces' ? TRACES : LOGS, groups), scopes), items)
}

export function requestOf(signal: Signal, encoding: 'json' | 'protobuf', items: readonly Raw[]): Raw {
  const { groups, scopes, items: name } = NAMES[signal]
  if (encoding === 'json') return raw(`{"${groups}":[{"${scopes}":[{"${name}":`, listOf(items), '}]}]}')
  return bytesField(1, bytesField(2, raw(...items.map((item) => bytesField(2, item)))))
}
