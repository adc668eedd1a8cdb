/** What k6 has beside the language, and its types leave out. */
declare const console: {
  log(...values: unknown[]): void
  warn(...values: unknown[]): void
  error(...values: unknown[]): void
}
