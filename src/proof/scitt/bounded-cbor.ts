import { decode, type TagDecoder } from 'cborg'
import { ProofError } from '../error.ts'

/* CBOR of strangers. The deterministic form is not asked for: COSE does not, and libraries keep their own order of members. */

/** Levels of arrays, maps and tags that may lie in each other. */
const DEPTH_MAX = 8
/** Items in all: each member of a map is two. */
const ITEMS_MAX = 1_024

/**
 * The one item that `bytes` hold, maps as Map. Throws `cbor_malformed` for anything else than one well-formed item, indefinite lengths, heads longer
 * than necessary, a member twice, floating-point numbers (1.0 would be the label 1), tags other than `tags`, and what is beyond the two limits. It takes time in proportion to the bytes.
 */
export function decodeBounded(bytes: Uint8Array, tags: { [tag: number]: TagDecoder } = {}): unknown {
  refuseUnbounded(bytes)
  try {
    return decode(bytes, {
      useMaps: true,
      rejectDuplicateMapKeys: true,
      allowIndefinite: false,
      strict: true,
      tags,
    })
  } catch (error) {
    throw malformed((error as Error).message)
  }
}

const [BYTES, TEXT, ARRAY, MAP, TAG, SIMPLE] = [2, 3, 4, 5, 6, 7]
/** Simple values below are one byte; floating-point numbers begin here. */
const FLOAT = 0xf9

/** Counts items and levels without building any, so that the decoder's own recursion is bounded. */
function refuseUnbounded(bytes: Uint8Array): void {
  const left = [1]
  let items = 0
  let at = 0
  while (left.length > 0) {
    const level = left.length - 1
    if (left[level] === 0) {
      left.pop()
      continue
    }
    left[level]!--
    if (++items > ITEMS_MAX) throw malformed(`more than ${ITEMS_MAX} items`)
    const major = bytes[at]! >> 5
    if (major === SIMPLE && bytes[at]! >= FLOAT) throw malformed('a floating-point number')
    const { value, end } = readHead(bytes, at)
    at = end
    if (major === ARRAY || major === MAP || major === TAG) {
      if (level >= DEPTH_MAX) throw malformed(`nested more than ${DEPTH_MAX} levels deep`)
      left.push(major === TAG ? 1 : major === MAP ? 2 * value : value)
    } else if (major === BYTES || major === TEXT) at += value
    if (at > bytes.length) throw malformed('it ends too early')
  }
  if (at !== bytes.length) throw malformed('bytes after its end')
}

/** Argument of the head at `at` (RFC 8949 §3); lengths beyond 2^53 lose digits, and end too early all the same. */
function readHead(bytes: Uint8Array, at: number): { readonly value: number; readonly end: number } {
  const first = bytes[at]
  if (first === undefined) throw malformed('it ends too early')
  const info = first & 31
  if (info < 24) return { value: info, end: at + 1 }
  if (info > 27) throw malformed('an indefinite length, or a head that is reserved')
  const end = at + 1 + (1 << (info - 24))
  if (end > bytes.length) throw malformed('it ends too early')
  let value = 0
  for (let i = at + 1; i < end; i++) value = value * 256 + bytes[i]!
  return { value, end }
}

function malformed(detail: string): ProofError {
  return new ProofError('cbor_malformed', detail)
}
