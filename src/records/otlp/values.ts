import { OtlpError } from './error.ts'
import { OTLP_IGNORED_NAMES_MAX, OTLP_VALUE_DEPTH_MAX } from './limits.ts'
import type { Read } from './messages.ts'

/*
 * Rules for values in protobuf and JSON. Values are read exactly: an integer beyond 2^53 is a bigint, bytes are a
 * Buffer, and a text may contain U+0000 or a lone surrogate. record-documents.ts writes these values as JSON.
 */

/**
 * Replaces a message that has a bad value. `items`: number of spans or logs that are rejected because of the message.
 */
export class Bad {
  readonly reason: string
  readonly items: number

  constructor(reason: string, items = 1) {
    this.reason = reason
    this.items = items
  }
}

/**
 * Symbol member of a message in which a name occurs twice. The member's value is that name. The last value of the name
 * counts.
 */
export const DOUBLED = Symbol('doubled name')
/**
 * Symbol member of a message that contains a number or bytes which JSON cannot express. Texts that need a replacement
 * do not set this member.
 */
export const INEXACT = Symbol('value that JSON cannot express')

/**
 * Base class of both readers. A bad value rejects only the message that contains the value. Messages with duplicate
 * names or inexact values are marked.
 */
export abstract class Isolating {
  #odd: { [DOUBLED]?: string; [INEXACT]?: true } | null = null
  readonly #ignored = new Set<string>()

  /** Names of skipped members that may contain spans or logs. */
  get ignored(): ReadonlySet<string> {
    return this.#ignored
  }

  protected ignore(name: string): void {
    if (this.#ignored.size < OTLP_IGNORED_NAMES_MAX) this.#ignored.add(name)
  }

  /** Returns the result of `read`. If `read` throws an OtlpError, returns Bad instead. */
  protected isolate(read: () => Read, items: () => number = () => 1): Read | Bad {
    const around = this.#odd
    this.#odd = null
    try {
      const made = read()
      return this.#odd === null ? made : Object.assign(made, this.#odd)
    } catch (error) {
      if (!(error instanceof OtlpError)) throw error
      return new Bad(error.message, items())
    } finally {
      this.#odd = around
    }
  }

  /** Sets an attribute, or a member of a map. Marks the message if the name occurs twice. */
  protected put(into: Record<string, unknown>, name: string, value: unknown): void {
    // A comparison with undefined is faster than `in`, and correct because no value is undefined.
    if (into[name] !== undefined) this.#odd = { ...this.#odd, [DOUBLED]: name }
    into[name] = value
  }

  /** Returns the value as a number if the number is exact, otherwise as a bigint. */
  protected integerValue(value: bigint | number): number | bigint {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : this.#inexact(value)
  }

  protected doubleValue(value: number): number {
    return Number.isFinite(value) && !Object.is(value, -0) ? value : this.#inexact(value)
  }

  protected bytesValue(bytes: Buffer): Buffer {
    return this.#inexact(bytes)
  }

  #inexact<T>(value: T): T {
    this.#odd = { ...this.#odd, [INEXACT]: true }
    return value
  }
}

/** Returns the error for a value that is nested too deep. `value`: name of the value in the error's text. */
export function tooDeep(value: string): OtlpError {
  return new OtlpError(`${value} is nested more than ${OTLP_VALUE_DEPTH_MAX} deep`)
}

/** Returns whether `digits` is the id of a trace, a span or a parent: lower-case hex, not only zeros. */
export function isId(digits: string | undefined, length: 16 | 32): digits is string {
  return digits?.length === length && HEX.test(digits) && !ZEROS.test(digits)
}

/** Returns whether an id is absent. Many senders write zeros for an absent id. */
export function isNoId(digits: string | undefined): boolean {
  return digits === undefined || ZEROS.test(digits)
}

const HEX = /^[0-9a-f]*$/
const ZEROS = /^0*$/
