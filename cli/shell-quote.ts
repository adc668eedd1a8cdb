/** Quotes any text as one word for a POSIX shell or fish. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
