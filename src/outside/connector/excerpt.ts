/** Control and format characters, which could move a terminal's cursor, end a line of a log or turn text around. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

/**
 * The beginning of a body, on one line. Bytes that are not UTF-8 become U+FFFD; a last character that is cut is left
 * out.
 */
export function excerptOf(pieces: readonly Buffer[]): string {
  return new TextDecoder().decode(Buffer.concat(pieces), { stream: true }).replace(INVISIBLE, ' ')
}
