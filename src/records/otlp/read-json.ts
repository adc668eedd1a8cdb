import { endOfString, JsonReader } from '../../proof/json/json-parser.ts'
import { parseExact } from '../../proof/json/json-text.ts'
import type { JsonObject, JsonValue } from '../../proof/json/json-value.ts'
import { quoted } from '../../proof/quoted.ts'
import { OtlpError } from './error.ts'
import { OTLP_JSON_DEPTH_MAX, OTLP_VALUE_DEPTH_MAX } from './limits.ts'
import { type Message, newObject, type Read, type ReadRequest } from './messages.ts'
import { type Bad, Isolating, tooDeep } from './values.ts'

/*
 * Reads OTLP's JSON by the table of messages.ts. OTLP's JSON is the JSON form of protobuf, but with ids in hex and
 * enums as numbers. A member that is null counts as absent.
 */

/** Reads a request. Throws ProofError if the text is not JSON, OtlpError if its value is not a message of this kind. */
export function readJson(text: string, message: Message): ReadRequest {
  const parser = new Parser(text, OTLP_JSON_DEPTH_MAX)
  const value = parseExact(text, OTLP_JSON_DEPTH_MAX) ?? parser.readText()
  if (!isObject(value)) throw new OtlpError('the body must be an object')
  const reader = new Reader(parser.doubledNames)
  return { request: reader.message(value, message, null), ignored: reader.ignored }
}

/** A number as text, because a double may not represent all of its digits. */
class Digits {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Maximum length of a number without exponent that a double always represents exactly, in characters. */
const EXACT_CHARS_MAX = 15
const HAS_EXPONENT = /[eE]/
const TOO_DEEP = Symbol('nested too deep')

/**
 * JSON parser that accepts inexact numbers, duplicate names and deep nesting. The parser only marks these faults, so
 * that each fault rejects one span or log instead of the whole request.
 */
class Parser extends JsonReader {
  readonly doubledNames = new Map<object, string>()

  protected override number(literal: string): JsonValue {
    const isExact = literal.length <= EXACT_CHARS_MAX && !HAS_EXPONENT.test(literal)
    return isExact ? Number(literal) : (new Digits(literal) as never)
  }

  protected override doubled(object: JsonObject, name: string): void {
    this.doubledNames.set(object, name)
  }

  /** Skips a value that is nested too deep, by counting its brackets. */
  protected override tooDeep(): JsonValue {
    let open = 0
    do {
      const char = this.text[this.at]
      if (char === undefined) throw this.unexpected()
      if (char === '"') this.at = endOfString(this.text, this.at + 1)
      else if (char === '{' || char === '[') open++
      else if (char === '}' || char === ']') open--
      this.at++
    } while (open > 0)
    return TOO_DEEP as never
  }
}

class Reader extends Isolating {
  readonly #doubledNames: ReadonlyMap<object, string>

  constructor(doubledNames: ReadonlyMap<object, string>) {
    super()
    this.#doubledNames = doubledNames
  }

  message(value: JsonValue, message: Message, path: Path): Read {
    const object = this.#object(value, path, 'an object')
    const read = newObject()
    for (const name in object) {
      const member = object[name]!
      const field = message.names.get(name)
      if (field === undefined && message.role === 'group') this.ignore(shown(name))
      if (field === undefined || member === null) continue
      const at = under(path, name)
      const { kind, repeated } = field
      if (typeof kind === 'string') read[name] = this.#value(kind, member, at)
      else if (repeated)
        read[name] = list(member, at).map((each, i) => this.#nested(each, kind, under(at, i)))
      else read[name] = this.#nested(member, kind, at)
    }
    return read
  }

  #nested(value: JsonValue, kind: Message, path: Path): Read | Bad {
    if (kind.role === 'part') return this.message(value, kind, path)
    // The path is relative to the item. The class Refusals later adds the path of the item.
    return this.isolate(
      () => this.message(value, kind, null),
      () => itemsOf(value, kind),
    )
  }

