import { fromBase64, fromBase64Url } from '../bytes.ts'
import type { SignatureAlgorithm } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { parseJsonText } from '../json/json-text.ts'
import type { JsonObject, JsonValue } from '../json/json-value.ts'
import { LINE_DEPTH_MAX, SALT_BYTES } from '../limits.ts'
import type { Fields } from '../statement/check-schemas.ts'
import {
  integer,
  isHash,
  isReferences,
  isString,
  isTime,
  objectOf,
  oneOf,
  orNull,
  refuseFields,
} from '../statement/fields.ts'

/**
 * A line of `GET /v1/entries` and of an export (docs/formats/export.md). It contains what a server claims about one
 * entry.
 */
export type EntryLine = {
  readonly seq: number
  readonly kind: string
  readonly recordedAt: string
  /** Leaf hash in lower-case hex. `chain` has the same form. */
  readonly leaf: string
  readonly chain: string
  readonly envelope: Uint8Array
  readonly documents: readonly DocumentLine[]
  /** Objects in a batch's tree, not checked yet. null if the entry is not a batch. */
  readonly items: readonly JsonValue[] | null
  /** Envelope of another ledger's entry, if this entry receives one. */
  readonly received?: Uint8Array
  /**
   * The agent's own key, if it signed the entry. The key is only a hint: its thumbprint must be the envelope's kid.
   */
  readonly signer?: LineSigner
}

/** Key of an agent. `spki` is in base64. */
export type LineSigner = { readonly alg: SignatureAlgorithm; readonly spki: string }

/**
 * A document beside the chain. If it was erased, `salt` and `document` are null and `erasedBy` is the seq of the
 * erasing entry.
 */
export type DocumentLine = {
  readonly subject: string
  readonly digest: string
  readonly salt: Uint8Array | null
  readonly document: JsonValue
  readonly erasedBy: number | null
  /**
   * References of a record, stored with its payload. Payload and references have the same salt and are erased together.
   */
  readonly references?: readonly string[] | null
}

const isSeq = integer(0, Number.MAX_SAFE_INTEGER)

/** Checks for the optional members of a line, in exports and in bundles. */
export const LINE_OPTIONAL: Fields['optional'] = orNull({
  received: isString,
  signer: objectOf({ alg: oneOf('EdDSA', 'ES256'), spki: isString }),
})

export const LINE_FIELDS: Fields = {
  required: {
    seq: isSeq,
    kind: isString,
    recordedAt: isTime,
    leaf: isHash,
    chain: isHash,
    envelope: isString,
    documents: Array.isArray,
  },
  optional: { ...LINE_OPTIONAL, ...orNull({ items: Array.isArray }) },
}

const DOCUMENT_FIELDS: Fields = {
  required: { subject: isString, digest: isHash },
  optional: orNull({
    salt: isString,
    document: () => true,
    erasedBy: isSeq,
    references: isReferences,
  }),
}

/**
 * Parses one line. Throws `line_syntax`, or a code of the JSON text check or of the encodings. Unknown members are
 * refused: no check reads them, so somebody could change them unnoticed.
 */
export function parseEntryLine(text: string): EntryLine {
  const line = parseJsonText(text, { depthMax: LINE_DEPTH_MAX })
  refuseFields(line, LINE_FIELDS, 'line_syntax')
  const { seq, kind, recordedAt, leaf, chain, items = null } = line as unknown as EntryLine
  return { seq, kind, recordedAt, leaf, chain, items, ...parseExtras(line) }
}

/**
 * Decodes those members of a line whose values are encoded. The line of an export or bundle must have passed the checks
 * of LINE_OPTIONAL.
 */
export function parseExtras({
  envelope,
  documents,
  received = null,
  signer = null,
}: JsonObject): Pick<EntryLine, 'envelope' | 'documents' | 'received' | 'signer'> {
  return {
    envelope: fromBase64(envelope as string),
    documents: (documents as readonly JsonValue[]).map(parseDocumentLine),
    ...(received !== null && { received: fromBase64(received as string) }),
    ...(signer !== null && { signer: signer as unknown as LineSigner }),
  }
}

/** Parses an element of `documents`. Throws the same codes as parseEntryLine. */
export function parseDocumentLine(document: JsonValue): DocumentLine {
  refuseFields(document, DOCUMENT_FIELDS, 'line_syntax')
  const { salt = null, document: shown = null, erasedBy = null } = document
  return {
    ...(document as unknown as DocumentLine),
    salt: salt === null ? null : parseSalt(salt as string),
    document: shown,
    erasedBy: erasedBy as number | null,
  }
}

function parseSalt(text: string): Uint8Array {
  const salt = fromBase64Url(text)
  if (salt.length !== SALT_BYTES)
    throw new ProofError('line_syntax', `a salt has ${salt.length} bytes, not ${SALT_BYTES}`)
  return salt
}
