import { isUtf8 } from 'node:buffer'
import { ApiError } from '../../errors.ts'
import { OtlpError } from './error.ts'
import { OTLP_TOKENS_MAX, OTLP_VALUE_DEPTH_MAX } from './limits.ts'
import { type Field, type Message, newObject, type Read } from './messages.ts'

/*
 * Protobuf's wire format, for the messages of messages.ts. Written by hand, because it makes at once what is stored: a span of ten
 * attributes takes 6 us of the processor. @bufbuild/protobuf 2.17 takes 8 to 10, and makes an object of each attribute and value,
 * which has to be turned into JSON then.
 */

const VARINT = 0
const BYTES_8 = 1
const LENGTH = 2
const BYTES_4 = 5

/** Throws OtlpError where the bytes are no such message, and `body_too_large`. */
export function readProtobuf(bytes: Uint8Array, message: Message): Read {
  const reader = new Reader(bytes)
  return reader.message(message, bytes.length)
}

class Reader {
  readonly #bytes: Buffer
  #at = 0
  #tokens = 0

  constructor({ buffer, byteOffset, byteLength }: Uint8Array) {
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength)
  }

  message({ fields }: Message, end: number): Read {
    this.#count()
    const read = newObject()
    while (this.#at < end) {
      const tag = this.#varint(end)
      const wire = tag & 7
      const field = fields[tag >>> 3]
      if (field === undefined || wire !== wireOf(field.kind, wire)) this.#skip(wire, end)
      else if (field.kind === 'number')
        read[field.name] = wire === VARINT ? this.#varint(end) : this.#uint32(end)
      else if (field.kind === 'nanoseconds') read[field.name] = String(this.#uint64(end))
      else this.#readLong(read, field, this.#length(end))
    }
    return read
  }

  /** A field that has its length before it. */
  #readLong(read: Record<string, unknown>, { name, kind, repeated }: Field, last: number): void {
    if (kind === 'text') read[name] = this.#text(last)
    else if (kind === 'id') read[name] = this.#take(last).toString('hex')
    else if (kind === 'value') read[name] = this.#value(last, 0)
    else if (kind === 'attributes') {
      read[name] ??= newObject()
      this.#keyValue(read[name] as Record<string, unknown>, last, 0)
    } else if (repeated) {
      const items = (read[name] ?? []) as unknown[]
      read[name] = items
      items.push(this.message(kind as Message, last))
    } else read[name] = this.message(kind as Message, last)
  }

  /** A KeyValue, as a member of `into`. */
  #keyValue(into: Record<string, unknown>, end: number, depth: number): void {
    this.#count()
    let key = ''
    let value: unknown = null
    while (this.#at < end) {
      const tag = this.#varint(end)
      if (tag === ((1 << 3) | LENGTH)) key = this.#text(this.#length(end))
      else if (tag === ((2 << 3) | LENGTH)) value = this.#value(this.#length(end), depth)
      else this.#skip(tag & 7, end)
    }
    into[key] = value
  }

  /** An AnyValue. */
  #value(end: number, depth: number): unknown {
    if (depth > OTLP_VALUE_DEPTH_MAX)
      throw new OtlpError(`a value is nested more than ${OTLP_VALUE_DEPTH_MAX} deep`)
    this.#count()
    let value: unknown = null
    while (this.#at < end) {
      const tag = this.#varint(end)
      if (tag === ((1 << 3) | LENGTH)) value = this.#text(this.#length(end))
      else if (tag === ((2 << 3) | VARINT)) value = this.#varint64(end) !== 0n
      else if (tag === ((3 << 3) | VARINT)) value = plainInteger(this.#varint64(end))
      else if (tag === ((4 << 3) | BYTES_8)) value = plainDouble(this.#double(end))
      else if (tag === ((5 << 3) | LENGTH)) value = this.#array(this.#length(end), depth + 1)
      else if (tag === ((6 << 3) | LENGTH)) value = this.#object(this.#length(end), depth + 1)
      else if (tag === ((7 << 3) | LENGTH)) value = this.#take(this.#length(end)).toString('base64')
      else this.#skip(tag & 7, end)
    }
    return value
  }

  #array(end: number, depth: number): unknown[] {
    const values: unknown[] = []
    while (this.#at < end) {
      const tag = this.#varint(end)
      if (tag === ((1 << 3) | LENGTH)) values.push(this.#value(this.#length(end), depth))
      else this.#skip(tag & 7, end)
    }
    return values
  }

  #object(end: number, depth: number): Record<string, unknown> {
    const made = newObject()
    while (this.#at < end) {
      const tag = this.#varint(end)
      if (tag === ((1 << 3) | LENGTH)) this.#keyValue(made, this.#length(end), depth)
      else this.#skip(tag & 7, end)
    }
    return made
  }

  #count(): void {
    if (++this.#tokens > OTLP_TOKENS_MAX)
      throw new ApiError(
        'body_too_large',
        `more than ${OTLP_TOKENS_MAX} messages, attributes and values: send fewer spans or logs in a request`,
      )
  }

  #skip(wire: number, end: number): void {
    if (wire === VARINT) this.#varint64(end)
    else if (wire === BYTES_8) this.#advance(8, end)
    else if (wire === BYTES_4) this.#advance(4, end)
    else if (wire === LENGTH) this.#at = this.#length(end)
    else throw new OtlpError(`a field of wire type ${wire}`)
  }

  /** Reads at most 32 bits: a tag, a length or an enum. The sign of a negative enum is lost. */
  #varint(end: number): number {
    const first = this.#bytes[this.#at]!
    if (first < 128 && this.#at < end) {
      this.#at++
      return first
    }
    return Number(BigInt.asUintN(32, this.#varint64(end)))
  }

  #varint64(end: number): bigint {
    let low = 0
    let high = 0n
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#bytes[this.#at]!
      this.#advance(1, end)
      if (shift < 49) low += (byte & 127) * 2 ** shift
      else high += BigInt(byte & 127) << BigInt(shift)
      if (byte < 128) return BigInt.asUintN(64, high + BigInt(low))
    }
    throw new OtlpError('a number of more than 64 bits')
  }

  #uint32(end: number): number {
    const at = this.#at
    this.#advance(4, end)
    return this.#bytes.readUInt32LE(at)
  }

  #uint64(end: number): bigint {
    const at = this.#at
    this.#advance(8, end)
    return this.#bytes.readBigUInt64LE(at)
  }

  #double(end: number): number {
    const at = this.#at
    this.#advance(8, end)
    return this.#bytes.readDoubleLE(at)
  }

  /** End of what has its length here. */
  #length(end: number): number {
    const length = this.#varint(end)
    if (length > end - this.#at) throw cutOff()
    return this.#at + length
  }

  #text(last: number): string {
    const start = this.#at
    this.#at = last
    const text = this.#bytes.toString('utf8', start, last)
    if (text.includes('\ufffd') && !isUtf8(this.#bytes.subarray(start, last)))
      throw new OtlpError('a text that is no UTF-8')
    return text
  }

  #take(last: number): Buffer {
    const start = this.#at
    this.#at = last
    return this.#bytes.subarray(start, last)
  }

  #advance(length: number, end: number): void {
    if (length > end - this.#at) throw cutOff()
    this.#at += length
  }
}

function wireOf(kind: Message | string, wire: number): number {
  if (kind === 'nanoseconds') return BYTES_8
  if (kind === 'number') return wire === BYTES_4 ? BYTES_4 : VARINT
  return LENGTH
}

function cutOff(): OtlpError {
  return new OtlpError('it ends within a field')
}

/** A number where JSON holds it exactly, else its digits. */
function plainInteger(value: bigint): number | string {
  const signed = BigInt.asIntN(64, value)
  const number = Number(signed)
  return Number.isSafeInteger(number) ? number : String(signed)
}

/** JSON has no NaN and no infinity: their names, as JSON of protobuf has them. */
export function plainDouble(value: number): number | string {
  return Number.isFinite(value) ? value : String(value)
}
