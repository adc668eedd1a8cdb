import pg from 'pg'
import { NUMBER_TYPES } from './row-values.ts'

/*
 * Makes Postgres send bytes as fewer characters than the usual two hex digits per byte.
 *
 * In rows with envelopes and payloads, bytes are most of the traffic. Binary results are not possible, because the
 * driver reads every value as UTF-8. Each encoding is cast to a type that no table column has, so that the parser can
 * recognize the encoding.
 */
const [BASE64, ESCAPED] = [1043, 1042]

/** Returns SQL that selects bytes of any kind as base64, which has four characters for three bytes. */
export const asBase64 = (column: string) => `encode(${column}, 'base64')::varchar`
/**
 * Returns SQL for bytes that are nearly all ASCII, such as envelopes. An ASCII byte becomes one character, any other
 * byte four characters.
 */
export const asEscaped = (column: string) => `encode(${column}, 'escape')::bpchar`

/** Type parsers (`types` of a pg query) for queries that use asBase64 or asEscaped. */
export const PACKED_TYPES = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === BASE64) return (text: string) => Buffer.from(text, 'base64')
    if (oid === ESCAPED) return fromEscaped
    return NUMBER_TYPES.includes(oid) ? Number : pg.types.getTypeParser(oid, format)
  },
}

/** Decodes Postgres' `escape` format. A backslash precedes another backslash or the three octal digits of a byte. */
function fromEscaped(text: string): Buffer {
  if (!text.includes('\\')) return Buffer.from(text, 'latin1')
  const bytes = text.replace(/\\(?:\\|([0-7]{3}))/g, (_, octal?: string) =>
    octal === undefined ? '\\' : String.fromCharCode(Number.parseInt(octal, 8)),
  )
  return Buffer.from(bytes, 'latin1')
}
