import { isLonger, utf8Decode } from '../bytes.ts'
import { type EntryLine, LINE_OPTIONAL, parseExtras } from '../entry/entry-line.ts'
import type { DocumentsShown } from '../entry/verify-entry.ts'
import { ProofError } from '../error.ts'
import { parseJsonText } from '../json/json-text.ts'
import type { JsonObject, JsonValue } from '../json/json-value.ts'
import { type KeyHint, parseKeyHint } from '../ledger/key-hint.ts'
import {
  BATCH_ITEMS_MAX,
  BUNDLE_FIRST_LINE_DEPTH_MAX,
  BUNDLE_KEYS_MAX,
  END_LINE_BYTES_MAX,
  LINE_DEPTH_MAX,
} from '../limits.ts'
import { hashesOf, type ItemProof, isItemProof, isPath, parseItemProof } from '../offline/entry-proof.ts'
import type { Check, Fields } from '../statement/check-schemas.ts'
import {
  idOf,
  integer,
  isAgent,
  isHash,
  isString,
  isText,
  isTime,
  isTraceId,
  isTypeName,
  listOf,
  objectOf,
  oneOf,
  orNull,
  refuseFields,
} from '../statement/fields.ts'

import type { BundleFilter } from './is-filtered.ts'

/*
 * Parsers for the lines of a bundle (docs/formats/bundles.md). An attacker controls the whole file. Unknown members are
 * refused: no check reads them, so somebody could change them unnoticed.
 */

/**
 * Contents of a bundle.
 *
 * - `range`: all entries of a range. The tree proves that no entry was left out or added.
 * - `record`: one record with its entries.
 * - `run`: a record and the records below it by `parent`.
 * - `selection`: records of a range that match a filter.
 *
 * All kinds except `range` are selections: the ledger may have more entries than the bundle shows.
 */
export type BundleContents =
  | { readonly record: string }
  | { readonly run: string }
  | { readonly range: BundleRange }
  | { readonly selection: BundleFilter }

export type BundleRange = {
  readonly from: number
  readonly to: number
  readonly left: readonly Uint8Array[]
  /** Hashes of the inclusion path of entry `to` that lie to the right of that entry, from the leaf up. */
  readonly right: readonly Uint8Array[]
}

export type Completeness = 'complete' | 'selection'

export type BundleHead = {
  readonly ledger: string
  readonly of: BundleContents
  readonly documents: DocumentsShown
  /** Keys that are only hints and need no trust: the chain names its keys, and a kid is the thumbprint of its key. */
  readonly keys: readonly KeyHint[]
  readonly checkpoint: string
}

/**
 * An entry with its inclusion path. An entry of a range has no path, because the tree proves all entries of the range
 * together.
 */
export type BundleLine = Omit<EntryLine, 'chain' | 'items'> & {
  readonly path: readonly Uint8Array[] | null
  /** All items of a batch that lies in the bundle's range. null for every other entry. */
  readonly items: readonly JsonValue[] | null
  /**
   * Shown items of a batch that is not in a range, each with its proof. null for every other entry. The parser does not
   * check the member `item` of a proof.
   */
  readonly itemProofs: readonly ItemProof[] | null
}

const isSeq = integer(0, Number.MAX_SAFE_INTEGER)

const isRange: Check = (value) =>
  objectOf({ from: isSeq, to: isSeq, left: isPath, right: isPath })(value) &&
  (value as { from: number }).from <= (value as { to: number }).to

const isFilter: Check = (value) =>
  objectOf(
    { from: isSeq, to: isSeq },
    orNull({ type: isTypeName, agent: isAgent, trace: isTraceId }),
  )(value) &&
  (value as { from: number }).from <= (value as { to: number }).to &&
  Object.values(value as object).filter((member) => member !== null).length > 2

const FILTER_MEMBERS = ['from', 'to', 'type', 'agent', 'trace'] as const

const isKey = objectOf(
  { kid: isHash, alg: oneOf('EdDSA', 'ES256'), spki: isString },
  orNull({ compromisedAt: isTime }),
)

const ONE_OF: readonly Check[] = [
  objectOf({ record: idOf('rec') }),
  objectOf({ run: idOf('rec') }),
  objectOf({ range: isRange }),
  objectOf({ selection: isFilter }),
]

