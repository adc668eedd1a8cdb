/**
 * Characters that are invisible or change the direction of text: controls, line breaks, bidirectional controls,
 * zero-width characters, tags, variation selectors, private use and lone surrogates. The constant is the inside of a
 * character class, for a regular expression with the flag `u`.
 */
export const HIDDEN_CLASS = String.raw`\p{Cc}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb`
const HIDDEN = new RegExp(`[${HIDDEN_CLASS}]`, 'gu')

/**
 * Quotes a foreign text for a line that scripts parse. The result is a JSON string, so that the text cannot imitate
 * the rest of the line. Hidden characters are escaped.
 */
export function quoted(text: string): string {
  return escapeHidden(JSON.stringify(text))
}

/** Escapes the hidden characters of a JSON text. The value that the text represents stays the same. */
export function escapeHidden(json: string): string {
  return json.replaceAll(HIDDEN, (char) =>
    char.replaceAll(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

/**
 * Replaces each hidden character in a message by a mark such as `⟨U+202E⟩`. Pages and terminals use `sdk/plain.ts`
 * instead, which leaves emoji unchanged.
 */
export function marked(text: string): string {
  return text.replaceAll(HIDDEN, (char) => `⟨${codeOf(char)}⟩`)
}

/** Returns the code of a character, such as `U+202E`. */
export function codeOf(char: string): string {
  return `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
}

export function hasHidden(text: string): boolean {
  return text.search(HIDDEN) >= 0
}
