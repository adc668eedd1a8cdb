import { ApiError } from '../../errors.ts'
import { OtlpError } from './error.ts'
import { OTLP_GROUP_DEPTH_MAX, OTLP_TOKENS_MAX, OTLP_VALUE_DEPTH_MAX } from './limits.ts'
import { type Field, type Message, newObject, type Read, type ReadRequest } from './messages.ts'
import { textOfBytes } from './text.ts'
import { Bad, Isolating, tooDeep } from './values.ts'

/*
 * Reads protobuf's wire format by the table of messages.ts. This hand-written reader directly makes the form that is
 * stored. A span with ten attributes takes 6 us of CPU. @bufbuild/protobuf 2.17 takes 8 to 10 us, and makes an object
 * of each attribute and value, which must then be converted to JSON.
 */

const VARINT = 0
const BYTES_8 = 1
const LENGTH = 2
const START_GROUP = 3
const END_GROUP = 4
const BYTES_4 = 5

/**
 * Reads a request. Throws OtlpError if the bytes are not a message of this kind. Throws `body_too_large` if the message
 * has more than OTLP_TOKENS_MAX parts.
 */
export function readProtobuf(bytes: Uint8Array, message: Message): ReadRequest {
  const reader = new Reader(bytes)
  return { request: reader.message(message, bytes.length), ignored: reader.ignored }
}

class Reader extends Isolating {
  readonly #bytes: Buffer
  #at = 0
  #tokens = 0
  #field = ''

