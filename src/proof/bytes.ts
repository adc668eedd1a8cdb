import { ProofError } from './error.ts'

/*
 * The encodings in this file accept exactly one text for each value. If two texts decoded to the same bytes, somebody
 * could replace one text by the other in an export unnoticed.
 */

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Encodes UTF-8. Lone surrogates become U+FFFD. So `text` MUST have passed json-text.ts or come from our own code. */
export function utf8Encode(text: string): Uint8Array {
  return encoder.encode(text)
}

/**
 * Returns true if `text` has more than `bytesMax` bytes in UTF-8. Encodes at most `bytesMax` UTF-16 units, however long
 * the text is.
 */
export function isLonger(text: string, bytesMax: number): boolean {
  if (text.length > bytesMax) return true
  return text.length * 3 > bytesMax && encoder.encode(text).length > bytesMax
}

/** Decodes UTF-8 and leaves a byte order mark in the text. Throws `bad_utf8` (RFC 3629). */
export function utf8Decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new ProofError('bad_utf8', `${bytes.length} bytes are not UTF-8`)
  }
}

export function startsWith(bytes: Uint8Array, ascii: string): boolean {
  return equalBytes(bytes.subarray(0, ascii.length), utf8Encode(ascii))
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) length += part.length
  const joined = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}

/**
 * Returns bytes that own their memory, for long-term storage. Small byte arrays from Postgres, a hash function or a
 * signer are views of a shared 64 KiB pool (Buffer.poolSize), and each view keeps the whole pool in memory. Because
 * of this, one cache grew by 14 MiB a minute, up to a hundred times its limit.
 */
export function ownCopy(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
}

/** Returns copies of arrays that are stored together. The copies share one buffer, which nothing else uses. */
export function ownCopies(parts: readonly Uint8Array[]): Uint8Array[] {
  const joined = concat(parts)
  let at = 0
  return parts.map(({ length }) => {
    at += length
    return joined.subarray(at - length, at)
  })
}

/**
 * Returns a copy of `text` that owns its memory. A substring of 13 characters or more (`slice`, `split`, a regular
 * expression's group) keeps the whole original string in memory. Lone surrogates become U+FFFD.
 */
export function ownText(text: string): string {
  return decoder.decode(encoder.encode(text))
}

/** Compares bytes, but not in constant time, because all compared values are public. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

const HEX_OF_BYTE = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const NO_DIGIT = 255

export function toHex(bytes: Uint8Array): string {
  let hex = ''
  for (let i = 0; i < bytes.length; i++) hex += HEX_OF_BYTE[bytes[i]!]
  return hex
}

/** Decodes lower-case hex. Throws `bad_hex` for anything else, also for upper-case digits. */
export function fromHex(hex: string): Uint8Array {
  if (hex.length % 2 !== 0)
    throw new ProofError('bad_hex', `hex must have an even number of characters, not ${hex.length}`)
  const bytes = new Uint8Array(hex.length / 2)
  for (let i = 0; i < bytes.length; i++) {
    const high = hexDigit(hex.charCodeAt(2 * i))
    const low = hexDigit(hex.charCodeAt(2 * i + 1))
    if (high === NO_DIGIT || low === NO_DIGIT)
      throw new ProofError(
        'bad_hex',
        `the character ${2 * i} or ${2 * i + 1} is not a digit of lower-case hex`,
      )
    bytes[i] = high * 16 + low
  }
  return bytes
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  if (code >= 0x61 && code <= 0x66) return code - 0x61 + 10
  return NO_DIGIT
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const NO_VALUE = 64
const VALUE_OF_BASE64 = valuesOf(BASE64)
const VALUE_OF_BASE64URL = valuesOf(BASE64URL)

export function toBase64(bytes: Uint8Array): string {
  const digits = encode(bytes, BASE64)
  return digits + '='.repeat((4 - (digits.length % 4)) % 4)
}

/** Encodes base64url (RFC 4648 §5) without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  return encode(bytes, BASE64URL)
}

/**
 * Decodes padded base64. Throws `bad_base64` for missing padding, stray characters, and trailing bits that are not
 * zero.
 */
export function fromBase64(text: string): Uint8Array {
  if (text.length % 4 !== 0) throw new ProofError('bad_base64', `${text.length} characters`)
  let end = text.length
  if (end > 0 && text.charCodeAt(end - 1) === PADDING) end--
  if (end > 0 && text.charCodeAt(end - 1) === PADDING) end--
  return decode(text, end, VALUE_OF_BASE64, 'bad_base64')
}

/** Decodes base64url. Throws `bad_base64url` for padding, stray characters, and trailing bits that are not zero. */
export function fromBase64Url(text: string): Uint8Array {
  return decode(text, text.length, VALUE_OF_BASE64URL, 'bad_base64url')
}

const PADDING = 0x3d

function encode(bytes: Uint8Array, alphabet: string): string {
  let text = ''
  let i = 0
  for (; i + 2 < bytes.length; i += 3) {
    const bits = (bytes[i]! << 16) | (bytes[i + 1]! << 8) | bytes[i + 2]!
    text +=
      alphabet[bits >> 18]! + alphabet[(bits >> 12) & 63] + alphabet[(bits >> 6) & 63] + alphabet[bits & 63]
  }
  const left = bytes.length - i
  if (left === 1) text += alphabet[bytes[i]! >> 2]! + alphabet[(bytes[i]! & 3) << 4]
  if (left === 2) {
    const bits = (bytes[i]! << 8) | bytes[i + 1]!
    text += alphabet[bits >> 10]! + alphabet[(bits >> 4) & 63] + alphabet[(bits & 15) << 2]
  }
  return text
}

/**
 * Decodes digits of six bits each. In `values`, invalid characters have the value 64, which six bits cannot represent.
 */
function decode(
  text: string,
  end: number,
  values: Uint8Array,
  code: 'bad_base64' | 'bad_base64url',
): Uint8Array {
  const left = end % 4 // If `left` is 1, the second digit of a byte is missing. Then the code below refuses the text.
  const bytes = new Uint8Array(Math.floor((end * 3) / 4))
  const value = (at: number): number => {
    const char = text.charCodeAt(at)
    const found = char < 128 ? values[char]! : NO_VALUE
    if (found === NO_VALUE) throw new ProofError(code, `at character ${at}`)
    return found
  }
  let out = 0
  let i = 0
  for (; i + 3 < end; i += 4) {
    const bits = (value(i) << 18) | (value(i + 1) << 12) | (value(i + 2) << 6) | value(i + 3)
    bytes[out++] = bits >> 16
    bytes[out++] = bits >> 8
    bytes[out++] = bits
  }
  if (left > 0) {
    const bits = (value(i) << 12) | (value(i + 1) << 6) | (left === 3 ? value(i + 2) : 0)
    bytes[out++] = bits >> 10
    if (left === 3) bytes[out++] = bits >> 2
    const spare = left === 3 ? bits & 3 : (bits >> 6) & 15
    if (spare !== 0) throw new ProofError(code, 'its last bits are not zero')
  }
  return bytes
}

function valuesOf(alphabet: string): Uint8Array {
  const values = new Uint8Array(128).fill(NO_VALUE)
  for (let i = 0; i < alphabet.length; i++) values[alphabet.charCodeAt(i)] = i
  return values
}

/**
 * Returns the bytes without a leading byte order mark. Windows shells write this mark, and RFC 8259 §8.1 allows parsers
 * to ignore it.
 */
export function withoutMark<Bytes extends Uint8Array>(bytes: Bytes): Bytes {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return hasMark ? (bytes.subarray(3) as Bytes) : bytes
}
