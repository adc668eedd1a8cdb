import { fromBase64 } from '../bytes.ts'
import { type EntryLine, LINE_DEPTH_MAX, LINE_OPTIONAL, parseDocumentLine } from '../entry/entry-line.ts'
import type { DocumentsShown } from '../entry/verify-entry.ts'
import { ProofError } from '../error.ts'
import { parseJsonText } from '../json/json-text.ts'
import type { JsonObject, JsonValue } from '../json/json-value.ts'
import type { KeyHint } from '../ledger/key-hint.ts'
import {
  hashesOf,
  type ItemProof,
  isItemProof,
  isNote,
  isPath,
  parseItemProof,
} from '../offline/entry-proof.ts'
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
  nullOr,
  objectOf,
  oneOf,
  refuseFields,
} from '../statement/fields.ts'

import type { BundleFilter } from './is-filtered.ts'

/*
 * Lines of a bundle (docs/formats/bundles.md). All of it is under an attacker's control; every member must be there and no other,
 * because what nobody looks at could be changed.
 */

/**
 * Contents of a bundle. The tree proves that no entry of a `range` was left out, and none added. A `record` with all of its entries and
 * a `run`, a record with those below it by `parent`, are selections, as is a `selection` of a range by a filter: there may be more than is shown.
 */
export type BundleOf =
  | { readonly record: string }
  | { readonly run: string }
  | { readonly range: BundleRange }
  | { readonly selection: BundleFilter }

/** Entries `from` to `to`, both inclusive. */
export type BundleRange = {
  readonly from: number
  readonly to: number
  /** Roots of the perfect subtrees before `from`, largest first. */
  readonly left: readonly Uint8Array[]
  /** The hashes of the path of entry `to` that lie behind it, from the leaf up. */
  readonly right: readonly Uint8Array[]
}

export type Completeness = 'complete' | 'selection'

export type BundleHead = {
  readonly ledger: string
  readonly of: BundleOf
  readonly documents: DocumentsShown
  /** Hints: the chain names the keys, and a kid is its key's thumbprint. */
  readonly keys: readonly KeyHint[]
  /** A signed note. */
  readonly checkpoint: string
}

/** An entry, with the path that proves its place. Entries of a range have none: the tree proves all of them together. */
export type BundleLine = Omit<EntryLine, 'chain' | 'items'> & {
  readonly path: readonly Uint8Array[] | null
  /** Items of a batch in a range; otherwise null. */
  readonly items: readonly JsonValue[] | null
  /** Items that are shown of a batch outside a range; otherwise null. `item` of each is not checked here. */
  readonly itemProofs: readonly ItemProof[] | null
}

/** Keys of one ledger: a rotation a month for 80 years. */
export const BUNDLE_KEYS_MAX = 1_024
/** So many keys have 300 KiB, a note 16. */
const HEAD_CHARS_MAX = 1024 * 1024
/** A batch has as many. */
const ITEMS_MAX = 2_048
/** Objects and arrays of of.range.left lie in each other; nothing else may. */
const HEAD_DEPTH_MAX = 4

const isSeq = integer(0, Number.MAX_SAFE_INTEGER)

const isRange: Check = (value) =>
  objectOf({ from: isSeq, to: isSeq, left: isPath, right: isPath })(value) &&
  (value as { from: number }).from <= (value as { to: number }).to

const isFilter: Check = (value) =>
  objectOf({ from: isSeq, to: isSeq }, { type: isTypeName, agent: isAgent, trace: isTraceId })(value) &&
  (value as { from: number }).from <= (value as { to: number }).to &&
  Object.keys(value as object).length > 2

const isKey = objectOf({
  kid: isHash,
  alg: oneOf('EdDSA', 'ES256'),
  spki: isString,
  compromisedAt: nullOr(isTime),
})

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
    checkpoint: isNote,
  },
  optional: { tool: isText },
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
  required: { ...LINE, items: nullOr(Array.isArray) },
  optional: LINE_OPTIONAL,
}
const PROVED: Fields = {
  required: { ...LINE, path: isPath, items: nullOr(listOf(isItemProof, ITEMS_MAX)) },
  optional: LINE_OPTIONAL,
}

/** The first line. Throws `bundle_syntax`, or a code of the JSON text check or of the encodings. */
export function parseBundleHead(text: string): BundleHead {
  if (text.length > HEAD_CHARS_MAX)
    throw new ProofError('bundle_syntax', `its first line has ${text.length} characters`)
  const head = parseJsonText(text, { depthMax: HEAD_DEPTH_MAX })
  refuseFields(head, HEAD_FIELDS, 'bundle_syntax')
  const said = head as unknown as BundleHead & { readonly completeness: Completeness }
  const of = parseOf(said.of)
  if (said.completeness !== completenessOf(of))
    throw new ProofError(
      'bundle_syntax',
      `it calls itself ${said.completeness}, and is ${completenessOf(of)}`,
    )
  const { ledger, documents, keys, checkpoint } = said
  return { ledger, of, documents, keys, checkpoint }
}

function parseOf(of: BundleOf): BundleOf {
  if (!('range' in of)) return of
  const { left, right, ...ends } = of.range
  return { range: { ...ends, left: hashesOf(left), right: hashesOf(right) } }
}

export function completenessOf(of: BundleOf): Completeness {
  return 'range' in of ? 'complete' : 'selection'
}

/** One of the lines between the first and the last. Throws as parseBundleHead does. */
export function parseBundleLine(text: string, of: BundleOf): BundleLine {
  const line = parseJsonText(text, { depthMax: LINE_DEPTH_MAX })
  const isInRange = 'range' in of && isBetween(line, of.range)
  refuseFields(line, isInRange ? IN_RANGE : PROVED, 'bundle_syntax')
  const { received, path = null, items, ...always } = line
  const shown = items as readonly JsonValue[] | null
  const itemProofs = isInRange || shown === null ? null : shown.map(parseItemProof)
  if (itemProofs?.some(({ index }, i) => i > 0 && index <= itemProofs[i - 1]!.index))
    throw new ProofError('bundle_syntax', 'items of a batch in another order than theirs')
  return {
    ...(always as unknown as BundleLine),
    envelope: fromBase64(line['envelope'] as string),
    documents: (line['documents'] as readonly JsonValue[]).map(parseDocumentLine),
    path: path === null ? null : hashesOf(path),
    items: isInRange ? shown : null,
    itemProofs,
    ...(received !== undefined && { received: fromBase64(received as string) }),
  }
}

function isBetween(line: JsonValue, { from, to }: BundleRange): boolean {
  const { seq } = (line ?? {}) as JsonObject
  return typeof seq === 'number' && seq >= from && seq <= to
}

/** The number of lines before the last one. Throws `bundle_incomplete`: a bundle that was cut off has no such line. */
export function parseBundleEnd(text: string): number {
  const refusal = new ProofError('bundle_incomplete', 'cut off: its last line is not {"entries":…}')
  try {
    const end = parseJsonText(text, { depthMax: 1 })
    refuseFields(end, { required: { entries: isSeq }, optional: {} }, 'bundle_incomplete')
    return end['entries'] as number
  } catch {
    throw refusal
  }
}
