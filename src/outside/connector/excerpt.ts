/**
 * Matches control and format characters. They are replaced, because they could move the cursor of a terminal, end a log
 * line or reverse text.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

/**
 * Returns the beginning of a body as one line of text. Invalid UTF-8 becomes U+FFFD. An incomplete last character is
 * dropped.
 */
export function excerptOf(pieces: readonly Buffer[]): string {
  return new TextDecoder().decode(Buffer.concat(pieces), { stream: true }).replace(INVISIBLE, ' ')
}