  #value(kind: string, value: JsonValue, path: Path): unknown {
    switch (kind) {
      case 'text':
        return text(value, path)
      case 'id':
        return text(value, path).toLowerCase()
      case 'nanoseconds':
        return isPlainTime(value) ? value : `${integer(value, path, NANOSECONDS)}`
      case 'number':
        return Number(integer(value, path, NUMBER))
      case 'attributes':
        return this.#keyValues(value, path, 0)
      default:
        return this.#anyValue(value, path, 0)
    }
  }

  #keyValues(value: JsonValue, path: Path, depth: number): Record<string, unknown> {
    const made = newObject()
    for (const [i, each] of list(value, path).entries()) {
      const at = under(path, i)
      const { key, value: member } = this.#object(each, at, 'an object')
      this.put(
        made,
        text(key ?? '', under(at, 'key')),
        this.#anyValue(member ?? {}, under(at, 'value'), depth),
      )
    }
    return made
  }

  #anyValue(value: JsonValue, path: Path, depth: number): unknown {
    if (depth > OTLP_VALUE_DEPTH_MAX) throw tooDeep(pointerOf(path))
    const found = this.#object(value, path, 'an object such as {"stringValue":"…"}')
    let made: unknown = null
    let count = 0
    for (const name in found) {
      const member = found[name]!
      if (member === null || !VALUES.has(name)) continue
      if (++count > 1) throw wrong(path, 'one value')
      made = this.#oneOf(name, member, under(path, name), depth)
    }
    return made
  }

  #oneOf(name: string, value: JsonValue, path: Path, depth: number): unknown {
    switch (name) {
      case 'stringValue':
        return text(value, path)
      case 'boolValue':
        if (typeof value !== 'boolean') throw wrong(path, 'true or false')
        return value
      case 'intValue':
        return this.integerValue(integer(value, path, INT64))
      case 'doubleValue':
        return this.doubleValue(double(value, path))
      case 'arrayValue':
        return this.#members(value, path).map((each, i) =>
          this.#anyValue(each, under(under(path, 'values'), i), depth + 1),
        )
      case 'kvlistValue':
        return this.#keyValues(this.#members(value, path), under(path, 'values'), depth + 1)
      default:
        return this.bytesValue(base64(value, path))
    }
  }

  #members(value: JsonValue, path: Path): readonly JsonValue[] {
    return list(this.#object(value, path, 'an object')['values'] ?? [], under(path, 'values'))
  }

  #object(value: JsonValue, path: Path, what: string): JsonObject {
    if (!isObject(value)) throw wrong(path, what, value)
    const doubled = this.#doubledNames.size > 0 && this.#doubledNames.get(value)
    if (typeof doubled === 'string') throw new OtlpError(`${pointerOf(path)} has ${shown(doubled)} twice`)
    return value
  }
}

const VALUES = new Set([
  ...['stringValue', 'boolValue', 'intValue', 'doubleValue'],
  ...['arrayValue', 'kvlistValue', 'bytesValue'],
])

/**
 * Returns the number of spans or logs in a group that is rejected. The number is at least 1, so that the rejection is
 * reported.
 */
function itemsOf(value: JsonValue, { role, names }: Message): number {
  if (role !== 'group') return 1
  let count = 0
  for (const { name, kind, repeated } of names.values()) {
    const below = isObject(value) ? value[name] : null
    if (!repeated || !Array.isArray(below)) continue
    for (const each of below) count += itemsOf(each, kind as Message)
  }
  return Math.max(1, count)
}

/** Decodes base64 by the rules of ProtoJSON: both alphabets are accepted, with or without padding. */
function base64(value: JsonValue, path: Path): Buffer {
  const given = text(value, path)
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(given)) throw wrong(path, 'base64')
  return Buffer.from(given, 'base64')
}

type Range = { readonly least: bigint; readonly most: bigint; readonly name: string }
const NANOSECONDS: Range = { least: 0n, most: 2n ** 64n - 1n, name: 'an integer of 64 bits, at least 0' }
const INT64: Range = { least: -(2n ** 63n), most: 2n ** 63n - 1n, name: 'an integer of 64 bits' }
const NUMBER: Range = { least: 0n, most: 2n ** 32n - 1n, name: 'an integer of 32 bits (enums too)' }

/**
 * Reads an integer that was sent as a number or as a text. Many senders use text, because most readers of JSON
 * represent only 53 bits exactly.
 */