  constructor({ buffer, byteOffset, byteLength }: Uint8Array) {
    super()
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength)
  }

  /** Reads a message that ends at position `end`. `read`: members of an earlier part of the same message. */
  message({ fields, role }: Message, end: number, read: Record<string, unknown> = newObject()): Read {
    this.#count()
    while (this.#at < end) {
      const tag = this.#varint(end)
      const wire = tag & 7
      const field = fields[tag >>> 3]
      if (field === undefined) {
        if (role === 'group') this.ignore(`field ${tag >>> 3}`)
        this.#skip(tag, end)
        continue
      }
      this.#field = field.name
      if (wire !== wireOf(field.kind, wire)) throw new OtlpError(`it has the wire type ${wire}`)
      if (field.kind === 'number') read[field.name] = wire === VARINT ? this.#varint(end) : this.#uint32(end)
      else if (field.kind === 'nanoseconds') read[field.name] = String(this.#uint64(end))
      else this.#readLong(read, field, this.#length(end))
    }
    return read
  }

  /** Reads a field that begins with its length. */
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
      items.push(this.#nested(kind as Message, last))
    } else if (read[name] instanceof Bad) this.#at = last
    else read[name] = this.#nested(kind as Message, last, read[name] as Record<string, unknown> | undefined)
  }

  /**
   * Reads a nested message. If a field that is not repeated occurs twice, both messages are merged (protobuf's
   * encoding, "Last One Wins").
   */
  #nested(kind: Message, last: number, read?: Record<string, unknown>): Read | Bad {
    if (kind.role === 'part') return this.message(kind, last, read)
    const start = this.#at
    const found = this.isolate(
      () => this.message(kind, last, read),
      () => this.#itemsOf(kind, start, last),
    )
    this.#at = last
    return found instanceof Bad ? new Bad(`/${this.#field}: ${found.reason}`, found.items) : found
  }

  /**
   * Returns the number of spans or logs in a group that is rejected. Counts only those that can still be read. The
   * number is at least 1, so that the rejection is reported.
   */
  #itemsOf({ role, fields }: Message, start: number, end: number): number {
    if (role !== 'group') return 1
    let count = 0
    this.#at = start
    try {
      while (this.#at < end) {
        const tag = this.#varint(end)
        const field = fields[tag >>> 3]
        if ((tag & 7) === LENGTH && field?.repeated) {
          const last = this.#length(end)
          count += this.#itemsOf(field.kind as Message, this.#at, last)
          this.#at = last
        } else this.#skip(tag, end)
      }
    } catch (error) {
      if (!(error instanceof OtlpError)) throw error
    }
    return Math.max(1, count)
  }

  #keyValue(into: Record<string, unknown>, end: number, depth: number): void {
    this.#count()
    let key = ''
    let value: unknown = null
    while (this.#at < end) {
      const tag = this.#varint(end)
      if (tag === ((1 << 3) | LENGTH)) key = this.#text(this.#length(end))
      else if (tag === ((2 << 3) | LENGTH)) value = this.#value(this.#length(end), depth)
      else this.#skip(tag, end)
    }
    this.put(into, key, value)
  }

  #value(end: number, depth: number): unknown {
    if (depth > OTLP_VALUE_DEPTH_MAX) throw tooDeep('a value')
    this.#count()
    let value: unknown = null
    while (this.#at < end) {
      const tag = this.#varint(end)
      if (tag === ((1 << 3) | LENGTH)) value = this.#text(this.#length(end))
      else if (tag === ((2 << 3) | VARINT)) value = Number(this.#varint64(end)) !== 0
      else if (tag === ((3 << 3) | VARINT)) value = this.integerValue(this.#int64(end))
      else if (tag === ((4 << 3) | BYTES_8)) value = this.doubleValue(this.#double(end))
      else if (tag === ((5 << 3) | LENGTH)) value = this.#array(this.#length(end), depth + 1)
      else if (tag === ((6 << 3) | LENGTH)) value = this.#object(this.#length(end), depth + 1)
      else if (tag === ((7 << 3) | LENGTH)) value = this.bytesValue(this.#take(this.#length(end)))
      else this.#skip(tag, end)
    }
    return value
  }

  #array(end: number, depth: number): unknown[] {
    const values: unknown[] = []
    while (this.#at < end) {
      const tag = this.#varint(end)
      if (tag === ((1 << 3) | LENGTH)) values.push(this.#value(this.#length(end), depth))
      else this.#skip(tag, end)
    }
    return values
  }

  #object(end: number, depth: number): Record<string, unknown> {
    const made = newObject()
    while (this.#at < end) {
      const tag = this.#varint(end)
      if (tag === ((1 << 3) | LENGTH)) this.#keyValue(made, this.#length(end), depth)
      else this.#skip(tag, end)
    }
    return made
  }

  #count(): void {
    if (++this.#tokens > OTLP_TOKENS_MAX)
      throw new ApiError(
        'body_too_large',
        `the request has more than ${OTLP_TOKENS_MAX} messages, attributes and values: send fewer spans or logs in a request`,
      )
  }

  #skip(tag: number, end: number): void {
    const wire = tag & 7
    if (tag >>> 3 === 0) throw new OtlpError('a field has the number 0')
    if (wire === VARINT) this.#varint64(end)
    else if (wire === BYTES_8) this.#advance(8, end)
    else if (wire === BYTES_4) this.#advance(4, end)
    else if (wire === LENGTH) this.#at = this.#length(end)
    else if (wire === START_GROUP) this.#skipGroup(tag >>> 3, end)
    else throw new OtlpError(`a field has the wire type ${wire}`)
  }

  /**
   * Skips a group, a kind of field that only old versions of protobuf have. Groups may be nested, so the function uses
   * a loop instead of recursion.
   */
  #skipGroup(number: number, end: number): void {
    const open = [number]
    while (open.length > 0) {
      if (open.length > OTLP_GROUP_DEPTH_MAX)
        throw new OtlpError(`groups are nested more than ${OTLP_GROUP_DEPTH_MAX} deep`)
      const tag = this.#varint(end)
      if ((tag & 7) === START_GROUP) open.push(tag >>> 3)
      else if ((tag & 7) !== END_GROUP) this.#skip(tag, end)
      else if (open.pop() !== tag >>> 3) throw new OtlpError('the end of a group has no start')
    }
  }

  /** Reads a varint of at most 32 bits: a tag, a length or an enum. The sign of a negative enum is lost. */
  #varint(end: number): number {
    const first = this.#bytes[this.#at]!
    if (first < 128 && this.#at < end) {
      this.#at++
      return first
    }
    const value = this.#varint64(end)
    return typeof value === 'number' ? value >>> 0 : Number(BigInt.asUintN(32, value))
  }

  #int64(end: number): bigint | number {
    const value = this.#varint64(end)
    return typeof value === 'number' ? value : BigInt.asIntN(64, value)
  }

  /** Reads a varint. Returns a number for up to seven bytes, otherwise a bigint. */
  #varint64(end: number): bigint | number {
    let low = 0
    let high = 0n
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#bytes[this.#at]!
      this.#advance(1, end)
      if (shift < 49) low += (byte & 127) * 2 ** shift
      else high += BigInt(byte & 127) << BigInt(shift)
      if (byte < 128) return shift < 49 ? low : BigInt.asUintN(64, high + BigInt(low))
    }
    throw new OtlpError('a number has more than 64 bits')
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

  /** Reads a length. Returns the position at which the field ends. */
  #length(end: number): number {
    const length = this.#varint(end)
    if (length > end - this.#at) throw cutOff()
    return this.#at + length
  }

  #text(last: number): string {
    const start = this.#at
    this.#at = last
    const text = this.#bytes.toString('utf8', start, last)
    return text.includes('\ufffd') ? textOfBytes(this.#bytes.subarray(start, last)) : text
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
