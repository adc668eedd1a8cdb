import { decode, type TagDecoder, type Token, Tokenizer } from 'cborg'
import { toHex } from '../bytes.ts'
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
  // The tokenizer has no defaults.
  const options = {
    useMaps: true,
    rejectDuplicateMapKeys: true,
    allowIndefinite: false,
    allowUndefined: true,
    allowBigInt: true,
    strict: true,
    tags,
  }
  try {
    return decode(bytes, {
      ...options,
      tokenizer: new WholeTexts(bytes, { ...options, retainStringBytes: true }),
    })
  } catch (error) {
    throw malformed((error as Error).message)
  }
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** cborg takes a byte order mark off the beginning of a text. It is a character, and the text without it is another one. */
class WholeTexts extends Tokenizer {
  override next(): Token {
    const token = super.next()
    if (token.byteValue) token.value = decoder.decode(token.byteValue)
    return token
  }
}

const [BYTES, TEXT, ARRAY, MAP, TAG, SIMPLE] = [2, 3, 4, 5, 6, 7]
/** Simple values below are one byte; floating-point numbers begin here. */
const FLOAT = 0xf9

/** Items that are left of an array, map or tag; of a map also its labels so far, in hex, and where the newest begins. */
type Level = { left: number; readonly labels: Set<string> | null; labelAt: number }

/**
 * Counts items and levels without building any, so that the decoder's own recursion is bounded. Compares labels as bytes: two byte strings are
 * two objects to the decoder, and never equal.
 */
function refuseUnbounded(bytes: Uint8Array): void {
  const open: Level[] = [{ left: 1, labels: null, labelAt: 0 }]
  let items = 0
  let at = 0
  while (open.length > 0) {
    const level = open.at(-1)!
    if (level.left === 0) {
      open.pop()
      continue
    }
    if (level.labels !== null) followLabels(level, level.labels, bytes, at)
    level.left--
    if (++items > ITEMS_MAX) throw malformed(`more than ${ITEMS_MAX} items`)
    const major = bytes[at]! >> 5
    if (major === SIMPLE && bytes[at]! >= FLOAT) throw malformed('a floating-point number')
    const { value, end } = readHead(bytes, at)
    at = end
    if (major === ARRAY || major === MAP || major === TAG) {
      if (open.length > DEPTH_MAX) throw malformed(`nested more than ${DEPTH_MAX} levels deep`)
      const left = major === TAG ? 1 : major === MAP ? 2 * value : value
      open.push({ left, labels: major === MAP ? new Set() : null, labelAt: at })
    } else if (major === BYTES || major === TEXT) at += value
    if (at > bytes.length) throw malformed('it ends too early')
  }
  if (at !== bytes.length) throw malformed('bytes after its end')
}

/** `at`: where the map's next item begins, and the one before it ends. */
function followLabels(level: Level, labels: Set<string>, bytes: Uint8Array, at: number): void {
  if (level.left % 2 === 0) level.labelAt = at
  else if (labels.size === labels.add(toHex(bytes.subarray(level.labelAt, at))).size)
    throw malformed('a label is there twice')
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
