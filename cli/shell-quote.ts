/** One word of a command line, whatever is in it: for a POSIX shell, and fish. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
