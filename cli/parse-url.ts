/** null for what is no URL. Node 20, on which the packed command line runs too, has no `URL.parse`. */
export function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}
