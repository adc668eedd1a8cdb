import pg from 'pg'
import { NUMBER_TYPES } from './row-values.ts'

/*
 * Bytes in fewer characters than the two hex digits that Postgres writes for each: where rows carry envelopes and payloads, these are
 * most of what is sent. (The driver reads every value as UTF-8, so results in binary would be spoilt.) The types say
 * which is which: no table has a column of either.
 */
const [BASE64, ESCAPED] = [1043, 1042]

/** For any bytes: four characters for three. */
export const asBase64 = (column: string) => `encode(${column}, 'base64')::varchar`
/** For bytes that are nearly all ASCII, such as envelopes: one character for each, and four for those that are none. */
export const asEscaped = (column: string) => `encode(${column}, 'escape')::bpchar`

/** `types` of a query that has columns like these. */
export const PACKED_TYPES = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === BASE64) return (text: string) => Buffer.from(text, 'base64')
    if (oid === ESCAPED) return fromEscaped
    return NUMBER_TYPES.includes(oid) ? Number : pg.types.getTypeParser(oid, format)
  },
}

/** A backslash begins another one, or the three octal digits of a byte. */
function fromEscaped(text: string): Buffer {
  if (!text.includes('\\')) return Buffer.from(text, 'latin1')
  const bytes = text.replace(/\\(?:\\|([0-7]{3}))/g, (_, octal?: string) =>
    octal === undefined ? '\\' : String.fromCharCode(Number.parseInt(octal, 8)),
  )
  return Buffer.from(bytes, 'latin1')
}