const HEAD_FIELDS: Fields = {
  required: {
    bundle: oneOf(1),
    ledger: idOf('led'),
    of: (value) => ONE_OF.some((check) => check(value)),
    completeness: oneOf('complete', 'selection'),
    documents: oneOf('all', 'withheld'),
    keys: listOf(isKey, BUNDLE_KEYS_MAX),
    checkpoint: isString,
  },
  optional: orNull({ tool: isText }),
}

const LINE: Fields['required'] = {
  seq: isSeq,
  kind: isString,
  recordedAt: isTime,
  leaf: isHash,
  envelope: isString,
  documents: Array.isArray,
}
const IN_RANGE: Fields = {
  required: LINE,
  optional: { ...LINE_OPTIONAL, ...orNull({ items: Array.isArray }) },
}
const PROVED: Fields = {
  required: { ...LINE, path: isPath },
  optional: { ...LINE_OPTIONAL, ...orNull({ items: listOf(isItemProof, BATCH_ITEMS_MAX) }) },
}

/** Parses the first line. Throws `bundle_syntax`, or a code of the JSON text check or of the encodings. */
export function parseBundleHead(text: string): BundleHead {
  if (isLonger(text, END_LINE_BYTES_MAX))
    throw new ProofError('bundle_syntax', `the first line has more than ${END_LINE_BYTES_MAX} bytes`)
  const head = parseJsonText(text, { depthMax: BUNDLE_FIRST_LINE_DEPTH_MAX })
  refuseFields(head, HEAD_FIELDS, 'bundle_syntax')
  const claims = head as unknown as BundleHead & { readonly completeness: Completeness }
  const of = parseContents(claims.of)
  if (claims.completeness !== completenessOf(of))
    throw new ProofError(
      'bundle_syntax',
      `the bundle claims to be ${claims.completeness}, but is ${completenessOf(of)}`,
    )
  const { ledger, documents, keys, checkpoint } = claims
  return { ledger, of, documents, keys: keys.map(parseKeyHint), checkpoint }
}

function parseContents(of: BundleContents): BundleContents {
  if ('selection' in of) {
    // Reports list the members in this order. Their order in the file does not matter.
    const members = FILTER_MEMBERS.map((name) => [name, of.selection[name]] as const)
    const named = members.filter(([, member]) => member !== null && member !== undefined)
    return { selection: Object.fromEntries(named) as unknown as BundleFilter }
  }
  if (!('range' in of)) return of
  const { left, right, ...ends } = of.range
  return { range: { ...ends, left: hashesOf(left), right: hashesOf(right) } }
}

export function completenessOf(of: BundleContents): Completeness {
  return 'range' in of ? 'complete' : 'selection'
}

/** Parses a line between the first and the last. Throws the same codes as parseBundleHead. */
export function parseBundleLine(text: string, of: BundleContents): BundleLine {
  const line = parseJsonText(text, { depthMax: LINE_DEPTH_MAX })
  const isInRange = 'range' in of && isBetween(line, of.range)
  refuseFields(line, isInRange ? IN_RANGE : PROVED, 'bundle_syntax')
  const { seq, kind, recordedAt, leaf } = line as unknown as BundleLine
  const { path = null, items = null } = line
  const shown = items as readonly JsonValue[] | null
  const itemProofs = isInRange || shown === null ? null : shown.map(parseItemProof)
  if (itemProofs?.some(({ index }, i) => i > 0 && index <= itemProofs[i - 1]!.index))
    throw new ProofError('bundle_syntax', 'the items of a batch are not in order')
  return {
    ...{ seq, kind, recordedAt, leaf, ...parseExtras(line) },
    path: path === null ? null : hashesOf(path),
    items: isInRange ? shown : null,
    itemProofs,
  }
}

function isBetween(line: JsonValue, { from, to }: BundleRange): boolean {
  const { seq } = (line ?? {}) as JsonObject
  return typeof seq === 'number' && seq >= from && seq <= to
}

/**
 * Parses the last line and returns the number of entries that it states. Throws `bundle_incomplete` for any fault of
 * the line: if a bundle was cut off, its last bytes may be anything, even half a character.
 */
export function parseBundleEnd(bytes: Uint8Array): number {
  const refusal = new ProofError(
    'bundle_incomplete',
    'the bundle was cut off, because its last line is not {"entries":…}: make the bundle again',
  )
  try {
    const end = parseJsonText(utf8Decode(bytes), { depthMax: 1 })
    refuseFields(end, { required: { entries: isSeq }, optional: {} }, 'bundle_incomplete')
    return end['entries'] as number
  } catch {
    throw refusal
  }
}
