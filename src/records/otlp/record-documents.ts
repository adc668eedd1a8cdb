import { ApiError } from '../../errors.ts'
import { ProofError } from '../../proof/error.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { DOCUMENT_BYTES_MAX } from '../../proof/request-limits.ts'
import { CanonicalDocument, ESCAPED_NUL } from '../documents.ts'
import { digestOfValue } from './content.ts'
import { OTLP_RECORD_BYTES_MAX } from './limits.ts'
import { newObject } from './messages.ts'

/*
 * Makes the documents of a request's records. A document is canonical JSON from the members of a span or log and the
 * members of its resource and scope.
 */

export type JsonObject = Record<string, unknown>

/**
 * Members as text. `text`: canonical JSON without braces, with a comma after each member. The text of a resource is
 * made only once, because thousands of records may share the resource. `replaced`: the original values of those members
 * that JSON cannot express.
 */
export type Written = { readonly text: string; readonly replaced: readonly unknown[] }

/**
 * Returns canonical JSON of members with exact values. Values that JSON cannot express are replaced:
 *
 * - integers beyond 2^53 and numbers such as NaN become texts
 * - bytes become base64
 * - U+0000 and lone surrogates become U+FFFD
 *
 * `replaced`: the original values, in order. `isExact`: true if the members have no numbers or bytes that need a
 * replacement. Texts may still need one.
 */
export function writtenOf(members: JsonObject, isExact: boolean): Written {
  if (isEmpty(members)) return NOTHING
  const text = isExact ? canonicalText(members) : null
  if (text !== null) return { text: `${text.slice(1, -1)},`, replaced: NONE }
  const replaced: unknown[] = []
  const plain = plainOf(members, replaced)
  return { text: `${canonicalize(plain as JsonValue).slice(1, -1)},`, replaced }
}

const NONE: readonly unknown[] = []
const NOTHING: Written = { text: '', replaced: NONE }

/** Returns canonical JSON. Returns null if a text needs a replacement. */
function canonicalText(members: JsonObject): string | null {
  try {
    const text = canonicalize(members as JsonValue)
    return text.includes(ESCAPED_NUL) ? null : text
  } catch (error) {
    if (error instanceof ProofError) return null
    throw error
  }
}

function plainOf(value: unknown, replaced: unknown[]): unknown {
  const other = otherFormOf(value)
  if (other !== undefined) {
    replaced.push(value)
    return other
  }
  if (Array.isArray(value)) return value.map((each) => plainOf(each, replaced))
  if (typeof value !== 'object' || value === null) return value
  const made = newObject()
  const alike = new Map<string, number>()
  // The names are sorted as in canonical JSON. So the values in `replaced` have the same order as in the record.
  for (const name of Object.keys(value).sort()) {
    const plain = freeName(plainOf(name, replaced) as string, made, alike)
    made[plain] = plainOf((value as JsonObject)[name], replaced)
  }
  return made
}

/**
 * Returns the name, with a number added if `made` already has the name. `alike`: maps a name to the last number that
 * was added. With this map, thousands of equal names take linear time.
 */
function freeName(name: string, made: JsonObject, alike: Map<string, number>): string {
  let free = name
  let number = alike.get(name) ?? 1
  while (free in made) free = `${name}\ufffd${++number}`
  if (free !== name) alike.set(name, number)
  return free
}

/** Returns the replacement of a value that JSON cannot express. Returns undefined if no replacement is needed. */
function otherFormOf(value: unknown): unknown {
  if (typeof value === 'string') {
    const plain = value.replaceAll('\0', '\ufffd').toWellFormed()
    return plain === value ? undefined : plain
  }
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (Object.is(value, -0)) return 0
  return Buffer.isBuffer(value) ? value.toString('base64') : undefined
}

function isEmpty(object: JsonObject): boolean {
  for (const _ in object) return false
  return true
}

/**
 * Limits the total size of a request's documents and digested values. A resource is sent once but copied into each
 * record. Without the limit, a few compressed kilobytes could become gigabytes.
 */
export class Budget {
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  /**
   * Joins members into a document, in the order of their names. After `first`, the document has the member `replaced`:
   * the digest of the replaced values. So two spans that differ only in a replaced value have different records. `last`
   * MUST NOT be empty. Returns null if the document is too large for a record. Throws `body_too_large`.
   */
  documentOf(first: Written, origin: readonly Written[], last: Written): CanonicalDocument | null {
    const parts = [first, ...origin, last]
    const length = parts.reduce((sum, { text }) => sum + text.length, 0)
    if (length > DOCUMENT_BYTES_MAX) return this.#spend(length)
    let text = `{${first.text}`
    if (parts.some(({ replaced }) => replaced.length > 0)) text += this.#replacedMember(parts)
    for (const part of origin) text += part.text
    // The trailing comma is cut from `last` before the parts are joined, because cutting the whole text is slow.
    text += `${last.text.slice(0, -1)}}`
    const document = new CanonicalDocument(text)
    this.#spend(document.bytes.length)
    return document.bytes.length <= DOCUMENT_BYTES_MAX ? document : null
  }

  /**
   * Returns the member `replaced`. The limit of Budget also counts the bytes that are hashed here: each record hashes
   * the values of its resource again, and many short values, such as -0, take longer to hash than to write.
   */
  #replacedMember(parts: readonly Written[]): string {
    const digest = digestOfValue(parts.flatMap(({ replaced }) => replaced))
    if (digest.of !== 'none') this.#spend(digest.length)
    return `"replaced":${canonicalize(digest)},`
  }

  #spend(bytes: number): null {
    this.#bytes += bytes
    if (this.#bytes > OTLP_RECORD_BYTES_MAX)
      throw new ApiError(
        'body_too_large',
        `the records, each with its resource and scope, have more than ${OTLP_RECORD_BYTES_MAX} bytes together: send fewer spans or logs in a request, or a smaller resource`,
      )
    return null
  }
}
