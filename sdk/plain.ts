/** Controls, and what turns the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
export const DRIVING = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Text of others, made safe for logs and terminals: it begins no line there, drives nothing, and turns no text around. */
export function plain(text: string): string {
  return text.replaceAll(DRIVING, '�')
}
