import { utf8Encode } from '../../src/proof/bytes.ts'
import { refuseCost } from '../../src/proof/json/json-text.ts'
import { REFERENCE_CHARS_MAX } from '../../src/proof/request-limits.ts'
import { toJson } from '../json.ts'
import { type Form, formOf, type NoForm } from './content-form.ts'

/*
 * Puts arguments and results of a call into its records. Adapters, hooks and proxies share this code, so that the same
 * value has the same digest everywhere. `tallystick hook` must load fast. So this file imports nothing slow, and
 * callers pass a function that computes SHA-256.
 */

/**
 * Maximum size in bytes of arguments and results that are stored with `content`. If they are longer, only their digest
 * is recorded. A record may have 64 KiB, and never contains both arguments and result. The rest of the 64 KiB is for
 * names, attributes and an error.
 */
export const CONTENT_BYTES_MAX = 48 * 1024
/** Size in bytes that is reserved in a record for an error or a reason. A longer text leaves less room for content. */
const OTHER_TEXT_BYTES_MAX = 2 * 1024
/** Maximum depth of content. The server accepts 32 levels, and the record itself uses some of these levels. */
const CONTENT_DEPTH_MAX = 24
/** Maximum length in characters of a text that gets a digest. Hashing 64 MiB takes half a second. */
const TEXT_CHARS_MAX = 64 * 1024 * 1024
const ERROR_TYPE_CHARS_MAX = 256
const ERROR_CHARS_MAX = 4_096
const ATTRIBUTES_BYTES_MAX = 4 * 1024

/** Returns the digest in lower-case hex. */
export type Sha256 = (bytes: Uint8Array) => string

export type ContentOptions = {
  /** True: records contain the values. False: only their digests. */
  readonly include: boolean
  readonly sha256: Sha256
  /** Long text that the same record contains. It leaves less room for content. */
  readonly textInSameRecord?: string | undefined
}

/** Digest of a value in a record (docs/formats/content-digests.md). `of` is `none` if the value has no exact form. */
export type ContentDigest =
  | { readonly sha256: string; readonly of: Form['of'] | 'bytes' | 'json'; readonly length: number }
  | { readonly of: 'none'; readonly why: NoForm }

/** Name of the payload member for content. The member for the digest has the suffix `Digest`. */
type Name = 'arguments' | 'result' | 'error'

/**
 * Returns the payload member for a value: `NAME` with the value if `include` is set and the value fits, otherwise
 * `NAMEDigest`. Returns no member for undefined. Never throws, because a tool's result must not decide whether its
 * call is recorded.
 */
export function contentOf(
  name: Name,
  value: unknown,
  { include, sha256, textInSameRecord = '' }: ContentOptions,
): Record<string, unknown> {
  if (value === undefined) return {}
  const written = writtenOf(value)
  if (include && typeof written !== 'string') {
    const bytesMax =
      CONTENT_BYTES_MAX - Math.max(0, bytesOf(JSON.stringify(textInSameRecord)) - OTHER_TEXT_BYTES_MAX)
    const kept = recordable(written, bytesMax)
    if (kept !== undefined) return { [name]: kept }
  }
  return { [`${name}Digest`]: digestOfWritten(written, sha256) }
}

/** Returns the payload member with the digest of a JSON text. Use it for texts that parsing would change. */
export function jsonDigest<Of extends Name>(
  name: Of,
  text: string,
  sha256: Sha256,
): { [Member in `${Of}Digest`]: ContentDigest } {
  return { [`${name}Digest`]: digestOfText(text, 'json', sha256) } as never
}

/** Returns whether `digest` is the digest of `value`. See `matchesDigest`. */
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
 * Returns the payload members for a thrown value. Never throws.
 *
 * - `errorType`: the class of the error.
 * - `error`: the error's text, if `include` is set.
 * - `errorDigest`: the digest of the error's text, if `include` is not set or the text does not fit.
 */
export function errorOf(error: unknown, { include, sha256 }: ContentOptions): ErrorMembers {
  const { type, written } = readError(error)
  const [of, text] = typeof written === 'string' ? ['none', undefined] : [written.of, written.text]
  const kept = include ? short(text, ERROR_CHARS_MAX) : undefined
  const isWhole = of === 'bytes' && (text === '' || kept === text)
  return defined({
    errorType: errorType(type),
    error: kept,
    errorDigest: isWhole ? undefined : digestOfWritten(written, sha256),
  })
}

/**
 * Returns `type` if it is a class or a code of letters, digits and `_ $ . : -`. Returns undefined for any other text,
 * because it may be content.
 */
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

/**
 * Returns the value as a record would store it. Returns undefined if the value contains U+0000, or is too deep or too
 * large for a record.
 */
function recordable(written: Written, bytesMax: number): unknown {
  if (typeof written === 'string' || !isShort(written.text, bytesMax)) return undefined
  const { of, text } = written
  const value: unknown = of === 'bytes' ? text : JSON.parse(text)
  try {
    if (of === 'bytes' || text.includes('\\u0000'))
      return isShort(toJson(value, '', CONTENT_DEPTH_MAX), bytesMax) ? value : undefined
    // Only the depth must be checked, because a form is always valid JSON.
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

/** Returns `attributes` with those members that a record can store, or `{}` if no member remains. */
export function attributesOf(attributes: Readonly<Record<string, unknown>>): { attributes?: object } {
  const kept = Object.entries(attributes).flatMap(([name, value]) => {
    const found = value === undefined ? undefined : recordable(writtenOf(value), ATTRIBUTES_BYTES_MAX)
    return found === undefined || name.includes('\0') || !name.isWellFormed() ? [] : [[name, found] as const]
  })
  if (kept.length === 0 || !isShort(JSON.stringify(kept), ATTRIBUTES_BYTES_MAX)) return {}
  return { attributes: Object.fromEntries(kept) }
}

/**
 * Returns the text cut to `charsMax`, with U+0000 and lone surrogates replaced. Returns undefined for an empty text
 * or a value of another type.
 */
export function short(value: unknown, charsMax: number): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  return value.replaceAll('\0', '\ufffd').slice(0, charsMax).toWellFormed()
}

/** Returns the members whose value is not undefined. */
export function defined<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: NonNullable<Members[Name]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never
}

/**
 * Returns references that connect the records of a call, also if different writers made them. Leaves out ids that a
 * reference cannot contain.
 */
export function referencesOf(named: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(named).flatMap(([name, id]) => {
    const reference = `${name}:${id}`
    const fits = id !== undefined && reference.length <= REFERENCE_CHARS_MAX && !CONTROLS.test(reference)
    return fits ? [reference] : []
  })
}

const CONTROLS = /[\p{Cc}\p{Cs}]/u
