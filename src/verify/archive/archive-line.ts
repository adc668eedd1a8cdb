import { utf8Decode } from '../../proof/bytes.ts'
import { LINE_FIELDS } from '../../proof/entry/entry-line.ts'
import { ProofError } from '../../proof/error.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import { parseJsonText } from '../../proof/json/json-text.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { ARCHIVE_ENTRY_DOCUMENTS_MAX, LINE_BYTES_MAX, LINE_DEPTH_MAX } from '../../proof/limits.ts'
import type { Fields } from '../../proof/statement/check-schemas.ts'
import {
  integer,
  isHash,
  isObject,
  isString,
  nullOr,
  orNull,
  refuseFields,
} from '../../proof/statement/fields.ts'

/*
 * Lines of an archive (docs/formats/archive.md#lines). They are the lines of an export without envelopes and documents.
 */

/** A document of an entry that is not a batch. */
type ArchiveDocument = { readonly subject: string; readonly digest: string; readonly erasedBy: number | null }

export type ArchiveLine = {
  readonly seq: number
  readonly kind: string
  readonly recordedAt: string
  /** Leaf in lower-case hex, like `chain`. */
  readonly leaf: string
  readonly chain: string
  /** Documents of the entry. In a batch, each item has only the seq of the entry that erased its document, or null. */
  readonly documents: readonly (ArchiveDocument | number | null)[]
  readonly items: readonly { readonly record: string; readonly digest: string }[] | null
  /** Definition of the type that the entry registers, as canonical JSON; null for other entries. */
  readonly definition: string | null
  readonly received?: string | null
  readonly signer?: JsonValue
}

const TYPE_REGISTERED = 'type-registered'

const { envelope: _, ...REQUIRED } = LINE_FIELDS.required
const FIELDS: Fields = {
  required: REQUIRED,
  optional: { ...LINE_FIELDS.optional, ...orNull({ definition: isString }) },
}

const isErasedBy = nullOr(integer(0, Number.MAX_SAFE_INTEGER))
const DOCUMENT: Fields = {
  required: { subject: isString, digest: isHash, erasedBy: isErasedBy },
  optional: {},
}

/**
 * Parses one line. Throws ProofError with the code `archive_object`, or with a code that the parser of JSON or of an
 * encoding throws.
 */
export function parseArchiveLine(bytes: Uint8Array): ArchiveLine {
  if (bytes.length > LINE_BYTES_MAX)
    throw new ProofError('archive_object', `a line has more than ${LINE_BYTES_MAX} bytes`)
  const found = parseJsonText(utf8Decode(bytes), { depthMax: LINE_DEPTH_MAX })
  refuseFields(found, FIELDS, 'archive_object')
  const line = { items: null, definition: null, ...found } as unknown as ArchiveLine
  const { kind, documents, items, definition } = line
  if ((definition !== null) !== (kind === TYPE_REGISTERED))
    throw new ProofError(
      'archive_object',
      'a line of type-registered must have a definition, and no other line may have one',
    )
  if (definition !== null) refuseSpelling(definition)
  if (documents.length > ARCHIVE_ENTRY_DOCUMENTS_MAX)
    throw new ProofError('archive_object', `an entry has more than ${ARCHIVE_ENTRY_DOCUMENTS_MAX} documents`)
  if (items === null) for (const document of documents) refuseFields(document, DOCUMENT, 'archive_object')
  else refuseItems(items, documents as readonly JsonValue[])
  return line
}

/**
 * Checks the documents of a batch, and the members `record` and `digest` of each item. The items' other members are
 * verified together with the batch.
 */
function refuseItems(items: readonly JsonValue[], documents: readonly JsonValue[]): void {
  const isNamed = (item: JsonValue) => isObject(item) && isString(item['record']!) && isHash(item['digest']!)
  if (documents.length !== items.length || !documents.every(isErasedBy) || !items.every(isNamed))
    throw new ProofError('archive_object', 'the documents of a batch do not match the items of the batch')
}

/**
 * Throws if a definition is not an object in canonical JSON. The spelling matters, because an entry signs the digest of
 * the text, and a restore uses the text unchanged.
 */
function refuseSpelling(definition: string): void {
  const value = parseJsonText(definition)
  if (!isObject(value) || canonicalize(value) !== definition)
    throw new ProofError('archive_object', 'a definition is not an object in canonical form')
}

const NEWLINE = 0x0a

/**
 * Yields the bytes of each line without its newline. Throws ProofError `archive_object` if the last line has no
 * newline.
 */
export function* linesOfText(text: Buffer): Generator<Buffer> {
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf(NEWLINE, from)
    if (end < 0) throw new ProofError('archive_object', 'the object ends in the middle of a line')
    yield text.subarray(from, end)
    from = end + 1
  }
}
