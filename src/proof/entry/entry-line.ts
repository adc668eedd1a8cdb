import { fromBase64, fromBase64Url } from '../bytes.ts'
import type { SignatureAlgorithm } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { parseJsonText } from '../json/json-text.ts'
import type { JsonValue } from '../json/json-value.ts'
import type { Fields } from '../statement/check-schemas.ts'
import {
  integer,
  isHash,
  isReferences,
  isString,
  isTime,
  nullOr,
  objectOf,
  oneOf,
  refuseFields,
} from '../statement/fields.ts'

/** A line of `GET /v1/entries` and of an export (docs/formats/export.md): a server's statement about one entry. */
export type EntryLine = {
  readonly seq: number
  readonly kind: string
  readonly recordedAt: string
  /** Lower-case hex, as `chain`. */
  readonly leaf: string
  readonly chain: string
  readonly envelope: Uint8Array
  readonly documents: readonly DocumentLine[]
  /** Hashed objects of a batch, not checked here. Otherwise null. */
  readonly items: readonly JsonValue[] | null
  /** The envelope of another ledger's entry that this one receives. */
  readonly received?: Uint8Array
  /** Key of the agent that has signed the entry itself: a hint, because its kid is the thumbprint of its bytes. */
  readonly signer?: LineSigner
}

/** `spki`: base64. */
export type LineSigner = { readonly alg: SignatureAlgorithm; readonly spki: string }

/** A document beside the chain; erased: `salt` and `document` are null and `erasedBy` is the seq that says so. */
export type DocumentLine = {
  readonly subject: string
  readonly digest: string
  readonly salt: Uint8Array | null
  readonly document: JsonValue
  readonly erasedBy: number | null
  /** References of a record, beside its payload: signed by the same salt, erased with it. */
  readonly references?: readonly string[] | null
}

/** A document has at most 32 levels (docs/formats/documents.md); a line holds it three levels down. */
export const LINE_DEPTH_MAX = 32 + 3
const SALT_BYTES = 16

const isSeq = integer(0, Number.MAX_SAFE_INTEGER)

/** Members of some entries, also in a bundle. */
export const LINE_OPTIONAL: Fields['optional'] = {
  received: isString,
  signer: objectOf({ alg: oneOf('EdDSA', 'ES256'), spki: isString }),
}

const LINE_FIELDS: Fields = {
  required: {
    seq: isSeq,
    kind: isString,
    recordedAt: isTime,
    leaf: isHash,
    chain: isHash,
    envelope: isString,
    documents: Array.isArray,
    items: nullOr(Array.isArray),
  },
  optional: LINE_OPTIONAL,
}

const DOCUMENT_FIELDS: Fields = {
  required: {
    subject: isString,
    digest: isHash,
    salt: nullOr(isString),
    document: () => true,
    erasedBy: nullOr(isSeq),
  },
  optional: { references: nullOr(isReferences) },
}

/**
 * Reads one line, all of it: every member must be there and no other, because what nobody looks at could be
 * changed unnoticed. Throws `line_syntax`, or a code of the JSON text check or of the encodings.
 */
export function parseEntryLine(text: string): EntryLine {
  const line = parseJsonText(text, { depthMax: LINE_DEPTH_MAX })
  refuseFields(line, LINE_FIELDS, 'line_syntax')
  const { received, ...always } = line
  return {
    ...(always as unknown as EntryLine),
    envelope: fromBase64(line['envelope'] as string),
    documents: (line['documents'] as readonly JsonValue[]).map(parseDocumentLine),
    ...(received !== undefined && { received: fromBase64(received as string) }),
  }
}

/** A member of `documents`. Throws as parseEntryLine does. */
export function parseDocumentLine(document: JsonValue): DocumentLine {
  refuseFields(document, DOCUMENT_FIELDS, 'line_syntax')
  const { salt } = document
  return { ...(document as unknown as DocumentLine), salt: salt === null ? null : parseSalt(salt as string) }
}

function parseSalt(text: string): Uint8Array {
  const salt = fromBase64Url(text)
  if (salt.length !== SALT_BYTES) throw new ProofError('line_syntax', `a salt of ${salt.length} bytes`)
  return salt
}