function integer(value: JsonValue, path: Path, { least, most, name }: Range): bigint | number {
  const found = plainInteger(value) ?? exactInteger(numberText(value))
  if (found === null || found < least || found > most) throw wrong(path, name, value)
  return found
}

/**
 * Reads an integer in the form that most senders write. Returns null for any other value. A slower function then reads
 * or refuses that value.
 */
function plainInteger(value: JsonValue): number | null {
  const number = typeof value === 'string' && PLAIN_INTEGER.test(value) ? Number(value) : value
  return Number.isSafeInteger(number) ? (number as number) + 0 : null
}

const PLAIN_INTEGER = /^[0-9]{1,15}$/

/**
 * Returns whether a time is written as most senders write it: as text, in nanoseconds. The time stays a text, because
 * a double is not exact enough for nanoseconds.
 */
function isPlainTime(value: JsonValue): value is string {
  return typeof value === 'string' && PLAIN_TIME.test(value)
}

const PLAIN_TIME = /^[1-9][0-9]{0,18}$/

function double(value: JsonValue, path: Path): number {
  const given = numberText(value)
  if (NAMED_DOUBLES.has(given)) return Number(given)
  const number = NUMBER_TEXT.test(given) ? Number(given) : Number.NaN
  if (!Number.isFinite(number)) throw wrong(path, 'a number of 64 bits', value)
  return number
}

const NAMED_DOUBLES = new Set(['NaN', 'Infinity', '-Infinity'])
const NUMBER_TEXT = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
const DIGITS_MAX = 400

/** Returns the text of a number that was sent as a number or as a text. Returns '' for any other value. */
function numberText(value: JsonValue | Digits): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : `${value}`
  return value instanceof Digits ? value.text : ''
}

/**
 * Parses an integer exactly. Returns null if the text is no integer or has too many digits. In ProtoJSON, `1e3` and
 * `1.0` are integers.
 */
function exactInteger(given: string): bigint | null {
  const match = given.length <= DIGITS_MAX ? NUMBER_TEXT.exec(given) : null
  if (match === null) return null
  const [, sign, whole, fraction = '', exponent = '0'] = match
  const digits = `${whole}${fraction}`
  const zeros = Number(exponent) - fraction.length
  if (/^0*$/.test(digits)) return 0n
  if (zeros > DIGITS_MAX || -zeros > digits.length) return null
  const integer = zeros >= 0 ? digits + '0'.repeat(zeros) : digits.slice(0, zeros)
  if (zeros < 0 && !/^0*$/.test(digits.slice(zeros))) return null
  return BigInt(`${sign}${integer || '0'}`)
}

function text(value: JsonValue, path: Path): string {
  if (typeof value === 'string') return value
  throw wrong(path, 'a text', value)
}

function list(value: JsonValue, path: Path): readonly JsonValue[] {
  if (Array.isArray(value)) return value
  throw wrong(path, 'an array', value)
}

function isObject(value: JsonValue | Digits): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Digits)
}

function wrong(path: Path, what: string, value?: JsonValue | typeof TOO_DEEP): OtlpError {
  return new OtlpError(
    value === TOO_DEEP ? `${pointerOf(path)} is nested too deep` : `${pointerOf(path)} must be ${what}`,
  )
}

/** Path of a value, as a linked list. It is turned into a text only for an error. */
type Path = { readonly above: Path; readonly name: string | number } | null

function under(above: Path, name: string | number): Path {
  return { above, name }
}

/** Returns a path as text for an error. A long text is shortened, because a value may be deeply nested. */
function pointerOf(path: Path): string {
  let text = ''
  for (let at = path; at !== null; at = at.above) text = `/${at.name}${text}`
  return text.length > PATH_CHARS_MAX ? `${text.slice(0, PATH_CHARS_MAX)}…` : text || 'it'
}

const PATH_CHARS_MAX = 80

/** Returns a name from the request, quoted and shortened for an error. */
function shown(name: string): string {
  return quoted(name.length > NAME_CHARS_MAX ? `${name.slice(0, NAME_CHARS_MAX)}…` : name)
}

const NAME_CHARS_MAX = 64
