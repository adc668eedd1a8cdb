import { utf8Encode } from '../../src/proof/bytes.ts'
import { refuseCost } from '../../src/proof/json/json-text.ts'
import { REFERENCE_CHARS_MAX } from '../../src/proof/request-limits.ts'
import { toJson } from '../json.ts'
import { type Form, formOf, type NoForm } from './content-form.ts'

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
/** A longer text has no digest, because hashing 64 MiB takes half a second. */
const TEXT_CHARS_MAX = 64 * 1024 * 1024
const ERROR_TYPE_CHARS_MAX = 256
const ERROR_CHARS_MAX = 4_096
const ATTRIBUTES_BYTES_MAX = 4 * 1024

/** In lower-case hex. */
export type Sha256 = (bytes: Uint8Array) => string

export type ContentOptions = {
  /** Values themselves, not only their digests. */
  readonly keep: boolean
  readonly sha256: Sha256
  /** Long text that stands in the same record. */
  readonly besides?: string | undefined
}

/** Digest of a value in a record (docs/formats/content-digests.md). `none`: the value has no exact form. */
export type ContentDigest =
  | { readonly sha256: string; readonly of: Form['of'] | 'bytes' | 'json'; readonly length: number }
  | { readonly of: 'none'; readonly why: NoForm }

/** Name of a payload's member for content, without `Digest`. */
type Name = 'arguments' | 'result' | 'error'

/**
 * Member of a payload for a value: `NAME` with the value itself if `keep` is set and a record can hold it, otherwise `NAMEDigest`. No member for
 * undefined. Never throws, because the result of a tool must not decide whether its call is recorded.
 */
export function contentOf(
  name: Name,
  value: unknown,
  { keep, sha256, besides = '' }: ContentOptions,
): Record<string, unknown> {
  if (value === undefined) return {}
  const written = writtenOf(value)
  if (keep && typeof written !== 'string') {
    const bytesMax = CONTENT_BYTES_MAX - Math.max(0, bytesOf(JSON.stringify(besides)) - BESIDES_BYTES_MAX)
    const kept = keepable(written, bytesMax)
    if (kept !== undefined) return { [name]: kept }
  }
  return { [`${name}Digest`]: digestOfWritten(written, sha256) }
}

/** Member of a payload with the digest of a JSON text, for a text of which parsing loses a part. */
export function jsonDigest<Of extends Name>(
  name: Of,
  text: string,
  sha256: Sha256,
): { [Member in `${Of}Digest`]: ContentDigest } {
  return { [`${name}Digest`]: digestOfText(text, 'json', sha256) } as never
}

/** Returns whether a digest is that of this value: `matchesDigest` with a given SHA-256. */
export function isOfDigest(value: unknown, digest: unknown, sha256: Sha256): boolean {
  const { of, sha256: wanted } = (digest ?? {}) as Readonly<Record<string, unknown>>
  const found =
    of === 'json' && typeof value === 'string'
      ? digestOfText(value, 'json', sha256)
      : digestOfWritten(writtenOf(value), sha256)
  return found.of !== 'none' && found.of === of && found.sha256 === wanted
}

export type ErrorMembers = {
  readonly errorType?: string
  readonly error?: string
  readonly errorDigest?: ContentDigest
}

/**
 * Members for a thrown value: its class as `errorType`, and its text, which is content. `error` has the text if `keep` is set, `errorDigest` its
 * digest if `keep` is not set or the text does not fit. Never throws.
 */
export function errorOf(error: unknown, { keep, sha256 }: ContentOptions): ErrorMembers {
  const { type, written } = readError(error)
  const [of, text] = typeof written === 'string' ? ['none', undefined] : [written.of, written.text]
  const kept = keep ? short(text, ERROR_CHARS_MAX) : undefined
  const isWhole = of === 'bytes' && (text === '' || kept === text)
  return defined({
    errorType: errorType(type),
    error: kept,
    errorDigest: isWhole ? undefined : digestOfWritten(written, sha256),
  })
}

/** Returns a class or a code of letters, digits and `_ $ . : -`. undefined for another text, which may be content. */
export function errorType(type: unknown): string | undefined {
  return typeof type === 'string' && type.length <= ERROR_TYPE_CHARS_MAX && ERROR_TYPE.test(type)
    ? type
    : undefined
}

const ERROR_TYPE = /^[\p{L}\p{N}_$.:-]+$/u

function readError(error: unknown): { readonly type?: unknown; readonly written: Written } {
  try {
    return error instanceof Error
      ? { type: error.name, written: writtenOf(error.message) }
      : { written: writtenOf(error) }
  } catch {
    return { written: 'unreadable' }
  }
}

/** Digest of any value. Never throws. */
export function digestOf(value: unknown, sha256: Sha256): ContentDigest {
  return digestOfWritten(writtenOf(value), sha256)
}

type Written = Form | { readonly of: 'bytes'; readonly text: string } | NoForm

function writtenOf(value: unknown): Written {
  if (typeof value !== 'string') return formOf(value)
  if (value.length > TEXT_CHARS_MAX) return 'too-large'
  return value.isWellFormed() ? { of: 'bytes', text: value } : formOf(value)
}

function digestOfWritten(written: Written, sha256: Sha256): ContentDigest {
  if (typeof written === 'string') return { of: 'none', why: written }
  return digestOfText(written.text, written.of, sha256)
}

function digestOfText(text: string, of: Form['of'] | 'bytes' | 'json', sha256: Sha256): ContentDigest {
  const bytes = utf8Encode(text)
  return { sha256: sha256(bytes), of, length: bytes.length }
}

/** The value as the record would have it. undefined: a record cannot hold it, because it has U+0000, or is too deep or too large. */
function keepable(written: Written, bytesMax: number): unknown {
  if (typeof written === 'string' || !isShort(written.text, bytesMax)) return undefined
  const { of, text } = written
  const value: unknown = of === 'bytes' ? text : JSON.parse(text)
  try {
    if (of === 'bytes' || text.includes('\\u0000'))
      return isShort(toJson(value, '', CONTENT_DEPTH_MAX), bytesMax) ? value : undefined
    // A form is JSON already. Only its depth is not known.
    refuseCost(text, { depthMax: CONTENT_DEPTH_MAX })
    return value
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
    const found = value === undefined ? undefined : keepable(writtenOf(value), ATTRIBUTES_BYTES_MAX)
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
