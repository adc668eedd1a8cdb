import type { JsonObject, JsonValue } from '../../proof/json/json-value.ts'
import { OtlpError } from './error.ts'
import { OTLP_VALUE_DEPTH_MAX } from './limits.ts'
import { type Message, newObject, type Read } from './messages.ts'
import { plainDouble } from './read-protobuf.ts'

/*
 * OTLP's JSON, for the messages of messages.ts: that of protobuf, but ids are hex and enums are numbers. A member that is null is
 * absent.
 */

/** Throws OtlpError where the value is no such message. */
export function readJson(value: JsonValue, message: Message, path = ''): Read {
  if (!isObject(value)) throw wrong(path, 'an object')
  const read = newObject()
  for (const [name, member] of Object.entries(value)) {
    const field = message.names.get(name)
    if (field === undefined || member === null) continue
    const at = `${path}/${name}`
    if (typeof field.kind === 'string') read[name] = READERS[field.kind](member, at)
    else if (field.repeated) {
      const { kind } = field
      read[name] = list(member, at).map((each, i) => readJson(each, kind, `${at}/${i}`))
    } else read[name] = readJson(member, field.kind, at)
  }
  return read
}

const READERS = {
  text,
  number,
  nanoseconds: (value: JsonValue, path: string) => integer(value, path, NANOSECONDS),
  id(value: JsonValue, path: string): string {
    const id = text(value, path)
    if (!/^(?:[0-9a-f]{2})*$/i.test(id)) throw wrong(path, 'hex digits')
    return id.toLowerCase()
  },
  attributes: (value: JsonValue, path: string) => keyValues(value, path, 0),
  value: (value: JsonValue, path: string) => anyValue(value, path, 0),
} as const

function keyValues(value: JsonValue, path: string, depth: number): Record<string, unknown> {
  const made = newObject()
  for (const [i, each] of list(value, path).entries()) {
    if (!isObject(each)) throw wrong(`${path}/${i}`, 'an object')
    const key = text(each['key'] ?? '', `${path}/${i}/key`)
    made[key] = anyValue(each['value'] ?? {}, `${path}/${i}/value`, depth)
  }
  return made
}

function anyValue(value: JsonValue, path: string, depth: number): unknown {
  if (depth > OTLP_VALUE_DEPTH_MAX)
    throw new OtlpError(`a value is nested more than ${OTLP_VALUE_DEPTH_MAX} deep`)
  if (!isObject(value)) throw wrong(path, 'an object such as {"stringValue":"…"}')
  const { stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue, bytesValue } = value
  if (isThere(stringValue)) return text(stringValue, `${path}/stringValue`)
  if (isThere(boolValue)) {
    if (typeof boolValue !== 'boolean') throw wrong(`${path}/boolValue`, 'true or false')
    return boolValue
  }
  if (isThere(intValue)) {
    const digits = integer(intValue, `${path}/intValue`, INT64)
    return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits
  }
  if (isThere(doubleValue)) return plainDouble(double(doubleValue, `${path}/doubleValue`))
  if (isThere(arrayValue)) {
    const at = `${path}/arrayValue/values`
    return members(arrayValue, at).map((each, i) => anyValue(each, `${at}/${i}`, depth + 1))
  }
  if (isThere(kvlistValue)) {
    const at = `${path}/kvlistValue/values`
    return keyValues([...members(kvlistValue, at)], at, depth + 1)
  }
  if (isThere(bytesValue)) return base64(bytesValue, `${path}/bytesValue`)
  return null
}

function members(value: JsonValue, path: string): readonly JsonValue[] {
  if (!isObject(value)) throw wrong(path, 'an array')
  return list(value['values'] ?? [], path)
}

/** Either alphabet, with padding or without, as JSON of protobuf has it; stored in the standard one. */
function base64(value: JsonValue, path: string): string {
  const given = text(value, path)
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(given)) throw wrong(path, 'base64')
  return Buffer.from(given, 'base64').toString('base64')
}

type Range = { readonly least: bigint; readonly most: bigint; readonly name: string }
const NANOSECONDS: Range = { least: 0n, most: 2n ** 64n - 1n, name: 'an integer of 64 bits from 0 on' }
const INT64: Range = { least: -(2n ** 63n), most: 2n ** 63n - 1n, name: 'an integer of 64 bits' }

/** As a number, or as text because most readers of JSON have no more than 53 bits. */
function integer(value: JsonValue, path: string, { least, most, name }: Range): string {
  if (typeof value === 'number' ? !Number.isInteger(value) : !/^-?[0-9]{1,20}$/.test(String(value)))
    throw wrong(path, name)
  const integer = BigInt(value as number | string)
  if (integer < least || integer > most) throw wrong(path, name)
  return String(integer)
}

function double(value: JsonValue, path: string): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof number !== 'number' || (Number.isNaN(number) && value !== 'NaN')) throw wrong(path, 'a number')
  return number
}

/** A count, flags or an enum. */
function number(value: JsonValue, path: string): number {
  const number = typeof value === 'string' && /^[0-9]{1,10}$/.test(value) ? Number(value) : value
  if (!Number.isInteger(number) || Number(number) < 0 || Number(number) >= 2 ** 32)
    throw wrong(path, 'an integer of 32 bits (enums too)')
  return number as number
}

function text(value: JsonValue, path: string): string {
  if (typeof value === 'string') return value
  throw wrong(path, 'a text')
}

function list(value: JsonValue, path: string): readonly JsonValue[] {
  if (Array.isArray(value)) return value
  throw wrong(path, 'an array')
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isThere(value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && value !== null
}

function wrong(path: string, what: string): OtlpError {
  return new OtlpError(`${path === '' ? 'the body' : path} must be ${what}`)
}
