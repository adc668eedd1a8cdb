import { utf8Encode } from '../../src/proof/bytes.ts'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import type { JsonValue } from '../../src/proof/json/json-value.ts'
import { toJson } from '../json.ts'

/*
 * Puts arguments and results of a call into its records: those of adapters, hooks and proxies alike, so that the same value has the same
 * digest. Imports nothing that is slow to load (`tallystick hook`), and is passed its SHA-256 therefore.
 */

/**
 * With `content`: longer arguments and results are recorded by their digest. A record has 64 KiB, and never both of them; names, attributes
 * and an error have the rest.
 */
export const CONTENT_BYTES_MAX = 48 * 1024
/** An error or a reason beside a content that is longer takes of its room. */
const BESIDES_BYTES_MAX = 2 * 1024
/** The server reads 32 levels, of which a record has some for itself. */
const CONTENT_DEPTH_MAX = 24
/** A longer value is not put into its canonical form, which takes three times JSON.stringify. */
const CANONICAL_CHARS_MAX = 4 * 1024 * 1024
const ATTRIBUTES_BYTES_MAX = 4 * 1024
const REFERENCE_CHARS_MAX = 256

/** In lower-case hex. */
export type Sha256 = (bytes: Uint8Array) => string

export type ContentOptions = {
  /** Values themselves, not only their digests. */
  readonly keep: boolean
  readonly sha256: Sha256
  /** Long text that stands in the same record. */
  readonly besides?: string | undefined
}

/**
 * Member of a payload that stands for a value: `NAME` with the value itself if it is to be kept and a record can hold it, otherwise
 * `NAMEDigest`. A text's digest is that of its UTF-8 bytes, any other value's that of its canonical JSON (RFC 8785). Never throws: what a
 * tool answers must not decide whether its call is recorded.
 */
export function contentOf(
  name: 'arguments' | 'result',
  value: unknown,
  { keep, sha256, besides = '' }: ContentOptions,
): Record<string, unknown> {
  if (value === undefined) return {}
  const text = typeof value === 'string' ? value : jsonOf(value)
  const bytesMax = CONTENT_BYTES_MAX - Math.max(0, bytesOf(JSON.stringify(besides)) - BESIDES_BYTES_MAX)
  if (keep && isShort(text, bytesMax)) {
    const kept = keepable(value, bytesMax)
    if (kept !== undefined) return { [name]: kept }
  }
  const canonical = typeof value === 'string' || text.length > CANONICAL_CHARS_MAX ? null : canonicalOf(text)
  return digestMember(name, canonical ?? text, canonical === null ? 'bytes' : 'jcs', sha256)
}

/** Member of a payload with the digest of a value's text. */
export function digestMember(
  name: 'arguments' | 'result',
  text: string,
  of: 'jcs' | 'bytes',
  sha256: Sha256,
): Record<string, unknown> {
  const bytes = utf8Encode(text)
  return { [`${name}Digest`]: { sha256: sha256(bytes), of, length: bytes.length } }
}

/** null: no JSON, or half of a surrogate pair is in it. */
function canonicalOf(text: string): string | null {
  try {
    return canonicalize(JSON.parse(text) as JsonValue)
  } catch {
    return null
  }
}

/** JSON; for a circle, a BigInt or a function the text that JavaScript has for it. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? textOf(value)
  } catch {
    return textOf(value)
  }
}

/** Text that JavaScript has for a value. An object without a prototype, such as a row of a database, has none, and others throw. */
export function textOf(value: unknown): string {
  try {
    return String(value)
  } catch {
    return '[object]'
  }
}

/** The value as the record would have it, if that is the value: with U+0000, `NaN` or a Map in it a record would say something else. */
function keepable(value: unknown, bytesMax: number): unknown {
  try {
    const text = toJson(value, '', CONTENT_DEPTH_MAX)
    return isShort(text, bytesMax) ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

function isShort(text: string, bytesMax: number): boolean {
  return text.length <= bytesMax && bytesOf(text) <= bytesMax
}

function bytesOf(text: string): number {
  return utf8Encode(text).length
}

/** `attributes`, of what a record can hold; nothing, if nothing is left. */
export function attributesOf(attributes: Readonly<Record<string, unknown>>): { attributes?: object } {
  const kept = Object.entries(attributes).flatMap(([name, value]) => {
    const found = keepable(value, ATTRIBUTES_BYTES_MAX)
    return found === undefined || name.includes('\0') || !name.isWellFormed() ? [] : [[name, found] as const]
  })
  if (kept.length === 0 || !isShort(JSON.stringify(kept), ATTRIBUTES_BYTES_MAX)) return {}
  return { attributes: Object.fromEntries(kept) }
}

/** Text for a member that holds at most so many characters, and none that a record cannot hold; undefined for none. */
export function short(value: unknown, charsMax: number): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  return value.replaceAll('\0', '\ufffd').slice(0, charsMax).toWellFormed()
}

/** The members that have a value. */
export function defined<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: NonNullable<Members[Name]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never
}

/** References by which records of a call find each other, also those that others write: of the ids that a reference can hold. */
export function referencesOf(named: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(named).flatMap(([name, id]) => {
    const reference = `${name}:${id}`
    const fits = id !== undefined && reference.length <= REFERENCE_CHARS_MAX && !CONTROLS.test(reference)
    return fits ? [reference] : []
  })
}

const CONTROLS = /[\p{Cc}\p{Cs}]/u
