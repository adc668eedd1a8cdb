/** Quotes any text as one word of a POSIX shell or of fish. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
