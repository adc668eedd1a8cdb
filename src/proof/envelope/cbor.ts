import { toHex, utf8Decode } from '../bytes.ts'
import { ProofError } from '../error.ts'
import { CBOR_ITEMS_MAX, CBOR_LEVELS_MAX } from '../limits.ts'

/*
 * Decoder of CBOR (RFC 8949) in envelopes, receipts and Signed Statements, by the rules of docs/formats/envelopes.md,
 * "CBOR". It is written by hand, because libraries return only the value and decide for themselves which encodings they
 * accept. The Python verifier follows the same page.
 */

export class Tag18 {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }
}

/** Represents a text string whose bytes are not UTF-8. No two such objects are equal. */
export class BadText {}

/**
 * Encodings that the decoder accepts.
 *
 * - `deterministic`: only the one encoding of RFC 8949 §4.2.1.
 * - `loose`: for COSE of other tools. Maps may have any order, and text strings need not be UTF-8. Anything else that
 *   is not deterministic is refused as malformed.
 */
export type CborForm = 'deterministic' | 'loose'

/**
 * Decodes the single item in `bytes`, in linear time. Maps become Map, and integers beyond 2^53 - 1 become bigint. An
 * outer tag 18 becomes Tag18 if `tag18` allows it. Throws `cbor_malformed`. In the deterministic form, throws
 * `cbor_not_deterministic` for well-formed CBOR that is not deterministic.
 */
export function decodeCbor(
  bytes: Uint8Array,
  form: CborForm,
  tag18: 'tag 18' | 'no tag' = 'no tag',
): unknown {
  return new Reader(bytes, form, tag18 === 'tag 18').read()
}

const [UINT, NINT, BYTES, TEXT, ARRAY, MAP, TAG] = [0, 1, 2, 3, 4, 5, 6]
const INDEFINITE = 31
const BREAK = 0xff
const SIMPLE_VALUES: ReadonlyMap<number, unknown> = new Map<number, unknown>([
  [0xf4, false],
  [0xf5, true],
  [0xf6, null],
  [0xf7, undefined],
])

class Reader {
  readonly #bytes: Uint8Array
  readonly #isDeterministic: boolean
  readonly #allowsTag: boolean
  #at = 0
  #items = 0
  /** Describes the first place at which the bytes are not deterministic. null if there is no such place. */
  #departure: string | null = null

  constructor(bytes: Uint8Array, form: CborForm, allowsTag: boolean) {
    this.#bytes = bytes
    this.#isDeterministic = form === 'deterministic'
    this.#allowsTag = allowsTag
  }

  read(): unknown {
    const value = this.#item(1)
    if (this.#at !== this.#bytes.length) throw malformed('bytes after its end')
    if (this.#departure === null) return value
    if (!this.#isDeterministic) throw malformed(this.#departure)
    throw new ProofError('cbor_not_deterministic', this.#departure)
  }

  /** Reads an item. `level`: nesting level of an array, map or tag that begins here. */
  #item(level: number): unknown {
    if (++this.#items > CBOR_ITEMS_MAX) throw malformed(`more than ${CBOR_ITEMS_MAX} items`)
    const head = this.#take(1)[0]!
    const major = head >> 5
    if (major > TAG!) return simpleOf(head)
    if (major >= ARRAY! && level > CBOR_LEVELS_MAX)
      throw malformed(`nested more than ${CBOR_LEVELS_MAX} levels deep`)
    const argument = this.#argument(major, head & 31)
    switch (major) {
      case UINT:
        return argument
      case NINT:
        return toSafe(-1n - BigInt(argument!))
      case BYTES:
        return new Uint8Array(this.#take(Number(argument)))
      case TEXT:
        return this.#text(this.#take(Number(argument)))
      case ARRAY:
        return this.#array(argument, level)
      case MAP:
        return this.#map(argument, level)
      default:
        return this.#tag(argument, level)
    }
  }

  #take(length: number): Uint8Array {
    const start = this.#at
    this.#at += length
    if (this.#at > this.#bytes.length) throw malformed('it ends too early')
    return this.#bytes.subarray(start, this.#at)
  }

  /** Reads the argument of a head (RFC 8949 §3). Returns null for an indefinite length. */
  #argument(major: number, info: number): number | bigint | null {
    if (info < 24) return info
    if (info === INDEFINITE && (major === ARRAY || major === MAP)) {
      this.#depart('an indefinite length')
      return null
    }
    if (info > 27) throw malformed('an indefinite length, or a reserved head')
    const size = 1 << (info - 24)
    const value = this.#take(size).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
    // A value that fits the next shorter form of a head is encoded in too many bytes.
    if (value < (size === 1 ? 24n : 1n << BigInt(4 * size))) this.#depart('a head is longer than necessary')
    return toSafe(value)
  }

  #text(bytes: Uint8Array): string | BadText {
    try {
      return utf8Decode(bytes)
    } catch {
      if (this.#isDeterministic) this.#depart('a text is not UTF-8')
      return new BadText()
    }
  }

  #array(length: number | bigint | null, level: number): unknown[] {
    const values: unknown[] = []
    while (this.#goesOn(values.length, length)) values.push(this.#item(level + 1))
    return values
  }

  #map(length: number | bigint | null, level: number): Map<unknown, unknown> {
    const map = new Map<unknown, unknown>()
    // Contains each label as hex. Looking labels up in `map` would not find duplicates, because two Uint8Arrays with
    // equal bytes are different keys of a Map.
    const labels = new Set<string>()
    let last = ''
    for (let i = 0; this.#goesOn(i, length); i++) {
      const start = this.#at
      const label = this.#item(level + 1)
      const encoded = toHex(this.#bytes.subarray(start, this.#at))
      if (labels.has(encoded)) this.#depart('a label occurs twice')
      if (this.#isDeterministic && encoded < last) this.#depart('labels are not in order')
      last = encoded
      map.set(label, this.#item(level + 1))
      labels.add(encoded)
    }
    return map
  }

  /**
   * Returns true if an array or map has a member after the first `count` members. If the length exceeds the rest of the
   * bytes, #take throws later.
   */
  #goesOn(count: number, length: number | bigint | null): boolean {
    if (length !== null) return count < length
    if (this.#bytes[this.#at] !== BREAK) return true
    this.#at++
    return false
  }

  #tag(tag: number | bigint | null, level: number): Tag18 {
    if (tag !== 18 || level > 1 || !this.#allowsTag) throw malformed(`tag ${tag}`)
    return new Tag18(this.#item(level + 1))
  }

  #depart(how: string): void {
    this.#departure ??= how
  }
}

function toSafe(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

function simpleOf(head: number): unknown {
  if (SIMPLE_VALUES.has(head)) return SIMPLE_VALUES.get(head)
  throw malformed('a floating-point number, or another value that is not allowed here')
}

function malformed(detail: string): ProofError {
  return new ProofError('cbor_malformed', detail)
}
